//! Active volumes as device-mapper would show them. `kernel::activation` holds this against what
//! device-mapper shows of the same volumes.

use std::os::unix::fs::MetadataExt;

use rustix::fs::{major, minor};
use tests::{Finished, Group, wait_until};

/// Bytes of a disk.
const SIZE: u64 = 64 << 20;

fn nodes(group: &Group, words: &[&str]) -> Finished {
    group.ashlar().arg("nodes").args(words).run()
}

/// What is printed, without the blanks in front of each line.
fn shown(group: &Group, words: &[&str]) -> Vec<String> {
    let finished = nodes(group, words);
    assert_eq!(finished.code, Some(0), "{}", finished.complaints());
    let text = finished.text();
    let lines = text.lines();
    lines.map(|line| line[2..].to_owned()).collect()
}

/// Proves: tables, status, dependencies and the tree of attached volumes are those of their
/// layout, of what has a device and of what is below it, and nothing is left behind them.
#[test]
fn active_volumes_are_shown_down_to_the_disks() {
    let group = Group::new("nodes", 3, SIZE);
    assert_eq!(shown(&group, &[]), ["No volumes are active."]);
    assert_eq!(shown(&group, &["vg0"]), ["No volumes are active."]);
    assert_eq!(shown(&group, &["--json"]), ["{\"nodes\":[]}"]);
    group.create("data-1", &["-l", "2"]);
    group.create("wide", &["-l", "3", "-i", "3"]);
    group.create("array", &["-l", "2", "--type", "raid5", "-i", "2"]);
    group.create("idle", &["-l", "1"]);
    let take = group.ashlar().args(["lvcreate", "-s", "-n", "monday"]);
    take.args(["-l", "1", "vg0/data-1"]).succeed();
    let data = group.attach("data-1");
    group.attach("wide");
    group.attach("array");
    let disks = [0, 1, 2].map(|number| group.disk(number).display().to_string());
    let number = data.metadata().expect("a node").rdev();
    let (major, minor) = (major(number), minor(number));

    let listed = shown(&group, &[]);
    let words = |line: &str| -> Vec<String> { line.split_whitespace().map(String::from).collect() };
    let names: Vec<String> = listed.iter().map(|line| words(line)[0].clone()).collect();
    let seen = ["Name", "vg0-array", "vg0-data--1", "vg0-monday", "vg0-wide"];
    assert_eq!(names, seen);
    let node = data.display().to_string();
    let line = words(&listed[2]);
    assert_eq!(line[1], format!("{major}:{minor}"));
    assert_eq!(line[3..], ["write", "16384", "snapshot-origin", &node]);

    let table = shown(&group, &["-a", "--table"]);
    let wanted = [
        "vg0-data--1: 0 16384 snapshot-origin /dev/mapper/vg0-data--1-real".to_owned(),
        format!("vg0-data--1-real: 0 16384 linear {} 2048", disks[0]),
        "vg0-monday: 0 16384 snapshot /dev/mapper/vg0-data--1-real /dev/mapper/vg0-monday-cow P 8"
            .to_owned(),
        format!(
            "vg0-wide: 0 24576 striped 3 128 {} 18432 {} 2048 {} 2048",
            disks[0], disks[1], disks[2]
        ),
        "vg0-array: 0 16384 raid raid5_ls 3 128 region_size 4096 3 \
         /dev/mapper/vg0-array_rmeta_0 /dev/mapper/vg0-array_rimage_0 \
         /dev/mapper/vg0-array_rmeta_1 /dev/mapper/vg0-array_rimage_1 \
         /dev/mapper/vg0-array_rmeta_2 /dev/mapper/vg0-array_rimage_2"
            .to_owned(),
    ];
    for line in wanted {
        assert!(table.contains(&line), "{line}\n{table:#?}");
    }
    let real = shown(&group, &["--table", "vg0-data--1-real"]);
    assert_eq!(real, [format!("0 16384 linear {} 2048", disks[0])]);

    wait_until("the array goes together", || {
        let status = shown(&group, &["--status", "vg0/array"]);
        status == ["0 16384 raid raid5_ls 3 AAA 8192/8192 idle 0 0 -"]
    });
    // A first write takes a chunk of the store beside two of its own.
    std::fs::write(&data, [1; 4096]).expect("the node takes it");
    std::fs::File::open(&data)
        .and_then(|file| file.sync_all())
        .expect("it is kept");
    assert_eq!(
        shown(&group, &["--status", "vg0/monday"]),
        ["0 16384 snapshot 24/8192 16"]
    );
    assert_eq!(
        shown(&group, &["--deps", "vg0/monday"]),
        ["vg0-monday: 2 dependencies\t: (vg0-data--1-real) (vg0-monday-cow)"]
    );
    assert_eq!(
        shown(&group, &["--tree", "vg0/data-1"]),
        [
            format!("vg0-data--1 ({major}:{minor})"),
            " `-vg0-data--1-real".to_owned(),
            format!("    `-{}", disks[0]),
        ]
    );
    let json = shown(&group, &["--json", "vg0/data-1"]).concat();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let one = &json["nodes"][0];
    assert_eq!(one["lv_name"], "data-1");
    assert_eq!(
        (one["major"].as_u64(), one["minor"].as_u64()),
        (Some(major.into()), Some(minor.into()))
    );
    assert_eq!(one["table"][0]["target"], "snapshot-origin");
    assert_eq!(one["dependencies"][0], "vg0-data--1-real");

    for volume in ["data-1", "wide", "array"] {
        group.detach(volume);
    }
    assert_eq!(shown(&group, &["-a", "--tree"]), ["No volumes are active."]);
}

/// Proves: what is not active, not there or no name at all is told by its name, and fails; what was
/// named beside it is shown.
#[test]
fn names_of_nothing_active_are_told() {
    let group = Group::new("nodes-named", 1, SIZE);
    group.create("data", &["-l", "1"]);
    group.create("idle", &["-l", "1"]);
    group.attach("data");
    for (name, told) in [
        ("vg0/idle", "vg0/idle is not active."),
        ("vg0/none", "Failed to find logical volume \"vg0/none\""),
        ("vg9/data", "Volume group \"vg9\" not found"),
        ("vg0-idle", "Nothing that is active is called vg0-idle"),
    ] {
        let finished = nodes(&group, &[name]);
        assert_eq!(finished.code, Some(5));
        assert!(
            finished.complaints().contains(told),
            "{}",
            finished.complaints()
        );
        assert_eq!(finished.text(), "");
        let both = nodes(&group, &["--table", name, "vg0/data"]);
        assert_eq!(both.code, Some(5));
        assert!(
            both.text().starts_with("  vg0-data: 0 8192 linear "),
            "{}",
            both.text()
        );
    }
    assert_eq!(nodes(&group, &["--table", "--tree"]).code, Some(3));
    group.detach("data");
}
