//! Arrays that mdadm made on a stock kernel (`tests/fixtures/md`), among other devices.

use std::collections::BTreeMap;
use std::fs;

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
