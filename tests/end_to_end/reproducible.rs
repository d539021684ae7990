//! The same commands give the same bytes, with `SOURCE_DATE_EPOCH` and `--uuid-seed`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tests::{Scratch, Tool, ashlar_path};

const DISK: u64 = 64 << 20;
/// Where the metadata of the first disk ends.
const METADATA: usize = 1 << 20;
/// What a build does; every change carries `--uuid-seed`.
const BUILD: &[&str] = &[
    "pvcreate DIR/a.img DIR/b.img",
    "vgcreate sys DIR/a.img DIR/b.img",
    "lvcreate -L 8m -n root sys",
    "lvcreate --type mirror -m1 -L 4m -n safe sys",
    "lvremove -y sys/root",
    "lvcreate -L 8m -n root sys",
    "lvextend -L +4m sys/root",
    "lvrename sys root main",
    "vgchange --addtag built sys",
];

/// A machine and a day on which something is built.
struct Place {
    scratch: Scratch,
    host: &'static str,
    clock: &'static str,
    epoch: Option<&'static str>,
}

impl Place {
    fn new(host: &'static str, clock: &'static str, epoch: Option<&'static str>) -> Self {
        let scratch = Scratch::new(host);
        for disk in ["a.img", "b.img"] {
            scratch.sparse(disk, DISK);
        }
        Self {
            scratch,
            host,
            clock,
            epoch,
        }
    }

    fn run(&self, line: &str) -> String {
        let dir = self.scratch.path().display().to_string();
        let disks = format!("{dir}/a.img:{dir}/b.img");
        // A namespace with a host name of its own, and a clock that shows another day.
        let within = "hostname \"$0\" && exec \"$@\"";
        let tool = Tool::new("unshare")
            .args(["--uts", "sh", "-c", within, self.host, "faketime", "-f"])
            .arg(self.clock)
            .arg(ashlar_path())
            .args(line.replace("DIR", &dir).split(' '))
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("LVM_SYSTEM_DIR", self.scratch.join("lvm"))
            .env("ASHLAR_DEVICES", disks)
            // Of the day only: who waits for another program waits as long as ever.
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1");
        let tool = match self.epoch {
            Some(epoch) => tool.env("SOURCE_DATE_EPOCH", epoch),
            None => tool,
        };
        tool.succeed().text()
    }

