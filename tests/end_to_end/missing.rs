//! Groups whose disks are missing: what goes with them, beside stock LVM2 on the same disks.
//!
//! The golden disks hold a volume of every kind. Some are left away; then the same command runs
//! here and in stock, each on its own copy, and the texts that are left must be the same.

use std::fs;
use std::path::{Path, PathBuf};

use tests::damaged::Campaign;
use tests::{Access, Finished, Golden, Group, LoopDevice, Scratch, Stock, Tool, ashlar};

/// The program on these images, with nothing of the machine.
fn on(images: &[PathBuf], folder: &Path) -> Tool {
    let names: Vec<String> = images.iter().map(|i| i.display().to_string()).collect();
    ashlar()
        .env("ASHLAR_DEVICES", names.join(":"))
        .env("LVM_SYSTEM_DIR", folder)
        .env("XDG_STATE_HOME", folder)
}

/// The text in a backup file, from the group on, without the hints, which name other devices.
fn group(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a backup");
    let from = text.find("vg0 {").expect("the group");
    let lines = text[from..].lines();
    let kept = lines.filter(|line| !line.contains("seqno =") && !line.contains("device ="));
    kept.collect::<Vec<_>>().join("\n")
}

/// What stock and we make of the golden group without some disks.
fn both(absent: &[usize], words: &[&str]) -> [(Finished, String); 2] {
    let left: Vec<usize> = (0..5).filter(|disk| !absent.contains(disk)).collect();
    let (golden, folder) = (Golden::shared(), Scratch::new("missing"));
    let copies = |whose: &str| -> Vec<PathBuf> {
        let copy = |disk: &usize| {
            let path = folder.join(format!("{whose}{disk}.img"));
            golden.copy_image(*disk, &path);
            path
        };
        left.iter().map(copy).collect()
    };
    let attach = |image: &PathBuf| LoopDevice::attach(image, Access::ReadWrite);
    let loops: Vec<LoopDevice> = copies("theirs").iter().map(attach).collect();
    let stock = Stock::on(&loops);
    let done = stock.without_driver(words[0]).args(&words[1..]).run();
    let file = folder.join("stock.vg");
    let backup = stock.without_driver("vgcfgbackup").arg("-f").arg(&file);
    backup.arg("vg0").succeed();
    let stock_text = group(&file);
    let images = copies("ours");
    let here = on(&images, folder.path()).args(words).run();
    let file = folder.join("ours.vg");
    let backup = on(&images, folder.path()).args(["vgcfgbackup", "-f"]);
    backup.arg(&file).arg("vg0").succeed();
    [(done, stock_text), (here, group(&file))]
}

/// RAID volumes keep what is left of them, byte for byte as stock writes it; mirrors keep their
/// images; only what lost data goes.
#[test]
fn removing_missing_disks_keeps_what_stock_keeps() {
    let force = ["vgreduce", "--removemissing", "--force", "vg0"];
    for absent in [&[2][..], &[1, 4]] {
        let [(theirs, stock), (here, ours)] = both(absent, &force);
        assert_eq!((theirs.code, here.code), (Some(0), Some(0)), "{here}");
        assert_eq!(ours, stock, "without {absent:?}");
    }
    // Stock gives up an origin with the stores of its snapshots; it is whole.
    let [(_, stock), (_, ours)] = both(&[0], &force);
    assert!(!stock.contains("\torigin {") && ours.contains("\torigin {"));
}

/// Without --force stock removes no image and no volume, and neither do we; what would be lost is
/// said where the way to lose it is.
#[test]
fn nothing_is_lost_without_force() {
    let [(theirs, stock), (here, ours)] = both(&[1], &["vgreduce", "--removemissing", "vg0"]);
    assert_eq!((theirs.code, here.code), (Some(5), Some(5)), "{here}");
    // Stock notes what is missing, we leave the text alone.
    assert_eq!(ours, stock.replace("flags = [\"MISSING\"]", "flags = []"));
    let said = here.complaints();
    assert!(
        said.contains("lost: linear2, stripe3, stripe2x, raid0;"),
        "{said}"
    );
    let mirrors = [
        "vgreduce",
        "--removemissing",
        "--mirrorsonly",
        "--force",
        "vg0",
    ];
    let [(theirs, stock), (here, ours)] = both(&[1], &mirrors);
    assert_eq!((theirs.code, here.code), (Some(0), Some(0)), "{here}");
    assert_eq!(ours, stock, "{here}");
}

/// A volume whose second copy was never made: the first, the good one, is away.
struct Unmade {
    folder: Scratch,
    images: Vec<PathBuf>,
}

impl Unmade {
    fn new() -> Self {
        let folder = Scratch::new("unmade");
        let image = |name: &&str| folder.sparse(name, 32 << 20);
        let images: Vec<PathBuf> = ["a.img", "b.img", "c.img"].iter().map(image).collect();
        let made = Self { folder, images };
        let [a, b, c] = &made.images[..] else {
            unreachable!("three were made")
        };
        let data = made.folder.join("data");
        fs::write(&data, vec![0x5a; 4 << 20]).expect("a file");
        let create = made.tool().args(["vgcreate", "-s", "1m", "v"]);
        create.arg(a).arg(b).arg(c).succeed();
        let create = made.tool().args(["lvcreate", "-L", "4m", "-n", "y", "v"]);
        create.arg(a).succeed();
        made.tool().arg("cp").arg(&data).arg("v/y").succeed();
        let convert = ["lvconvert", "--type", "mirror", "-m1", "v/y"];
        made.tool().args(convert).arg(c).succeed();
        made
    }

