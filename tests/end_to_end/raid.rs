//! RAID volumes that stock LVM2 made: whole, with disks missing, overwritten and out of date.

use std::fs;
use std::path::{Path, PathBuf};

use tests::{Golden, RAID_SETS, RaidSet, RaidVolume, Scratch, Tool, ashlar, sha256};

/// Disks of the golden group.
const DISKS: usize = 5;

/// The program on these images, with nothing of the machine.
pub(super) fn on(images: &[PathBuf], folder: &Path) -> Tool {
    let names: Vec<String> = images.iter().map(|i| i.display().to_string()).collect();
    ashlar()
        .env("ASHLAR_DEVICES", names.join(":"))
        .env("LVM_SYSTEM_DIR", folder)
        .env("XDG_STATE_HOME", folder)
}

/// The RAID volumes and mirrors, and how many of any disks they may lose.
fn arrays() -> Vec<(&'static str, usize)> {
    vec![
        ("mirror2", 1),
        ("raid1", 1),
        ("raid1x3", 2),
        ("raid4", 1),
        ("raid5", 1),
        ("raid5_la", 1),
        ("raid5_ra", 1),
        ("raid5_rs", 1),
        ("raid6", 2),
        ("raid10", 1),
    ]
}

/// Whether a volume reads as the kernel presented it.
fn assert_reads(images: &[PathBuf], folder: &Path, name: &str, what: &str) {
    let read = on(images, folder).args(["cat", &format!("vg0/{name}")]);
    let content = read.succeed().stdout;
    let volume = Golden::volume(name);
    assert_eq!(content.len() as u64, volume.size, "{name} {what}");
    assert_eq!(sha256(&content), volume.sha256, "{name} {what}");
}

/// All sets of at most `count` disks.
fn sets(count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for disk in 0..DISKS {
        let with = |set: &Vec<usize>| [set.clone(), vec![disk]].concat();
        let more: Vec<_> = all
            .iter()
            .filter(|set| set.len() < count)
            .map(with)
            .collect();
        all.extend(more);
    }
    all
}

/// Every array reads as the kernel presented it: whole, and without any of the disks that it may
/// lose.
#[test]
fn arrays_read_without_the_disks_that_they_may_lose() {
    let (golden, folder) = (Golden::shared(), Scratch::new("raid"));
    assert_reads(&golden.images(), folder.path(), "raid0", "whole");
    for (name, losses) in arrays() {
        for absent in sets(losses) {
            let left = (0..DISKS).filter(|disk| !absent.contains(disk));
            let images: Vec<PathBuf> = left.map(|disk| golden.image(disk)).collect();
            let what = format!("without disks {absent:?}");
            assert_reads(&images, folder.path(), name, &what);
        }
    }
}

/// A disk that was overwritten, label included, is as good as one that is gone.
#[test]
fn arrays_read_beside_an_overwritten_disk() {
    let (golden, folder) = (Golden::shared(), Scratch::new("raid-overwritten"));
    for disk in 0..DISKS {
        let mut images = golden.images();
        let copy = folder.join("overwritten.img");
        let size = fs::metadata(&images[disk]).expect("an image").len() as usize;
        let noise: Vec<u8> = (0..size).map(|at| (at / 512 * 31 + at) as u8).collect();
        fs::write(&copy, noise).expect("a disk of noise");
        images[disk] = copy;
        for (name, _) in arrays() {
            let what = format!("with disk {disk} overwritten");
            assert_reads(&images, folder.path(), name, &what);
        }
    }
}

/// Where too much is missing nothing is made up: reading fails and says which images are missing.
#[test]
fn nothing_is_made_up_where_too_much_is_missing() {
    let (golden, folder) = (Golden::shared(), Scratch::new("raid-lost"));
    for (name, absent) in [
        ("raid0", vec![0]),
        ("raid1", vec![0, 1]),
        ("raid5", vec![0, 2]),
        ("raid6", vec![0, 1, 4]),
        ("raid10", vec![0, 1]),
    ] {
        let left = (0..DISKS).filter(|disk| !absent.contains(disk));
        let images: Vec<PathBuf> = left.map(|disk| golden.image(disk)).collect();
        let volume = format!("vg0/{name}");
        let refused = on(&images, folder.path()).args(["cat", &volume]).exit(5);
        let said = refused.complaints();
        assert!(
            said.contains(name) && said.contains("missing"),
            "{name}: {said}"
        );
    }
}

/// The disks of a set, without what is said of them.
fn read_of_set(images: &[PathBuf], folder: &Path, volume: &RaidVolume) -> String {
    let mut content = on(images, folder)
        .args(["cat", &volume.name])
        .succeed()
        .stdout;
    content.truncate(volume.bytes as usize);
    assert_eq!(content.len() as u64, volume.bytes, "{}", volume.name);
    sha256(&content)
}

/// Whatever state a stock kernel left an array in, it reads as it did for that kernel: in sync,
/// cut in the middle of writes, of its first synchronisation, of a rebuild and of a reshape,
/// written without a disk. With that disk back as it was before it reads the same, even where the
/// kernel believes the disk and reads old bytes for new ones (`blind`).
#[test]
fn arrays_read_as_a_stock_kernel_left_them() {
    let folder = Scratch::new("raid-left");
    let mut count = 0;
    for name in RAID_SETS {
        let set = RaidSet::shared(name);
        for volume in set.volumes() {
            for images in [set.present(), set.images()] {
                let sum = read_of_set(&images, folder.path(), &volume);
                assert_eq!(
                    sum,
                    volume.sha256,
                    "{} of {} disks",
                    volume.name,
                    images.len()
                );
                count += 1;
            }
        }
    }
    assert!(count >= 120, "{count} arrays were read");
}

/// Any disk may be missing, too: of arrays in sync and in the middle of a reshape nothing is lost,
/// but of those without redundancy, which are refused.
#[test]
fn arrays_that_a_stock_kernel_left_read_without_any_disk() {
    let folder = Scratch::new("raid-left-without");
    let mut refused = 0;
    for name in ["levels", "reshape"] {
        let set = RaidSet::shared(name);
        let disks = set.images();
        for volume in set.volumes() {
            for lost in 0..disks.len() {
                let mut left = disks.clone();
                left.remove(lost);
                if volume.segment_type == "raid0_meta" {
                    let read = on(&left, folder.path()).args(["cat", &volume.name]).run();
                    refused += usize::from(read.code != Some(0));
                    continue;
                }
                let sum = read_of_set(&left, folder.path(), &volume);
                assert_eq!(sum, volume.sha256, "{} without disk {lost}", volume.name);
            }
        }
    }
    assert_eq!(refused, 3, "raid0_meta is on three disks");
}
