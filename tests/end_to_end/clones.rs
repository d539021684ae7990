//! Disks of another time: clones under another name, disks that come back or lack their group.
//!
//! What one group is told must not reach the disks of another, and what a disk holds is cleared by
//! no command that was not asked for it.

use std::fs;
use std::path::PathBuf;

use tests::{Access, Finished, LoopDevice, Scratch, Stock, Tool, ashlar, sha256};

struct Bench {
    folder: Scratch,
    images: Vec<PathBuf>,
}

impl Bench {
    fn new(count: usize) -> Self {
        let folder = Scratch::new("clones");
        let image = |number: usize| folder.sparse(&format!("{number}.img"), 16 << 20);
        let images = (0..count).map(image).collect();
        Self { folder, images }
    }

    /// The program, seeing these disks; `@0` in a line stands for one.
    fn run(&self, seen: &[usize], line: &str) -> Finished {
        let name = |disk: usize| self.images[disk].display().to_string();
        let names: Vec<String> = seen.iter().map(|disk| name(*disk)).collect();
        let word = |word: &str| match word.strip_prefix('@').map(str::parse) {
            Some(Ok(disk)) => name(disk),
            _ => word.to_owned(),
        };
        let tool: Tool = ashlar()
            .env("ASHLAR_DEVICES", names.join(":"))
            .env("LVM_SYSTEM_DIR", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path());
        tool.args(line.split_whitespace().map(word)).run()
    }

    fn done(&self, seen: &[usize], line: &str) -> Finished {
        let done = self.run(seen, line);
        assert_eq!(done.code, Some(0), "{done}");
        done
    }

    fn sum(&self, disk: usize) -> String {
        sha256(&fs::read(&self.images[disk]).expect("an image"))
    }

    /// What stock says to a command on these disks.
    fn stock(&self, seen: &[usize], line: &str) -> Finished {
        let attach = |disk: &usize| LoopDevice::attach(&self.images[*disk], Access::ReadWrite);
        let loops: Vec<LoopDevice> = seen.iter().map(attach).collect();
        let word = |word: &str| match word.strip_prefix('@').map(str::parse::<usize>) {
            Some(Ok(disk)) => {
                let at = seen.iter().position(|seen| *seen == disk);
                loops[at.expect("it is seen")].path().display().to_string()
            }
            _ => word.to_owned(),
        };
        let mut words = line.split_whitespace().map(word);
        let command = words.next().expect("a command");
        Stock::on(&loops).without_driver(&command).args(words).run()
    }
}

/// A clone that was renamed is a group of its own: both are listed, and no change of one reaches
/// the disks of the other.
#[test]
fn a_renamed_clone_is_another_group() {
    let bench = Bench::new(2);
    bench.done(&[0], "vgcreate -s 1m vg1 @0");
    bench.done(&[0], "lvcreate -l 4 -n l1 vg1");
    fs::copy(&bench.images[0], &bench.images[1]).expect("is copied");
    bench.done(&[1], "vgrename vg1 vg2");
    bench.done(&[1], "pvchange -u @1");
    let both = [0, 1];
    let names = |line: &str| -> Vec<String> {
        let listed = bench.done(&both, line).text();
        listed.split_whitespace().map(str::to_owned).collect()
    };
    let said = bench.done(&both, "vgs").complaints();
    assert!(
        said.contains("fix duplicate VGID")
            && said.contains("for VGs vg1 and vg2 (see vgchange -u)"),
        "{said}"
    );
    assert_eq!(names("vgs --noheadings -o name"), ["vg1", "vg2"]);
    assert_eq!(names("pvs --noheadings -o vg_name"), ["vg1", "vg2"]);
    let (one, two) = (bench.sum(0), bench.sum(1));
    for line in [
        "lvcreate -l 2 -n l2 vg2",
        "vgchange --addtag t vg2",
        "vgck --updatemetadata vg2",
        "lvremove -y vg2/l1",
    ] {
        bench.done(&both, line);
        assert_eq!(bench.sum(0), one, "{line}");
        assert_ne!(bench.sum(1), two, "{line}");
    }
    // The one with fewer changes, too.
    let two = bench.sum(1);
    bench.done(&both, "lvcreate -l 1 -n l3 vg1");
    assert_eq!(bench.sum(1), two);
    assert_eq!(names("lvs --noheadings -o name"), ["l1", "l3", "l2"]);
    let listed = bench.stock(&both, "lvs --noheadings -o name");
    let text = listed.text();
    let stock: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(stock, ["l1", "l3", "l2"], "{listed}");
    let one = bench.sum(0);
    bench.done(&both, "vgremove -y vg2");
    assert_eq!(bench.sum(0), one);
    assert_eq!(names("vgs --noheadings -o name"), ["vg1"]);
}

/// A clone gets a VGID of its own without harm to the other group.
#[test]
fn a_clone_gets_its_own_vgid() {
    let bench = Bench::new(2);
    bench.done(&[0], "vgcreate -s 1m vg1 @0");
    fs::copy(&bench.images[0], &bench.images[1]).expect("is copied");
    bench.done(&[1], "vgrename vg1 vg2");
    bench.done(&[1], "pvchange -u @1");
    let one = bench.sum(0);
    bench.done(&[0, 1], "vgchange -u vg2");
    assert_eq!(bench.sum(0), one);
    let after = bench.done(&[0, 1], "vgs --noheadings -o name");
    assert_eq!(after.complaints(), "", "{after}");
    assert_eq!(after.text().split_whitespace().count(), 2);
}

