//! What becomes smaller or goes away is asked for, whatever the command is called, and file systems
//! are not cut.

use std::path::PathBuf;

use tests::{Finished, Group, Tool};

const MIB: u64 = 1 << 20;

/// An image of `size` MiB, with a file system that its own tool made.
fn image(group: &Group, make: &[&str], size: u64) -> PathBuf {
    let path = group.join("fs.img");
    let _ = std::fs::remove_file(&path);
    let file = std::fs::File::create(&path).expect("is made");
    file.set_len(size * MIB).expect("has the size");
    Tool::new(make[0]).args(&make[1..]).arg(&path).succeed();
    path
}

fn refused(finished: &Finished, words: &[&str]) {
    let complaints = finished.complaints();
    for word in words {
        assert!(
            complaints.contains(word),
            "{word:?} is not in: {complaints}"
        );
    }
}

fn size(group: &Group, volume: &str) -> u64 {
    let fields = [
        "--noheadings",
        "--nosuffix",
        "--units",
        "m",
        "-o",
        "lv_size",
    ];
    let lvs = group.ashlar().arg("lvs").args(fields).arg(volume);
    let text = lvs.succeed().text();
    text.trim().trim_end_matches(".00").parse().expect("a size")
}

/// Every command that makes a volume smaller reads the superblock first, and refuses to cut what it
/// finds, naming both sizes; --fs ignore is the way around.
#[test]
fn a_file_system_is_not_cut() {
    let group = Group::new("cuts", 2, 512 * MIB);
    let kinds: [(&[&str], u64, &[&str]); 4] = [
        (
            &["mkfs.ext4", "-qF"],
            40,
            &["File system ext4 found on vg0/u.", "(see resize2fs"],
        ),
        (
            &["mkfs.xfs", "-q"],
            320,
            &["File system xfs found on vg0/u.", "not supported (xfs)"],
        ),
        (
            &["mkfs.btrfs", "-q"],
            128,
            &["File system btrfs found", "(see btrfs filesystem resize"],
        ),
        (
            &["mkswap", "-q"],
            40,
            &["File system swap found on vg0/u.", "(see mkswap)"],
        ),
    ];
    for (make, mib, words) in kinds {
        let image = image(&group, make, mib);
        group.create("u", &["-L", "20m"]);
        let to = format!("-L{mib}m");
        group.ashlar().args(["lvextend", &to, "vg0/u"]).succeed();
        group.ashlar().arg("cp").arg(&image).arg("vg0/u").succeed();
        let sizes = format!(
            "File system size ({mib}.00 MiB) is larger than the requested size (20.00 MiB)."
        );
        let reduce = |command: &str| group.ashlar().args([command, "-y", "-f", "-L20m", "vg0/u"]);
        for command in ["lvreduce", "lvresize"] {
            let finished = reduce(command).exit(5);
            refused(&finished, words);
            refused(&finished, &[&sizes]);
        }
        let undo = group.ashlar().args(["undo", "-y", "vg0"]);
        refused(&undo.exit(5), &["--fs ignore", &sizes]);
        let plan = group.ashlar().args(["plan", "undo", "vg0"]);
        refused(&plan.exit(5), &[&sizes]);
        assert_eq!(size(&group, "vg0/u"), mib);
        group
            .ashlar()
            .args(["undo", "-y", "--fs", "ignore", "vg0"])
            .succeed();
        assert_eq!(size(&group, "vg0/u"), 20);
        group.ashlar().args(["lvremove", "-y", "vg0/u"]).succeed();
    }
}

/// `vgcfgrestore` meets the same refusal, and a file system that fits is no reason against any.
#[test]
fn vgcfgrestore_cuts_nothing_either() {
    let group = Group::new("cuts-restore", 1, 128 * MIB);
    group.create("u", &["-L", "20m"]);
    let backup = group.join("backup");
    let save = group.ashlar().args(["vgcfgbackup", "-f"]).arg(&backup);
    save.arg("vg0").succeed();
    group
        .ashlar()
        .args(["lvextend", "-L40m", "vg0/u"])
        .succeed();
    for (mib, code) in [(40, 5), (16, 0)] {
        let image = image(&group, &["mkfs.ext4", "-qF"], mib);
        group.ashlar().arg("cp").arg(&image).arg("vg0/u").succeed();
        let restore = group.ashlar().args(["vgcfgrestore", "-f"]).arg(&backup);
        let finished = restore.arg("vg0").exit(code);
        assert_eq!(size(&group, "vg0/u"), if code == 5 { 40 } else { 20 });
        if code == 5 {
            refused(
                &finished,
                &["File system ext4 found on vg0/u.", "40.00 MiB", "20.00 MiB"],
            );
        }
    }
}

