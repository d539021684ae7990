//! Copies through pipes, and what a copy refuses.

use std::fs;

use tests::{Group, Tool};

#[test]
fn copies_go_through_pipes() {
    // Proves: cp fills a volume from standard input or a pipe of unknown size and empties one to
    // standard output, refuses more than there is room for, and vgcfgbackup prints a backup.
    let group = Group::new("streams", 1, 64 << 20);
    let create = ["lvcreate", "-y", "-l", "1", "-n", "data", "vg0"];
    group.ashlar().args(create).succeed();
    let mut content: Vec<u8> = (0..3_000_001_u32).map(|at| (at / 7) as u8).collect();
    content[100_000..900_000].fill(0);
    let fill = group
        .ashlar()
        .args(["cp", "-", "vg0/data"])
        .input(content.clone());
    fill.succeed();
    content.resize(4 << 20, 0);
    let out = group.ashlar().args(["cp", "vg0/data", "-"]).succeed();
    assert!(out.stdout == content, "{}", out.complaints());
    assert!(!group.join("-").exists());
    // A pipe by its name has no size either.
    let fill = group.ashlar().args(["cp", "/dev/stdin", "vg0/data"]);
    fill.input(vec![0x5a; 4 << 20]).succeed();
    let out = group.ashlar().args(["cat", "vg0/data"]).succeed();
    assert!(out.stdout.iter().all(|byte| *byte == 0x5a));
    let fill = group.ashlar().args(["cp", "-", "vg0/data"]);
    let refused = fill.input(vec![1; (4 << 20) + 1]).exit(5);
    assert!(refused.complaints().contains("room"), "{refused}");
    let backup = group
        .ashlar()
        .args(["vgcfgbackup", "-f", "-", "vg0"])
        .succeed();
    assert!(
        backup
            .text()
            .contains("contents = \"Text Format Volume Group\""),
        "{backup}"
    );
    assert!(!backup.text().contains("successfully"), "{backup}");
}

#[test]
fn a_qcow2_image_is_not_copied_as_it_is() {
    // Proves: the container of qemu's format is no content of a volume unless that is agreed to,
    // and a file that is named like one is warned about.
    let group = Group::new("qcow2", 1, 64 << 20);
    let create = ["lvcreate", "-y", "-l", "1", "-n", "data", "vg0"];
    group.ashlar().args(create).succeed();
    let image = group.join("disk.qcow2");
    Tool::new("qemu-img")
        .args(["create", "-q", "-f", "qcow2"])
        .arg(&image)
        .arg("1M")
        .succeed();
    let refused = group
        .ashlar()
        .arg("cp")
        .args([&image])
        .arg("vg0/data")
        .exit(5);
    assert!(
        refused.complaints().contains("is a qcow2 image"),
        "{refused}"
    );
    let zeros = group.ashlar().args(["cat", "vg0/data"]).succeed();
    assert!(zeros.stdout.iter().all(|byte| *byte == 0));
    group
        .ashlar()
        .args(["cp", "-y"])
        .arg(&image)
        .arg("vg0/data")
        .succeed();
    let warned = group
        .ashlar()
        .args(["cp", "vg0/data"])
        .arg(&image)
        .succeed();
    assert!(warned.complaints().contains("qemu-img convert"), "{warned}");
    assert_eq!(fs::metadata(&image).expect("it is there").len(), 4 << 20);
}
