//! Arrays whose images count again, while the command that lets them is killed.

use std::fs;
use std::path::PathBuf;

use tests::verifier::Random;

use super::array_bench::{Arrays, cuts};
use super::seed;

/// Each volume, and how it is made.
const VOLUMES: [(&str, &str); 3] = [
    ("five", "--type raid5 -i 2 -L 8m"),
    ("six", "--type raid6 -i 3 -L 12m"),
    ("ten", "--type raid10 -i 2 -m 1 -L 8m"),
];
/// Of each volume, the images that are away while others are written, and those whose disks are
/// older copies then: with both not believed there are too few.
const BEHIND: [(&str, &[usize], &[usize]); 3] = [
    ("five", &[2], &[1]),
    ("six", &[3, 4], &[1]),
    ("ten", &[1], &[0]),
];

struct Resets(Arrays);

impl Resets {
    fn run(&self, line: &str) -> String {
        let tool = self.0.group.ashlar().args(line.split(' '));
        tool.succeed().text()
    }

    fn disks(&self, volume: &str, images: &[usize]) -> Vec<PathBuf> {
        let disk = |image| self.0.group.place(&format!("{volume}_rimage_{image}")).0;
        images.iter().map(disk).collect()
    }

    fn is_used(&self, volume: &str) -> bool {
        let cat = self
            .0
            .group
            .ashlar()
            .args(["cat", &format!("vg0/{volume}")]);
        cat.run().code == Some(0)
    }

    /// Too few images are believed, though all disks are back, and all hold the same as before.
    fn fall_behind(&self, volume: &str, away: &[usize], older: &[usize]) {
        let (away, older) = (self.disks(volume, away), self.disks(volume, older));
        let place = |disk: &PathBuf| {
            let name = disk.file_name().expect("a file").display().to_string();
            self.0.group.join(format!("{name}.other"))
        };
        for disk in &older {
            fs::copy(disk, place(disk)).expect("it is copied");
        }
        for disk in &away {
            fs::rename(disk, place(disk)).expect("it is taken away");
        }
        let content = self.0.group.join(volume).display().to_string();
        for _ in ["once", "and once more, since one record less may be a cut"] {
            self.run(&format!("cp {content} vg0/{volume}"));
        }
        for disk in away.iter().chain(&older) {
            fs::rename(place(disk), disk).expect("it is brought back");
        }
        assert!(!self.is_used(volume), "{volume}: too few are believed");
    }
}

/// Too many images of arrays fell behind, which nobody wrote otherwise; a reset that is killed
/// leaves the array that nobody can use, or all of it, and then it is as redundant as before.
#[test]
fn resets_of_arrays_survive_kills() {
    let mut random = Random::new(seed());
    let resets = Resets(Arrays::new("survive-resets", &VOLUMES));
    for (place, (volume, _)) in VOLUMES.iter().enumerate() {
        let size = resets.0.field(volume, "lv_size");
        let size: u64 = size.trim_end_matches(".00m").parse().expect("a number");
        let words = (0..size << 17).map(|at| at.wrapping_mul(0x9e37_79b9) ^ place as u64);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let file = resets.0.group.join(volume);
        fs::write(&file, bytes).expect("there is space for it");
        resets.run(&format!("cp {} vg0/{volume}", file.display()));
    }
    resets.0.sync();
    let whole = resets.0.sums();
    let mut ended = 0;
    for _ in 0..cuts() {
        for (volume, away, older) in BEHIND {
            resets.fall_behind(volume, away, older);
            let line = format!("lvchange -y --resetfaileddevices vg0/{volume}");
            resets.0.kill_in(&line, &mut random);
            let is_done = resets.is_used(volume);
            ended += u64::from(is_done);
            if !is_done {
                resets.run(&line);
            }
            resets.0.sync();
            assert_eq!(resets.0.sums(), whole, "{volume}");
        }
    }
    println!("{ended} commands were done when they were killed");
    resets.0.assert_redundant();
}
