//! Arrays that mdadm made on a stock kernel (`tests/fixtures/md`), among other devices.

use std::collections::BTreeMap;
use std::fs;

use block::BlockingDevice;
use block::file::{Access, FileOptions};

use crate::activate::tests::checksum;
use crate::device::open_whole;
use crate::scan::{Content, FindingKind, Scan};
use crate::tests::fixture::{Folder, fixture_path, texts};

/// Name, size and content of the arrays in the fixture's table.
fn expected() -> BTreeMap<String, (u64, String)> {
    let table = fs::read_to_string(fixture_path("md/README.md")).expect("a table");
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let size = cells.get(5)?.parse().ok()?;
        let name = cells[1].trim_matches('`').to_owned();
        Some((name, (size, cells[6].to_owned())))
    });
    rows.collect()
}

/// What was found of arrays: name, size, sum.
fn found(scan: &Scan) -> BTreeMap<String, (u64, String)> {
    let arrays = scan.devices.iter().filter(|device| {
        device.name.starts_with("md:") && !matches!(device.content, Content::Skipped(_))
    });
    let read = |device: &crate::scan::FoundDevice| {
        let options = FileOptions::new(Access::ReadOnly);
        let (opened, _) = open_whole(&device.location, options).expect("it opens");
        let sum = checksum(&*opened).expect("it is read");
        (device.name[3..].to_owned(), (device.size.0, sum))
    };
    arrays.map(read).collect()
}

/// Each array holds what the kernel showed: healthy, degraded, in the old format and of two sizes.
#[test]
fn arrays_hold_what_the_kernel_showed() {
    let folder = Folder::unpacked("md/arrays.tar.zst");
    let scan = folder.scan();
    let (mut found, mut expected) = (found(&scan), expected());
    assert_eq!(expected.len(), 5, "the table has five rows");
    // The one in the old format has no name.
    let unnamed = expected.remove("(none)").expect("a row");
    let old: Vec<String> = found
        .keys()
        .filter(|name| name.matches(':').count() == 3)
        .cloned()
        .collect();
    assert_eq!(old.len(), 1, "{old:?}");
    assert_eq!(found.remove(&old[0]), Some(unnamed));
    assert_eq!(found, expected);
    let said = texts(&scan, FindingKind::Skipped).join("\n");
    assert!(said.contains("md:host:five: legs are missing"), "{said}");
    for disk in ["d0", "d5", "d11"] {
        let device = scan
            .devices
            .iter()
            .find(|device| device.name.ends_with(&format!("{disk}.img")));
        let content = &device.expect("a disk").content;
        assert!(
            matches!(content, Content::Skipped(why) if why.contains("leg")),
            "{disk}: {content:?}"
        );
    }
}

/// Without one leg of each what has redundancy is read; the rest is refused, with its name.
#[test]
fn arrays_are_read_without_a_leg() {
    let folder = Folder::unpacked("md/arrays.tar.zst");
    for disk in [3, 6, 7, 10] {
        folder.remove(&format!("d{disk}.img"));
    }
    let scan = folder.scan();
    let (mut found, mut expected) = (found(&scan), expected());
    let old: Vec<String> = found
        .keys()
        .filter(|name| name.matches(':').count() == 3)
        .cloned()
        .collect();
    found.remove(&old[0]);
    for gone in ["(none)", "host:zero"] {
        expected.remove(gone);
    }
    assert_eq!(found, expected);
    let said = texts(&scan, FindingKind::Skipped).join("\n");
    assert!(
        said.contains("md:host:zero is not used: too many"),
        "{said}"
    );
}

/// What is written at byte `at`, the other way round each time.
fn pattern(at: u64, round: u8) -> Vec<u8> {
    let byte = |index: u64| ((at + index) / 3 % 251) as u8 ^ round;
    (0..LEN).map(byte).collect()
}

const LEN: u64 = 100 << 10;

/// Places that are no multiples of chunks, in the first region and behind it.
fn places(size: u64) -> [u64; 3] {
    [512, 3 << 20, size - LEN]
}

