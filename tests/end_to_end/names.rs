//! The names of devices: messages and reports name what was found, not what the metadata remembers.

use std::fs;

use tests::{Scratch, Tool, ashlar};

const DISKS: [&str; 2] = ["d1.img", "d2.img"];

/// The group `vg` on two disks in `old`, and copies of them in `new`, which alone are seen then.
struct Copied {
    scratch: Scratch,
}

impl Copied {
    fn new() -> Self {
        let copied = Self {
            scratch: Scratch::new("names"),
        };
        for folder in ["old", "new"] {
            fs::create_dir(copied.scratch.join(folder)).expect("a directory");
        }
        for disk in DISKS {
            copied.scratch.sparse(&format!("old/{disk}"), 32 << 20);
        }
        let old = |words: &str| {
            copied.ashlar("old", words).succeed();
        };
        let path = |disk| copied.path("old", disk);
        old(&format!(
            "vgcreate -s 1m vg {} {}",
            path(DISKS[0]),
            path(DISKS[1])
        ));
        old(&format!("lvcreate -y -l 2 -n a vg {}", path(DISKS[0])));
        for disk in DISKS {
            fs::copy(path(disk), copied.path("new", disk)).expect("a copy");
        }
        copied
    }

    fn path(&self, folder: &str, disk: &str) -> String {
        let path = self.scratch.join(folder).join(disk);
        path.display().to_string()
    }

    /// `@1` and `@2` stand for the disks in the folder.
    fn ashlar(&self, folder: &str, words: &str) -> Tool {
        let words = words.replace("@1", &self.path(folder, DISKS[0]));
        let words = words.replace("@2", &self.path(folder, DISKS[1]));
        ashlar()
            .env("LVM_SYSTEM_DIR", self.scratch.join("etc"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
            .env("ASHLAR_DEVICES", self.scratch.join(folder))
            .args(words.split(' '))
    }
}

#[test]
fn messages_name_the_device_that_was_used() {
    // Proves: on copies of disks no command says a word of the originals' names, which the metadata
    // holds, whether it does something or refuses; and what it writes names the copies.
    let copied = Copied::new();
    let old = copied.scratch.join("old").display().to_string();
    let originals = || DISKS.map(|disk| fs::read(copied.path("old", disk)).expect("ours"));
    let before = originals();
    for (words, code, names) in [
        ("pvs -o pv_name", 0, true),
        ("lvs -o devices", 0, true),
        ("pvchange --addtag t @2", 0, true),
        ("pvchange -x n @2", 0, true),
        ("pvchange -x n @2", 0, true),
        ("pvchange -x y --all", 0, false),
        ("pvresize --setphysicalvolumesize 20m -y @2", 0, true),
        ("pvresize @2", 0, true),
        ("vgextend --restoremissing vg @1", 5, true),
        ("vgreduce vg @1", 5, true),
        ("lvcreate -y -l 1 -n b vg @1:90-91", 5, false),
        ("lvcreate -y -l 100 -n b vg @2", 5, false),
        ("pvremove @1", 5, true),
        ("vgextend vg @1", 5, true),
        ("pvchange --uuid @2", 0, true),
        ("vgreduce vg @2", 0, true),
    ] {
        let ended = copied.ashlar("new", words).exit(code);
        let all = format!("{}{}", ended.text(), ended.complaints());
        assert!(!all.contains(&old), "{ended}");
        assert!(!names || all.contains("/new/d"), "{ended}");
    }
    assert!(originals() == before, "an original was written");
}
