//! Recorded runs: a real file system on an attached volume, labelled, shown and replayed.

use std::fs;
use std::path::PathBuf;

use tests::{Group, Tool, ashlar};

/// Two times 64 KiB of a file, made durable.
const WRITER: &str = "dd if=/dev/zero of=file bs=64k count=2 conv=fsync 2>/dev/null && \
                      mkdir directory && sync && test -b \"$device\" && test -d \"$mountpoint\"";

/// The classes of a trace, with their requests.
fn classes(shown: &str) -> Vec<(String, u64)> {
    let lines = shown.lines().skip_while(|line| !line.contains("class"));
    let class = |line: &str| {
        let name = line.get(2..20)?.trim().to_owned();
        let count = line.get(20..)?.split_whitespace().next()?.parse().ok()?;
        Some((name, count))
    };
    lines.skip(1).filter_map(class).collect()
}

/// Makes a volume of `size` with a file system, and records the writer on it: the trace, and what
/// was printed.
fn record(group: &Group, size: &str, make: &str) -> (PathBuf, String) {
    group.create("data", &["-L", size]);
    let node = group.attach("data");
    Tool::new(make).args(["-q"]).arg(&node).succeed();
    group.detach("data");
    let trace = group.join("run.trace");
    let record = group
        .ashlar()
        .args(["lab", "record", "vg0/data", "--output"]);
    let finished = record
        .arg(&trace)
        .args(["--", "sh", "-c", WRITER])
        .succeed();
    (trace, finished.text())
}

/// What a command asks of a volume is recorded with its flushes, labelled by the layout of the
/// file system, and replayed on another disk; nothing stays attached.
#[test]
fn a_run_is_recorded_labelled_and_replayed() {
    let group = Group::new("record", 1, 128 << 20);
    let (trace, recorded) = record(&group, "64M", "mkfs.ext4");
    let shown = ashlar()
        .args(["lab", "trace", "show"])
        .arg(&trace)
        .succeed()
        .text();
    let places = recorded.strip_prefix(&shown).expect("the same, and places");
    let found_places = places.lines().filter(|line| line.contains("journal"));
    assert_eq!(found_places.count(), 1, "{places}");
    let found = classes(&shown);
    for class in [
        "superblock",
        "inode table",
        "directory",
        "journal",
        "file data",
    ] {
        let count = found
            .iter()
            .find(|found| found.0 == class)
            .map_or(0, |found| found.1);
        assert!(count > 0, "{class}: {shown}");
    }
    assert!(shown.contains("flush"), "{shown}");
    let written = found.iter().map(|found| found.1).sum::<u64>();
    assert!(
        shown.contains(&format!("vg0/data: {written} requests")),
        "{shown}"
    );

    let replay = ashlar().args(["lab", "replay", "--disk", "wd800bd-like"]);
    let replayed = replay.arg(&trace).succeed().text();
    for wanted in ["T_DO", "T_J", "demerit", "journal commits of 5 s"] {
        assert!(replayed.contains(wanted), "{replayed}");
    }
    let attached = fs::read_dir(group.join("run/attached"))
        .expect("the directory")
        .count();
    assert_eq!(attached, 0);

    let bytes = fs::read(&trace).unwrap();
    fs::write(&trace, &bytes[..bytes.len() - 20]).unwrap();
    let cut = ashlar().args(["lab", "trace", "show"]).arg(&trace).exit(5);
    assert!(
        cut.complaints().contains("cut short"),
        "{}",
        cut.complaints()
    );

    let fails = group
        .ashlar()
        .args(["lab", "record", "vg0/data", "--output"]);
    fails.arg(&trace).args(["--", "false"]).exit(5);
    group
        .ashlar()
        .args(["lvremove", "-y", "vg0/data"])
        .succeed();
}

/// A run on XFS is labelled by its layout.
#[test]
fn a_run_on_xfs_is_labelled() {
    let group = Group::new("recordxfs", 1, 512 << 20);
    let (trace, _) = record(&group, "400M", "mkfs.xfs");
    let show = ashlar().args(["lab", "trace", "show"]).arg(&trace);
    let found = classes(&show.succeed().text());
    for class in ["superblock", "inode table", "journal", "file data"] {
        let count = found.iter().find(|found| found.0 == class);
        assert!(count.is_some_and(|found| found.1 > 0), "{class}: {found:?}");
    }
}
