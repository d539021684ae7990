//! The golden snapshots: read, invalid, damaged, being merged, and with a disk away.

use super::super::tests::{activate, checksum, manifest};
use crate::activate::{Activator, MissingPolicy, Options};
use crate::host::Host;
use crate::scan::Scan;
use crate::tests::fixture::Folder;
use crate::{Kind, Result};

/// Where the store of `snap1` begins, which takes 4 extents of the first disk.
const DISK: &str = "a0.img";
const STORE: u64 = (1 + 61) << 20;

fn content(scan: &Scan, name: &str) -> Result<String> {
    let active = activate(scan, &format!("vg0/{name}"), Options::default())?;
    Ok(checksum(&active.volume).expect("reads"))
}

fn golden(name: &str) -> String {
    manifest()[name].0.clone()
}

/// The golden group, in which snapshots are called otherwise.
fn edited(from: &str, to: &str) -> Folder {
    let folder = Folder::golden_whole();
    for number in 0..5 {
        folder.rewrite(&format!("a{number}.img"), |text| {
            assert!(text.contains(from));
            text.replace(from, to)
        });
    }
    folder
}

/// A store that overflowed makes its snapshot invalid, and nothing else.
#[test]
fn an_invalid_snapshot_is_told() {
    let folder = Folder::golden_whole();
    folder.write(DISK, STORE + 4, &[0]);
    let scan = folder.scan();
    let error = content(&scan, "snap1").expect_err("is invalid");
    assert_eq!(error.kind(), Kind::Refused);
    let text = error.to_string();
    assert!(
        text.starts_with("vg0/snap1 is an invalid snapshot"),
        "{text}"
    );
    assert!(text.contains("vg0/origin is unharmed"), "{text}");
    for name in ["origin", "snap2"] {
        assert_eq!(content(&scan, name).expect("is served"), golden(name));
    }
}

/// Damage is named with the volume and its store; one that was never used shows its origin.
#[test]
fn stores_are_checked() {
    let folder = Folder::golden_whole();
    folder.write(DISK, STORE + 4096 + 8, &[1]);
    let error = content(&folder.scan(), "snap1").expect_err("is damaged");
    assert_eq!(error.kind(), Kind::Damaged);
    let text = error.to_string();
    assert!(
        text.contains("vg0/snap1: change 0 lies at chunk 1"),
        "{text}"
    );
    folder.write(DISK, STORE, &[0; 8192]);
    assert_eq!(
        content(&folder.scan(), "snap1").expect("is served"),
        golden("origin")
    );
}

/// An origin is seen through the snapshot that is being merged into it, also where a part of the
/// merge is done; the snapshot is not there any more, and the other one is as it was.
#[test]
fn a_merging_origin_is_read() {
    let folder = edited("cow_store = \"snap1\"", "merging_store = \"snap1\"");
    let scan = folder.scan();
    assert_eq!(
        content(&scan, "origin").expect("is served"),
        golden("snap1")
    );
    assert_eq!(content(&scan, "snap2").expect("is served"), golden("snap2"));
    let host = Host::without_config();
    let (group, lv) = scan.find_volume("vg0/snap2").expect("is there");
    let difference = Activator::new(&scan, &host).difference(group, lv);
    let error = difference.expect_err("the origin is seen through another one");
    assert_eq!(error.kind(), Kind::Refused, "{error}");
    let error = content(&scan, "snap1").expect_err("is being merged");
    assert_eq!(error.kind(), Kind::Refused, "{error}");
    folder.write(DISK, STORE + 4, &[0]);
    let error = content(&folder.scan(), "origin").expect_err("may be half merged");
    assert!(error.to_string().contains("only a part"), "{error}");
    let writing = Options {
        access: dm::volume::Access::ReadWrite,
        missing: MissingPolicy::default(),
    };
    let error = activate(&scan, "vg0/origin", writing).expect_err("cannot be merged");
    assert!(error.to_string().contains("cannot be merged"), "{error}");
}

/// A snapshot keeps its size where its origin has another one by now.
#[test]
fn a_snapshot_keeps_its_size() {
    let from = "extent_count = 6\n\ntype = \"snapshot\"\nchunk_size = 8";
    let folder = edited(from, &from.replace('6', "5"));
    let scan = folder.scan();
    let open = |name| activate(&scan, name, Options::default()).expect("is served");
    let bytes = |name| {
        let active = open(name);
        let mut reader = block::BlockingDevice::open(&active.volume).expect("opens");
        let whole = block::Range::new(0, reader.info().size);
        reader.read(whole).expect("reads")
    };
    let whole = Folder::golden_whole();
    let whole_scan = whole.scan();
    let active = activate(&whole_scan, "vg0/snap1", Options::default()).expect("is served");
    let mut reader = block::BlockingDevice::open(&active.volume).expect("opens");
    let start = reader.read(block::Range::new(0, 5 << 20)).expect("reads");
    assert!(bytes("vg0/snap1") == start, "5 MiB of it");
    assert_eq!(content(&scan, "snap2").expect("is served"), golden("snap2"));
    assert_eq!(
        content(&scan, "origin").expect("is served"),
        golden("origin")
    );
}

/// Without its store nothing is known of a snapshot, whatever may be missing; its origin is read.
#[test]
fn a_lost_store_is_missed() {
    let folder = Folder::golden_whole();
    folder.remove(DISK);
    let scan = folder.scan();
    for missing in [MissingPolicy::Degraded, MissingPolicy::Partial] {
        let options = Options {
            missing,
            ..Options::default()
        };
        let error = activate(&scan, "vg0/snap1", options).expect_err("lacks its store");
        assert_eq!(error.kind(), Kind::Missing, "{error}");
        assert!(error.to_string().contains("vg0/snap1 lacks"), "{error}");
    }
    assert_eq!(
        content(&scan, "origin").expect("is served"),
        golden("origin")
    );
}
