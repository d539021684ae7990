//! Arrays that become smaller and larger while nobody uses them.

use std::fs;
use std::os::unix::fs::FileExt;

use tests::{Group, sha256};

const DISKS: usize = 6;
const SIZE: u64 = 64 << 20;
/// Each level, and how it is made: 8 MiB of 24 are cut off.
const ARRAYS: [(&str, &str); 4] = [
    ("mirror", "--type raid1 -m 1"),
    ("five", "--type raid5 -i 3"),
    ("six", "--type raid6 -i 3"),
    ("ten", "--type raid10 -i 2 -m 1"),
];

struct World(Group);

impl World {
    fn run(&self, line: &str) -> String {
        self.0.ashlar().args(line.split(' ')).succeed().text()
    }

    /// Fills a volume with something that depends on `seed`.
    fn fill(&self, volume: &str, seed: u64) {
        let size = self.run(&format!(
            "lvs --noheadings --nosuffix --units b -o lv_size vg0/{volume}"
        ));
        let size: u64 = size.trim().parse().expect("a number");
        let words = (0..size / 8).map(|at| at.wrapping_mul(0x9e37_79b9) ^ seed);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        self.copy(&bytes, volume);
    }

    fn copy(&self, bytes: &[u8], volume: &str) {
        let file = self.0.join("content");
        fs::write(&file, bytes).expect("there is space for it");
        let copy = self.0.ashlar().arg("cp").arg(file);
        copy.arg(format!("vg0/{volume}")).succeed();
    }

    fn sum(&self, volume: &str) -> String {
        let cat = self.0.ashlar().args(["cat", &format!("vg0/{volume}")]);
        sha256(&cat.succeed().stdout)
    }
}

/// What an array gets when it grows after it became smaller is brought in sync, though superblocks
/// and bitmaps covered as much before: any disk may be lost afterwards.
#[test]
fn what_comes_back_is_brought_in_sync() {
    for (name, options) in ARRAYS {
        let world = World(Group::new("raid-size", DISKS, SIZE));
        world.run(&format!("lvcreate {options} -L 24m -n {name} vg0"));
        world.fill(name, 1);
        world.run(&format!("sync vg0/{name}"));
        world.run(&format!("lvreduce -y -L 12m vg0/{name}"));
        // What is behind it becomes anything, on each disk something else.
        world.run("lvcreate -l 100%FREE -n other vg0");
        world.fill("other", 0x5a5a_0000_1234);
        world.run("lvremove -y vg0/other");
        world.run(&format!("lvextend -L 24m vg0/{name}"));
        world.copy(&[7; 512], name);
        world.run(&format!("sync vg0/{name}"));
        let whole = world.sum(name);
        let said = world.run(&format!("scrub vg0/{name}"));
        assert!(!said.contains("not compared"), "{name}: {said}");
        for disk in 0..DISKS {
            let (image, away) = (world.0.disk(disk), world.0.join("away"));
            fs::rename(&image, &away).expect("it is taken away");
            assert_eq!(world.sum(name), whole, "{name} without disk {disk}");
            fs::rename(&away, &image).expect("it is brought back");
        }
    }
}

/// Regions become larger and smaller while nobody uses the array; what a kill left marked in the
/// old ones is brought in sync by the new ones.
#[test]
fn regions_of_another_size_keep_what_is_marked() {
    for (name, options) in ARRAYS {
        let world = World(Group::new("raid-region", DISKS, SIZE));
        world.run(&format!("lvcreate {options} -L 24m -R 512k -n {name} vg0"));
        world.fill(name, 1);
        world.run(&format!("sync vg0/{name}"));
        for size in ["64.00k", "2.00m"] {
            let node = world.0.attach(name);
            let volume = fs::OpenOptions::new().write(true).open(&node);
            let volume = volume.expect("a volume");
            for at in 0..16 {
                volume
                    .write_all_at(&[at; 4096], u64::from(at) << 20)
                    .expect("it is written");
            }
            volume.sync_all().expect("it is durable");
            drop(volume);
            world.0.kill(name);
            let refused = world.0.ashlar().args(["lvconvert", "-R", size]);
            let refused = refused.arg(format!("vg0/{name}")).exit(5).complaints();
            assert!(refused.contains("NOT converted"), "{refused}");
            world.run(&format!("lvconvert -y -R {size} vg0/{name}"));
            let said = world.run(&format!("lvs --noheadings -o region_size vg0/{name}"));
            assert_eq!(said.trim(), size, "{name}");
            world.run(&format!("sync vg0/{name}"));
            let said = world.run(&format!("scrub vg0/{name}"));
            assert!(said.contains("no mismatches"), "{name}: {said}");
            assert!(!said.contains("not compared"), "{name}: {said}");
        }
    }
}