/// Writes each array at several places.
fn write_all(scan: &Scan, round: u8) {
    let written = arrays(scan).map(|device| {
        let options = FileOptions::new(Access::ReadWrite);
        let (opened, files) = open_whole(&device.location, options).expect("it opens");
        assert!(!files.is_empty(), "its legs are files that can be locked");
        let mut io = BlockingDevice::open(&*opened).expect("a queue");
        for at in places(device.size.0) {
            io.write_at(&pattern(at, round), at).expect("it is written");
        }
        // Who reads meanwhile sees it.
        assert_eq!(read_all(scan, &device.name), read_of(device.size.0, round));
    });
    assert!(written.count() >= 4, "arrays were written");
}

fn arrays(scan: &Scan) -> impl Iterator<Item = &crate::scan::FoundDevice> {
    scan.devices.iter().filter(|device| {
        device.name.starts_with("md:") && !matches!(device.content, Content::Skipped(_))
    })
}

fn read_of(size: u64, round: u8) -> Vec<Vec<u8>> {
    places(size).map(|at| pattern(at, round)).to_vec()
}

/// What the array of this name holds there.
fn read_all(scan: &Scan, name: &str) -> Vec<Vec<u8>> {
    let device = arrays(scan)
        .find(|device| device.name == name)
        .expect("it is there");
    let options = FileOptions::new(Access::ReadOnly);
    let (opened, _) = open_whole(&device.location, options).expect("it opens");
    let mut io = BlockingDevice::open(&*opened).expect("a queue");
    let read = |at| io.read(block::Range::new(at, LEN)).expect("it is read");
    places(device.size.0).map(read).to_vec()
}

/// Arrays of every level and version are written, and read afterwards, also without a leg; where
/// there is one they are in sync when they are closed, and not before.
#[test]
fn arrays_are_written() {
    let folder = Folder::unpacked("md/arrays.tar.zst");
    let scan = folder.scan();
    write_all(&scan, 0);
    let scan = folder.scan();
    for device in arrays(&scan) {
        assert_eq!(read_all(&scan, &device.name), read_of(device.size.0, 0));
        let crate::host::Place::Array(place) = &device.location.place else {
            panic!("{device:?}");
        };
        let claims = place.members.iter().map(|member| member.claim.clone());
        let judged = dm::raid::md::judge(&claims.collect::<Vec<_>>()).expect("an array");
        assert_eq!(judged.resync, dm::raid::Position::End, "{}", device.name);
    }
    let elsewhere = Folder::new();
    // A leg that is lost does not have what is written then.
    fs::rename(folder.path("d4.img"), elsewhere.path("d4.img")).expect("a leg goes");
    folder.remove("d10.img");
    folder.remove("d6.img");
    let scan = folder.scan();
    write_all(&scan, 1);
    fs::rename(elsewhere.path("d4.img"), folder.path("d4.img")).expect("it comes back");
    let scan = folder.scan();
    for device in arrays(&scan) {
        assert_eq!(read_all(&scan, &device.name), read_of(device.size.0, 1));
    }
    let said = texts(&scan, FindingKind::Skipped).join("\n");
    assert!(
        said.contains("d4.img is not used: it is a leg that was away"),
        "{said}"
    );
}

/// An array that is written is not written by anybody else.
#[test]
fn an_array_has_one_writer() {
    let folder = Folder::unpacked("md/arrays.tar.zst");
    let scan = folder.scan();
    let one = arrays(&scan).find(|device| device.name == "md:host:one");
    let one = one.expect("it is there");
    let options = FileOptions::new(Access::ReadWrite);
    let (first, _) = open_whole(&one.location, options).expect("it opens");
    let (second, _) = open_whole(&one.location, options).expect("it is open");
    assert!(
        std::sync::Arc::ptr_eq(&first, &second),
        "one machine writes"
    );
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(folder.path("d3.img"))
        .expect("a leg");
    let theirs = [("d3", file)];
    let (byte, mode) = (
        crate::lock::LockByte::Leg(0),
        block::file::LockMode::Exclusive,
    );
    let lock = || crate::lock::lock_pvs(&theirs, byte, mode, std::time::Duration::ZERO);
    lock().expect_err("it is held");
    drop((first, second));
    drop(lock().expect("it is free"));
}
