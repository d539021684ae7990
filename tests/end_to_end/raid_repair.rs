//! What does not go together is repaired, and images are replaced while the array is used.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use tests::{Group, sha256};

const DISKS: usize = 6;
const SIZE: u64 = 48 << 20;
const ALIKE: i32 = 0;
const FOUND: i32 = 1;
/// Each array, how it is made, and whether it can be known which of its legs is wrong.
const ARRAYS: [(&str, &str, bool); 5] = [
    ("two", "--type raid1 -m 1 -L 8m", false),
    ("three", "--type raid1 -m 2 -L 8m", true),
    ("five", "--type raid5 -i 3 -L 12m", false),
    ("six", "--type raid6 -i 3 -L 12m", true),
    ("ten", "--type raid10 -i 2 -m 1 -L 8m", false),
];

struct World(Group);

impl World {
    fn new(name: &str) -> Self {
        Self(Group::new(name, DISKS, SIZE))
    }

    fn run(&self, line: &str) -> String {
        self.0.ashlar().args(line.split(' ')).succeed().text()
    }

    /// Makes an array full of something, in sync.
    fn array(&self, name: &str, options: &str) {
        self.run(&format!("lvcreate {options} -n {name} vg0"));
        let bytes: Vec<u8> = (0..12_u32 << 18)
            .flat_map(|at| at.wrapping_mul(40503).to_le_bytes())
            .collect();
        let size = self.run(&format!(
            "lvs --noheadings --nosuffix --units b -o lv_size vg0/{name}"
        ));
        let size: usize = size.trim().parse().expect("a number");
        let file = self.0.join("content");
        fs::write(&file, &bytes[..size]).expect("there is space for it");
        let copy = self.0.ashlar().arg("cp").arg(file);
        copy.arg(format!("vg0/{name}")).succeed();
        self.run(&format!("sync vg0/{name}"));
    }

    fn sum(&self, name: &str) -> String {
        let cat = self.0.ashlar().args(["cat", &format!("vg0/{name}")]);
        sha256(&cat.succeed().stdout)
    }

    fn scrub(&self, name: &str, more: &[&str], code: i32) -> String {
        let scrub = self.0.ashlar().arg("scrub").args(more);
        let ended = scrub.arg(format!("vg0/{name}")).exit(code);
        ended.text() + &ended.complaints()
    }

    /// Damages an image here and there.
    fn damage(&self, image: &str) {
        let (disk, start) = self.0.place(image);
        let disk = OpenOptions::new().write(true).open(disk).expect("a disk");
        for (at, byte) in [
            (4096_u64, 0xa1),
            (300_000, 0xa2),
            (300_512, 0xa3),
            (2 << 20, 0xa4),
        ] {
            let bytes = [byte; 512];
            disk.write_all_at(&bytes, start + at / 512 * 512)
                .expect("it is written");
        }
    }

    fn assert_redundant(&self, name: &str) {
        let whole = self.sum(name);
        for disk in 0..DISKS {
            let (image, away) = (self.0.disk(disk), self.0.join("away"));
            fs::rename(&image, &away).expect("it is taken away");
            assert_eq!(self.sum(name), whole, "{name} without disk {disk}");
            fs::rename(&away, &image).expect("it is brought back");
        }
    }
}

/// What was damaged on one image is found, its repair is shown and done when that is agreed to, and
/// then everything goes together; nothing is lost where it can be known which image was wrong.
#[test]
fn damaged_images_are_repaired() {
    let world = World::new("raid-repair");
    for (name, options, is_known) in ARRAYS {
        world.array(name, options);
        let before = world.sum(name);
        world.scrub(name, &[], ALIKE);
        world.damage(&format!("{name}_rimage_1"));
        world.scrub(name, &[], FOUND);
        // Nobody agrees: nothing is written.
        let said = world.scrub(name, &["--repair"], FOUND);
        assert!(said.contains("sectors to repair"), "{said}");
        assert!(said.contains("was not changed"), "{said}");
        assert_eq!(said.contains("nobody can know"), !is_known, "{said}");
        world.scrub(name, &[], FOUND);
        if is_known {
            world.scrub(name, &["--repair", "-y"], ALIKE);
            assert_eq!(world.sum(name), before, "{name}: nothing is lost");
        } else {
            let said = world.run(&format!("lvchange -y --syncaction repair vg0/{name}"));
            assert!(said.contains("no mismatches"), "{said}");
        }
        world.scrub(name, &["--repair"], ALIKE);
        world.assert_redundant(name);
    }
}