/// `undo` and `vgcfgrestore` ask as `lvreduce` does before an attached volume becomes smaller, say
/// so in `plan`, and refuse as `lvremove` does to take one away.
#[test]
fn what_is_attached_is_asked_for() {
    const QUESTION: &str = "Do you really want to reduce vg0/u? [y/n]:";
    let group = Group::new("cuts-attached", 1, 128 * MIB);
    group.create("u", &["-L", "20m"]);
    let node = group.attach("u");
    group
        .ashlar()
        .args(["lvextend", "-L40m", "vg0/u"])
        .succeed();
    let undo = || group.ashlar().args(["undo", "vg0"]).input("");
    let words = [
        "WARNING: Reducing active and open logical volume to 20.00 MiB",
        "THIS MAY DESTROY YOUR DATA",
        QUESTION,
        "Logical volume vg0/u NOT reduced.",
    ];
    refused(&undo().exit(5), &words);
    let plan = group
        .ashlar()
        .args(["plan", "undo", "vg0"])
        .succeed()
        .text();
    assert!(plan.contains(QUESTION), "{plan}");
    let plan = group.ashlar().args(["plan", "lvreduce", "-L20m", "vg0/u"]);
    let plan = plan.succeed().text();
    assert!(plan.contains(QUESTION), "{plan}");
    assert_eq!(size(&group, "vg0/u"), 40);
    group.ashlar().args(["undo", "-y", "vg0"]).succeed();
    let device = Tool::new("blockdev").arg("--getsize64").arg(&node);
    assert_eq!(device.succeed().text().trim(), (20 * MIB).to_string());
    // The version before that has no volume at all.
    for command in [
        &["undo", "-y", "--to", "1"][..],
        &["plan", "undo", "--to", "1"],
    ] {
        let finished = group.ashlar().args(command).arg("vg0").exit(5);
        refused(&finished, &["Logical volume vg0/u in use: process"]);
    }
    group.detach("u");
}

/// `lvremove` says how what it removed comes back, and that works, for a volume and for several.
#[test]
fn lvremove_names_the_way_back() {
    let group = Group::new("cuts-removed", 1, 128 * MIB);
    for name in ["a", "b"] {
        group.create(name, &["-L", "20m"]);
    }
    let image = image(&group, &["mkfs.ext4", "-qF"], 20);
    group.ashlar().arg("cp").arg(&image).arg("vg0/a").succeed();
    let removed = group.ashlar().args(["lvremove", "-y", "vg0/a"]).succeed();
    let hint = "`ashlar undo vg0' brings it back, until its extents are used.";
    assert!(removed.text().contains(hint), "{}", removed.text());
    group.ashlar().args(["undo", "-y", "vg0"]).succeed();
    let removed = group.ashlar().args(["lvremove", "-y", "vg0"]).succeed();
    let hint = "`ashlar undo vg0 --to 5' brings them back, until their extents are used.";
    assert!(removed.text().contains(hint), "{}", removed.text());
    group
        .ashlar()
        .args(["undo", "-y", "vg0", "--to", "5"])
        .succeed();
    let content = group.ashlar().args(["cat", "vg0/a"]).succeed().stdout;
    assert!(
        content == std::fs::read(&image).expect("reads"),
        "its content is back"
    );
}

/// A group that was removed comes back with what its volumes held; not where one of its physical
/// volumes was in another group since.
#[test]
fn a_removed_group_comes_back() {
    let group = Group::new("cuts-vgremove", 2, 128 * MIB);
    group.create("u", &["-L", "20m"]);
    let image = image(&group, &["mkfs.ext4", "-qF"], 20);
    group.ashlar().arg("cp").arg(&image).arg("vg0/u").succeed();
    group
        .ashlar()
        .args(["vgremove", "-y", "-f", "vg0"])
        .succeed();
    let history = group.ashlar().args(["history", "vg0"]).succeed();
    assert!(history.text().contains("lvcreate"), "{}", history.text());
    let undo = || group.ashlar().args(["undo", "vg0"]);
    refused(
        &undo().input("").exit(5),
        &["Go back to version 2 all the same?"],
    );
    undo().arg("-y").succeed();
    let content = group.ashlar().args(["cat", "vg0/u"]).succeed().stdout;
    assert!(
        content == std::fs::read(&image).expect("reads"),
        "its content is back"
    );
    group.ashlar().args(["vgck", "vg0"]).succeed();
    // Another change, and another group on one of the disks, which is gone again.
    group
        .ashlar()
        .args(["vgremove", "-y", "-f", "vg0"])
        .succeed();
    let other = |command: &str| group.ashlar().args([command, "other"]);
    other("vgcreate").arg(group.disk(1)).succeed();
    refused(&undo().arg("-y").exit(5), &["is in volume group other now"]);
    other("vgremove").succeed();
    refused(
        &undo().arg("-y").exit(5),
        &["was in volume group other since"],
    );
}

/// Where the newest text is damaged on all disks, `history` lists the older ones and `undo` goes
/// back to the newest of them, after a question, under a number that was never used.
#[test]
fn a_damaged_newest_text_hides_no_older_ones() {
    let group = Group::new("cuts-damaged", 2, 128 * MIB);
    group.create("u", &["-L", "20m"]);
    group.create("v", &["-L", "20m"]);
    for disk in 0..2 {
        let path = group.disk(disk);
        let mut bytes = std::fs::read(&path).expect("reads");
        let number = b"seqno = 3\n";
        let at = bytes
            .windows(number.len())
            .position(|window| window == number);
        let at = at.expect("the newest text") + 40;
        bytes[at..at + 3].copy_from_slice(b"}}}");
        std::fs::write(&path, bytes).expect("writes");
    }
    let history = group.ashlar().args(["history", "vg0"]).succeed();
    assert!(history.text().contains("lvcreate"), "{}", history.text());
    let undo = || group.ashlar().args(["undo", "vg0"]);
    let words = [
        "what was changed after version 2 is lost",
        "Go back to version 2",
    ];
    refused(&undo().input("").exit(5), &words);
    undo().arg("-y").succeed();
    let fields = ["lvs", "--noheadings", "-o", "lv_name,vg_seqno", "vg0"];
    let lvs = group.ashlar().args(fields).succeed().text();
    assert_eq!(lvs.split_whitespace().collect::<Vec<_>>(), ["u", "4"]);
    group.ashlar().args(["vgck", "vg0"]).succeed();
}