    fn build(&self, seed: &str) {
        for line in BUILD {
            self.run(&format!("{line} --uuid-seed {seed}"));
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let read = |disk: &str| fs::read(self.scratch.join(disk)).expect("a disk");
        [read("a.img"), read("b.img")].concat()
    }

    /// The UUIDs of all that is there.
    fn uuids(&self) -> BTreeSet<String> {
        let words = |line: &str| -> Vec<String> {
            let text = self.run(line);
            text.split_whitespace().map(str::to_owned).collect()
        };
        let mut all = words("pvs --noheadings -o pv_uuid");
        all.extend(words("vgs --noheadings -o vg_uuid"));
        all.extend(words("lvs -a --noheadings -o lv_uuid"));
        let count = all.len();
        let set: BTreeSet<String> = all.into_iter().collect();
        assert_eq!(set.len(), count, "one UUID stands for two things");
        set
    }
}

/// Where two images differ, for people.
fn require_same(one: &[u8], other: &[u8]) {
    if one == other {
        return;
    }
    let at: Vec<usize> = (0..one.len()).filter(|at| one[*at] != other[*at]).collect();
    let shown = at.first().map(|at| {
        let part = |bytes: &[u8]| {
            String::from_utf8_lossy(&bytes[at.saturating_sub(40)..at + 40]).into_owned()
        };
        format!("{:?}\n{:?}", part(one), part(other))
    });
    panic!("{} bytes differ: {}", at.len(), shown.unwrap_or_default());
}

#[test]
fn the_same_commands_give_the_same_bytes() {
    // Proves: with SOURCE_DATE_EPOCH and --uuid-seed two builds in other folders, on machines with
    // other names, on other days are equal to the last byte.
    let one = Place::new("anvil", "2026-03-01 12:00:00", Some("1700000000"));
    let other = Place::new("bellows", "2027-08-09 01:02:03", Some("1700000000"));
    one.build("app-1.2");
    other.build("app-1.2");
    require_same(&one.bytes(), &other.bytes());
    let bytes = one.bytes();
    let text = String::from_utf8_lossy(&bytes[..METADATA]);
    assert!(text.contains("localhost"));
    for word in ["anvil", "2026", "2027", "ashlar-test"] {
        assert!(!text.contains(word), "{word} is on the disks");
    }
}

#[test]
fn a_file_system_that_is_resized_has_the_same_bytes() {
    // Proves: what e2fsck and resize2fs write of the time is SOURCE_DATE_EPOCH as well, but for
    // what is not given one.
    let places = [
        ("anvil", "@2026-03-01 12:00:00", Some("1700000000")),
        ("bellows", "@2027-08-09 01:02:03", Some("1700000000")),
        ("chisel", "@2027-08-09 01:02:03", None),
    ];
    let made = Scratch::new("ext4");
    let image = made.sparse("ext4.img", 24 << 20);
    let uuid = "6b0f7a52-4c1e-4c56-9d3f-1d1c6a4f2b11";
    let mkfs = Tool::new("mkfs.ext4").args(["-q", "-U", uuid]);
    mkfs.arg(&image).succeed();
    let [one, other, undated] = places.map(|(host, clock, epoch)| {
        let place = Place::new(host, clock, epoch);
        let copy = format!("cp {} sys/fs", image.display());
        let lines = [
            "pvcreate DIR/a.img DIR/b.img",
            "vgcreate sys DIR/a.img DIR/b.img",
            "lvcreate -L 24m -n fs sys",
            &copy,
            "lvreduce -y -r -L 16m sys/fs",
            "lvextend -y -r -L 32m sys/fs",
        ];
        for line in lines {
            let seed = if line == copy {
                ""
            } else {
                " --uuid-seed app-1.2"
            };
            place.run(&format!("{line}{seed}"));
        }
        let content = place.scratch.join("content");
        place.run(&format!("cp sys/fs {}", content.display()));
        let content = fs::read(content).expect("a copy");
        (place.bytes(), content)
    });
    require_same(&one.0, &other.0);
    assert_eq!(one.1.len(), 32 << 20);
    assert!(
        one.1 != undated.1,
        "the clock does not show in a file system"
    );
}

#[test]
fn a_seed_alone_decides_the_uuids() {
    // Proves: without a fixed time the same seed gives the same UUIDs on other days; another seed
    // gives none of them.
    let one = Place::new("anvil", "2026-03-01 12:00:00", None);
    let other = Place::new("bellows", "2027-08-09 01:02:03", None);
    let third = Place::new("bellows", "2027-08-09 01:02:03", None);
    one.build("app-1.2");
    other.build("app-1.2");
    third.build("app-1.3");
    assert_eq!(one.uuids(), other.uuids());
    assert_ne!(one.bytes(), other.bytes(), "the clocks differ");
    assert!(one.uuids().is_disjoint(&third.uuids()));
}

#[test]
fn a_seed_gives_no_uuid_twice() {
    // Proves: what is removed and made again by the same command, with the same seed, is another
    // thing, also after the whole group was removed.
    let place = Place::new("anvil", "2026-03-01 12:00:00", Some("1700000000"));
    let seeded = |line: &str| place.run(&format!("{line} --uuid-seed s"));
    seeded("pvcreate DIR/a.img DIR/b.img");
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        seeded("vgcreate sys DIR/a.img DIR/b.img");
        for _ in 0..2 {
            seeded("lvcreate -L 8m -n root sys");
            let fields = "lvs --noheadings -o vg_uuid,lv_uuid sys";
            for uuid in place.run(fields).split_whitespace() {
                seen.insert(uuid.to_owned());
            }
            seeded("lvremove -y sys/root");
        }
        seeded("vgremove sys");
    }
    assert_eq!(seen.len(), 3 + 6, "three groups and six volumes");
}

#[test]
fn a_time_that_is_none_is_refused() {
    // Proves: a SOURCE_DATE_EPOCH that is no number stops a change, and not a report.
    let place = Place::new("anvil", "2026-03-01 12:00:00", None);
    let tool = |line: &str| {
        let path: &Path = &place.scratch.join("a.img");
        Tool::new(ashlar_path())
            .args(line.split(' '))
            .env("ASHLAR_DEVICES", path)
            .env("SOURCE_DATE_EPOCH", "yesterday")
    };
    tool("pvs").succeed();
    let refused = tool(&format!(
        "pvcreate {}",
        place.scratch.join("a.img").display()
    ))
    .exit(3);
    let words = refused.complaints();
    assert!(
        words.contains("SOURCE_DATE_EPOCH is \"yesterday\""),
        "{words}"
    );
    assert!(tool("pvs").succeed().text().is_empty());
}
