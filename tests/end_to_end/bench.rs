//! The bench itself is tried first: everything else stands on it.

use std::fs;
use std::panic;
use std::time::Duration;

use tests::{Access, Daemon, Golden, LoopDevice, Made, Scratch, Stock, Tool, sha256};

/// Stock LVM2 sees the golden disks through loop devices, all volumes and nothing else.
#[test]
fn stock_lists_the_golden_volumes() {
    let golden = Golden::shared();
    let attach = |image: &std::path::PathBuf| LoopDevice::attach(image, Access::ReadOnly);
    let loops: Vec<LoopDevice> = golden.images().iter().map(attach).collect();
    let stock = Stock::on(&loops);
    let report = stock
        .without_driver("lvs")
        .args(["--noheadings", "-o", "lv_name"])
        .succeed();
    let mut names: Vec<String> = report
        .text()
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
    names.sort();
    let mut expected: Vec<String> = Golden::volumes().into_iter().map(|v| v.name).collect();
    expected.push("pool".to_owned());
    expected.sort();
    assert_eq!(names, expected);
    let groups = stock
        .without_driver("vgs")
        .args(["--noheadings", "-o", "vg_name"])
        .succeed();
    assert_eq!(groups.text().trim(), "vg0");
}

/// A volume whose place on the disk is known holds what the manifest says.
#[test]
fn the_fixtures_agree_with_each_other() {
    let golden = Golden::shared();
    // kernel-view.txt: linear1 starts at sector 2048 of the first disk.
    let disk = fs::read(golden.image(0)).expect("the first disk");
    let linear1 = Golden::volume("linear1");
    let size = usize::try_from(linear1.size).expect("a small volume");
    assert_eq!(sha256(&disk[2048 * 512..][..size]), linear1.sha256);
    assert_eq!(Golden::volumes().len(), 21);
    assert_eq!(Golden::ext4_files().len(), 51);
}

/// A command that hangs fails the test within its limit and says what it printed.
#[test]
fn a_hanging_tool_is_ended() {
    let hang = || {
        Tool::new("sh")
            .args(["-c", "echo before; sleep 60"])
            .limit(Duration::from_secs(1))
            .run()
    };
    let panicked = panic::catch_unwind(hang).expect_err("it must not pass");
    let message = panicked.downcast_ref::<String>().expect("a message");
    assert!(
        message.contains("not done after 1 s") && message.contains("before"),
        "{message}"
    );
}

/// Scratch folders and daemons are gone when they are dropped.
#[test]
fn nothing_stays_behind() {
    let scratch = Scratch::new("gone");
    let path = scratch.path().to_owned();
    let flag = scratch.join("ready");
    let script = format!("touch {}; sleep 60", flag.display());
    let daemon = Daemon::start(Tool::new("sh").args(["-c", &script]), || flag.exists());
    let pid = daemon.pid();
    drop(daemon);
    drop(scratch);
    assert!(!path.exists());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

/// Groups can be made without device-mapper, small and large.
#[test]
fn groups_are_made() {
    let many = Made::many(300);
    let device = LoopDevice::attach(many.image(), Access::ReadOnly);
    let count = Stock::on([&device])
        .without_driver("vgs")
        .args(["--noheadings", "-o", "lv_count"]);
    assert_eq!(count.succeed().text().trim(), "300");
    let scratch = Scratch::new("made");
    let one = Made::volume(scratch.path(), 8 << 20);
    let device = LoopDevice::attach(one.image(), Access::ReadOnly);
    let report = Stock::on([&device]);
    let report = report
        .without_driver("lvs")
        .args(["--noheadings", "-o", "seg_pe_ranges"]);
    assert!(report.succeed().text().trim().ends_with(":0-127"));
    assert_eq!(one.data_start() % (1 << 20), 0);
}
