//! The life of an array: made, brought in sync, a disk lost, another one in its place.

use std::fs;

use tests::{Group, sha256};

/// Disks of the group, and bytes of each.
const DISKS: usize = 6;
const SIZE: u64 = 48 << 20;
/// Each level, and how it is made.
const ARRAYS: [(&str, &str); 4] = [
    ("mirror", "--type raid1 -m 1 -L 8m"),
    ("five", "--type raid5 -i 3 -L 12m"),
    ("six", "--type raid6 -i 3 -L 12m"),
    ("ten", "--type raid10 -i 2 -m 1 -L 8m"),
];

struct Life {
    group: Group,
    sums: Vec<String>,
}

impl Life {
    fn run(&self, line: &str) -> String {
        let finished = self.group.ashlar().args(line.split(' ')).succeed();
        finished.text()
    }

    fn sums(&self) -> Vec<String> {
        let cat = |(name, _): &(&str, &str)| {
            let cat = self.group.ashlar().args(["cat", &format!("vg0/{name}")]);
            sha256(&cat.succeed().stdout)
        };
        ARRAYS.iter().map(cat).collect()
    }

    fn fill(&mut self) {
        for (place, (name, _)) in ARRAYS.iter().enumerate() {
            let size = self.run(&format!(
                "lvs --noheadings --nosuffix --units b -o lv_size vg0/{name}"
            ));
            let size: u64 = size.trim().parse().expect("a number");
            let words = (0..size / 8).map(|at| at.wrapping_mul(0x9e37_79b9) + place as u64);
            let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            let file = self.group.join("content");
            fs::write(&file, bytes).expect("there is space for it");
            let copy = self.group.ashlar().arg("cp").arg(file);
            copy.arg(format!("vg0/{name}")).succeed();
        }
        self.sums = self.sums();
    }

    /// All is in sync, and nothing is wrong.
    fn assert_whole(&self) {
        for (name, _) in ARRAYS {
            self.run(&format!("sync vg0/{name}"));
            let said = self.run(&format!(
                "lvs --noheadings -o copy_percent,lv_health_status vg0/{name}"
            ));
            assert_eq!(said.trim(), "", "{name} is as it should be");
            let said = self.run(&format!("scrub vg0/{name}"));
            assert!(!said.contains("not compared"), "{said}");
        }
        assert_eq!(self.sums(), self.sums, "nothing is lost");
    }
}

/// Arrays of each level are made, filled, and brought in sync. A disk is lost: all are read, and
/// each gets another image, which is filled. Then any disk that is left may be lost.
#[test]
fn arrays_live_through_a_lost_disk() {
    let mut life = Life {
        group: Group::new("raid-life", DISKS, SIZE),
        sums: Vec::new(),
    };
    for (name, options) in ARRAYS {
        life.run(&format!("lvcreate {options} -n {name} vg0"));
    }
    life.fill();
    life.assert_whole();
    let images: Vec<_> = (0..DISKS).map(|disk| life.group.disk(disk)).collect();
    let away = |disk: usize| life.group.join(format!("away{disk}"));
    fs::rename(&images[1], away(1)).expect("it is taken away");
    assert_eq!(life.sums(), life.sums, "without a disk");
    for (name, _) in ARRAYS {
        life.run(&format!("lvconvert -y --repair vg0/{name}"));
    }
    life.assert_whole();
    let flags = life.run("lvs -a --noheadings -o lv_attr vg0");
    assert!(
        !flags.contains("-p-"),
        "no image is on the lost disk: {flags}"
    );
    for disk in (0..DISKS).filter(|disk| *disk != 1) {
        fs::rename(&images[disk], away(disk)).expect("it is taken away");
        assert_eq!(life.sums(), life.sums, "without disk {disk}");
        fs::rename(away(disk), &images[disk]).expect("it is brought back");
    }
}