/// A disk that missed vgreduce --removemissing keeps what it holds until vgck --updatemetadata,
/// and is a free physical volume then.
#[test]
fn a_returned_disk_is_cleared_only_when_asked() {
    for clear in ["vgck --updatemetadata vg", "vgremove -y vg"] {
        let bench = Bench::new(3);
        bench.done(&[0, 1, 2], "vgcreate -s 1m vg @0 @1 @2");
        bench.done(&[0, 1], "vgreduce --removemissing vg");
        let all = [0, 1, 2];
        let was = bench.sum(2);
        for line in [
            "lvcreate -l 2 -n l1 vg",
            "vgchange --addtag t vg",
            "vgrename vg other",
            "vgrename other vg",
        ] {
            bench.done(&all, line);
            assert_eq!(bench.sum(2), was, "{line}");
        }
        let listed = bench.done(&all, "vgs").complaints();
        assert!(listed.contains("outdated PV"), "{listed}");
        for line in [
            "vgextend vg @2",
            "pvcreate @2",
            "pvremove @2",
            "pvchange -u @2",
            "vgchange -u vg",
        ] {
            let refused = bench.run(&all, line);
            assert_eq!(refused.code, Some(5), "{refused}");
            assert_eq!(bench.sum(2), was, "{line}");
        }
        let done = bench.done(&all, clear);
        assert!(
            done.complaints().contains("wiping mda on outdated PV"),
            "{done}"
        );
        bench.done(&all, "vgcreate -s 1m new @2");
        let judged = bench.stock(&all, "vgck new");
        assert_eq!(judged.code, Some(0), "{judged}");
    }
}

/// The identity of a physical volume whose group is not to be seen stays, as in stock.
#[test]
fn a_used_disk_keeps_its_identity() {
    let bench = Bench::new(2);
    bench.done(&[0, 1], "vgcreate -s 1m vg @0 @1");
    bench.done(&[0, 1], "pvchange --metadataignore y @0");
    let was = bench.sum(0);
    for line in ["pvchange -u @0", "pvchange -x n @0"] {
        let theirs = bench.stock(&[0], line);
        let ours = bench.run(&[0], line);
        assert_eq!((ours.code, theirs.code), (Some(5), Some(5)), "{ours}");
        for sentence in [
            "is used by a VG but its metadata is missing.",
            "without -ff",
        ] {
            assert!(ours.complaints().contains(sentence), "{ours}");
            assert!(theirs.complaints().contains(sentence), "{theirs}");
        }
        assert_eq!(bench.sum(0), was);
    }
    bench.done(&[0, 1], "vgck vg");
}

/// vgimportclone makes copies of disks a group of its own, as stock does: with the names that stock
/// chooses, and without a change of the disks that were copied.
#[test]
fn copies_are_imported_as_by_stock() {
    let bench = Bench::new(4);
    bench.done(&[0, 1], "vgcreate -s 1m vg @0 @1");
    bench.done(&[0, 1], "lvcreate -l 4 -n a vg");
    let copy = || {
        for (from, to) in [(0, 2), (1, 3)] {
            fs::copy(&bench.images[from], &bench.images[to]).expect("is copied");
        }
    };
    let all = [0, 1, 2, 3];
    let names = || {
        let listed = bench.done(&all, "vgs --noheadings -o name");
        let names = listed.text();
        names.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let originals = (bench.sum(0), bench.sum(1));
    for (line, expected) in [
        ("vgimportclone @2 @3", "vg vg1"),
        ("vgimportclone -n vg @2 @3", "vg vg1"),
        ("vgimportclone -n other @2 @3", "other vg"),
    ] {
        copy();
        let done = bench.done(&all, line);
        assert_eq!(done.text(), "", "{done}");
        assert_eq!(names(), expected, "{line}");
        let found = bench.done(&all, "lvs --noheadings -o name").text();
        assert_eq!(found.split_whitespace().count(), 2, "{line}");
        let quiet = bench.done(&all, "pvs");
        assert_eq!(quiet.complaints(), "", "no two are taken for one: {quiet}");
        let theirs = bench.stock(&all, "vgck");
        assert_eq!(theirs.code, Some(0), "{theirs}");
        assert!(!theirs.complaints().contains("uplicate"), "{theirs}");
        copy();
        let theirs = bench.stock(&all, line);
        assert_eq!(theirs.code, Some(0), "{theirs}");
        assert_eq!(names(), expected, "{theirs}");
    }
    copy();
    for (line, words) in [
        (
            "vgimportclone @2",
            "Cannot change VG vg while PVs are missing",
        ),
        (
            "vgimportclone /dev/nosuch",
            "Failed to find device /dev/nosuch.",
        ),
    ] {
        for ended in [bench.run(&all, line), bench.stock(&all, line)] {
            assert_eq!(ended.code, Some(5), "{ended}");
            assert!(ended.complaints().contains(words), "{ended}");
        }
    }
    bench.done(&[2, 3], "vgexport vg");
    let refused = bench.run(&all, "vgimportclone @2 @3");
    assert_eq!(refused.code, Some(5), "{refused}");
    let said = refused.complaints();
    assert!(said.contains("use the --import option"), "{refused}");
    bench.done(&all, "vgimportclone -i @2 @3");
    assert_eq!(names(), "vg vg1");
    assert_eq!((bench.sum(0), bench.sum(1)), originals);
}