    fn tool(&self) -> Tool {
        let there = self.images.iter().filter(|image| image.exists());
        on(&there.cloned().collect::<Vec<_>>(), self.folder.path())
    }

    fn lose_first(&self) {
        fs::rename(&self.images[0], self.folder.join("elsewhere")).expect("it is there");
    }
}

/// An image that the log calls out of sync becomes the volume by no command; people name it.
#[test]
fn an_outdated_image_is_promoted_only_by_its_name() {
    let made = Unmade::new();
    made.lose_first();
    assert_eq!(made.tool().args(["cat", "v/y"]).run().code, Some(5));
    let seqno = |made: &Unmade| {
        let vgs = made
            .tool()
            .args(["vgs", "--noheadings", "-o", "seqno", "v"]);
        vgs.succeed().text().trim().to_owned()
    };
    let was = seqno(&made);
    for words in [
        &["vgreduce", "--removemissing", "v"][..],
        &["vgreduce", "--removemissing", "--force", "-y", "v"],
        &[
            "vgreduce",
            "--removemissing",
            "--mirrorsonly",
            "--force",
            "-y",
            "v",
        ],
        &["lvconvert", "--repair", "-y", "v/y"],
        &["lvconvert", "-m0", "-y", "v/y"],
        &["lvconvert", "--splitmirrors", "1", "-n", "z", "-y", "v/y"],
        &["lvchange", "--resync", "-y", "v/y"],
        // Named, and not agreed to.
        &[
            "lvconvert",
            "--repair",
            "--useoutdated",
            "y_mimage_1",
            "v/y",
        ],
        &[
            "lvconvert",
            "--repair",
            "-y",
            "--useoutdated",
            "y_mimage_0",
            "v/y",
        ],
    ] {
        let refused = made.tool().args(words).run();
        assert_eq!(refused.code, Some(5), "{refused}");
        assert_eq!(seqno(&made), was, "{refused}");
    }
    let named = [
        "lvconvert",
        "--repair",
        "-y",
        "--useoutdated",
        "y_mimage_1",
        "v/y",
    ];
    let done = made.tool().args(named).succeed();
    assert!(
        done.complaints().contains("what was written last is lost"),
        "{done}"
    );
    let read = made.tool().args(["cat", "v/y"]).succeed();
    assert_eq!(read.stdout.len(), 4 << 20);
}

/// Volumes are removed and tagged while disks are missing, as in stock; from then on the text calls
/// those missing, so that what they hold is not taken for new.
#[test]
fn what_stock_does_without_disks_is_done() {
    for words in [
        &["lvremove", "-y", "vg0/linear1"][..],
        &["vgchange", "--addtag", "t", "vg0"],
        &["lvchange", "--addtag", "t", "vg0/ext4"],
    ] {
        let [(theirs, stock), (here, ours)] = both(&[2], words);
        assert_eq!((theirs.code, here.code), (Some(0), Some(0)), "{here}");
        assert!(ours.contains("\"MISSING\""), "{ours}");
        assert_eq!(ours, stock, "{words:?}");
    }
}

/// A few of the cases of `cargo xtask compare damaged`: nothing is lost here that stock keeps.
#[test]
fn damaged_groups_keep_what_stock_keeps() {
    let campaign = Campaign { cases: 24, seed: 3 };
    let report = campaign.run(|_| {});
    assert!(report.worse.is_empty(), "{report}");
}

/// Proves: a change tells what is wrong with the disks before it is made, once: in sentences with a
/// remedy, and under LVM2's names in LVM2's, also where an owner runs it.
#[test]
fn changes_tell_of_damage_first() {
    let group = Group::new("told-first", 2, 48 << 20);
    group.create("u", &["-l1"]);
    let old = std::fs::read(group.disk(1)).expect("a disk");
    let is_old = || std::fs::write(group.disk(1), &old).expect("a disk");
    let disks = group.disk(0).parent().expect("a folder").to_owned();
    let tag = |words: &[&str]| {
        let tool = ashlar()
            .env("ASHLAR_RUNTIME_DIR", group.join("run"))
            .env("DM_DEV_DIR", group.join("dev"))
            .env("LVM_LOCKING_DIR", group.join("locks"));
        let tool = tool.args(words).arg("vg0").arg("--devices").arg(&disks);
        tool.succeed().complaints()
    };
    group
        .ashlar()
        .args(["vgchange", "--addtag", "t", "vg0"])
        .succeed();
    is_old();
    let own = tag(&["vgchange", "--addtag", "t1"]);
    assert_eq!(
        own.matches("metadata area 1 holds version").count(),
        1,
        "{own}"
    );
    assert!(!own.contains("Inconsistent metadata"), "{own}");
    is_old();
    let lvm2 = |told: &str| {
        let inconsistent = "WARNING: Inconsistent metadata found for VG vg0.";
        assert_eq!(told.matches(inconsistent).count(), 1, "{told}");
        assert!(
            told.contains("WARNING: updating old metadata to "),
            "{told}"
        );
        assert!(!told.contains("holds version"), "{told}");
    };
    lvm2(&tag(&["lvm", "vgchange", "--addtag", "t2"]));
    let clean = tag(&["lvm", "vgchange", "--addtag", "t3"]);
    assert!(!clean.contains("inconsistency"), "{clean}");
    is_old();
    group.attach("u");
    lvm2(&tag(&["lvm", "vgchange", "--addtag", "t4"]));
    group.detach("u");
}