/// An image is replaced while the array is in use and regions of it are marked; what was written
/// before and after is there without any disk.
#[test]
fn images_are_replaced_while_they_are_used() {
    let world = World::new("raid-replace");
    for (name, options, _) in ARRAYS {
        world.array(name, options);
        let node = world.0.attach(name);
        let volume = OpenOptions::new()
            .write(true)
            .open(&node)
            .expect("a volume");
        let write = |at: u64, byte: u8| {
            volume
                .write_all_at(&[byte; 8192], at)
                .expect("it is written");
            volume.sync_all().expect("it is durable");
        };
        write(64 << 10, 0x11);
        let (disk, _) = world.0.place(&format!("{name}_rimage_0"));
        let line = format!("lvconvert -y --replace {} vg0/{name}", disk.display());
        world.run(&line);
        write(5 << 20, 0x22);
        drop(volume);
        world.run(&format!("sync vg0/{name}"));
        world.0.detach(name);
        // What was noted last may be that the image is still to be filled.
        world.run(&format!("sync vg0/{name}"));
        world.scrub(name, &[], ALIKE);
        let bytes = world
            .0
            .ashlar()
            .args(["cat", &format!("vg0/{name}")])
            .succeed()
            .stdout;
        assert_eq!(bytes[64 << 10..][..8192], [0x11; 8192], "{name}");
        assert_eq!(bytes[5 << 20..][..8192], [0x22; 8192], "{name}");
        world.assert_redundant(name);
        world.run(&format!("lvremove -y vg0/{name}"));
    }
}

/// An array that was written without a disk, and whose server was killed, gets another image while
/// it is used: what is marked, and waits for the image that is away, is no reason to wait for it.
#[test]
fn lost_images_are_replaced_while_they_are_used() {
    let world = World::new("raid-lost");
    for (name, options, _) in ARRAYS {
        world.array(name, options);
        let (image, _) = world.0.place(&format!("{name}_rimage_0"));
        let away = world.0.join("away");
        fs::rename(&image, &away).expect("it is taken away");
        let mut held = Vec::new();
        for byte in [0x11, 0x22, 0x33] {
            let node = world.0.attach(name);
            let volume = OpenOptions::new().write(true).open(&node);
            let volume = volume.expect("a volume");
            let start = (u64::from(byte) << 16) + 4096;
            volume
                .write_all_at(&[byte; 8192], start)
                .expect("it is written");
            volume.sync_all().expect("it is durable");
            held.push((start as usize, byte));
            drop(volume);
            match byte {
                0x11 => world.0.detach(name),
                0x22 => world.0.kill(name),
                _ => {
                    world.run(&format!("lvconvert -y --repair vg0/{name}"));
                    world.run(&format!("sync vg0/{name}"));
                    world.0.detach(name);
                }
            }
        }
        world.run(&format!("sync vg0/{name}"));
        world.scrub(name, &[], ALIKE);
        let cat = world.0.ashlar().args(["cat", &format!("vg0/{name}")]);
        let bytes = cat.succeed().stdout;
        for (start, byte) in held {
            assert_eq!(bytes[start..][..8192], [byte; 8192], "{name}");
        }
        world.run(&format!("lvremove -y vg0/{name}"));
        world.run("vgreduce --removemissing vg0");
        fs::rename(&away, &image).expect("it is brought back");
        world.run("vgck --updatemetadata vg0");
        world.run(&format!("vgextend vg0 {}", image.display()));
    }
}

/// A copy is set aside, and read while the others are written: it holds what the volume held. It
/// comes back and gets what was written meanwhile, and then any disk may be lost; nothing else is
/// done to the array meanwhile, and nothing of it in use.
#[test]
fn a_copy_is_read_while_the_others_are_written() {
    let world = World::new("raid-track");
    world.array("three", "--type raid1 -m 2 -L 8m");
    let before = world.sum("three");
    let node = world.0.attach("three");
    let tool = |line: &str| world.0.ashlar().args(line.split(' '));
    let said = world.run("lvconvert --splitmirrors 1 --trackchanges vg0/three");
    assert!(
        said.contains("three_rimage_2 split from three for read-only"),
        "{said}"
    );
    let said = tool("lvextend -l +1 vg0/three").exit(5).complaints();
    assert!(said.contains("tracks changes of its image"), "{said}");
    let volume = OpenOptions::new()
        .write(true)
        .open(&node)
        .expect("a volume");
    volume
        .write_all_at(&vec![0x77; 65536], 3 << 20)
        .expect("it is written");
    volume.sync_all().expect("it is durable");
    assert_eq!(world.sum("three_rimage_2"), before, "the copy stays");
    assert_ne!(world.sum("three"), before, "the others go on");
    let said = world.run("lvconvert --merge vg0/three_rimage_2");
    assert!(
        said.contains("successfully merged back into vg0/three"),
        "{said}"
    );
    volume
        .write_all_at(&vec![0x78; 65536], 5 << 20)
        .expect("it is written");
    drop(volume);
    world.run("sync vg0/three");
    world.0.detach("three");
    world.scrub("three", &[], ALIKE);
    world.assert_redundant("three");
    assert_eq!(world.sum("three_rimage_2"), world.sum("three"));
}
