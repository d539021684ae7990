//! What is found below files and disks, in a made-up sysfs and on this machine.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::super::{Access, FileDevice};
use super::{DEPTH_MAX, UNKNOWN, below_disk, disk, file_on, is_disk, sys_folder};
use crate::Device;

/// A folder that goes away with the test.
struct Sysfs(PathBuf);

impl Sysfs {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("medium-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    fn disk(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.0.join(name);
        for (file, text) in files {
            let path = folder.join(file);
            let parent = path.parent().expect("it has one");
            std::fs::create_dir_all(parent).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        folder
    }
}

impl Drop for Sysfs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const QUEUE: &str = "queue/physical_block_size";

/// The largest block on the way down counts: of the disk, of what it is built on, of its
/// partition's disk, of a server that says nothing.
#[test]
fn the_largest_block_below_counts() {
    let sysfs = Sysfs::new("largest");
    let small = sysfs.disk("sda", &[(QUEUE, "512\n"), ("sda1/partition", "1\n")]);
    let large = sysfs.disk("sdb", &[(QUEUE, "16384\n")]);
    assert_eq!(disk(&small, 0), 512);
    assert_eq!(disk(&small.join("sda1"), 0), 512);
    assert_eq!(disk(&large, 0), 16384);
    let mapped = sysfs.disk("dm-0", &[(QUEUE, "512\n"), ("slaves/none", "")]);
    std::os::unix::fs::symlink(&large, mapped.join("slaves/sdb")).expect("a link");
    assert_eq!(disk(&mapped, 0), 16384);
    let remote = sysfs.disk("nbd0", &[(QUEUE, "512\n"), ("dev", "43:0\n")]);
    assert_eq!(disk(&remote, 0), UNKNOWN);
    let lost = [(QUEUE, "512\n"), ("loop/backing_file", "/gone (deleted)\n")];
    assert_eq!(disk(&sysfs.disk("loop0", &lost), 0), UNKNOWN);
    assert_eq!(disk(&mapped, DEPTH_MAX), UNKNOWN, "it ends");
}

/// What lies at the bottom of a stack of devices counts, as long as the stack is no deeper than any
/// that somebody builds; of a deeper one nothing is known.
#[test]
fn stacks_have_a_bottom() {
    let sysfs = Sysfs::new("stack");
    let mut top = sysfs.disk("sda", &[(QUEUE, "16384\n")]);
    let mut found = Vec::new();
    for height in 0..=DEPTH_MAX {
        let over = sysfs.disk(&format!("dm-{height}"), &[(QUEUE, "512\n")]);
        std::fs::create_dir(over.join("slaves")).expect("a directory");
        std::os::unix::fs::symlink(&top, over.join("slaves/below")).expect("a link");
        found.push(disk(&over, 0));
        top = over;
    }
    let unknown = found.pop();
    assert!(found.iter().all(|&block| block == 16384), "{found:?}");
    assert_eq!(unknown, Some(UNKNOWN));
}

/// A file has the block of its file system or of the disk, whichever is larger; a file system that
/// says nothing, or nonsense, has the usual one.
#[test]
fn a_file_has_the_block_of_what_holds_it() {
    let sysfs = Sysfs::new("file");
    let small = sysfs.disk("sda", &[(QUEUE, "512\n")]);
    let large = sysfs.disk("sdb", &[(QUEUE, "4096\n")]);
    for (block, on, wanted) in [
        (512, &small, 512),
        (1024, &small, 1024),
        (4096, &small, 4096),
        (1024, &large, 4096),
        (65536, &large, 65536),
        (0, &small, UNKNOWN),
        (3000, &small, UNKNOWN),
        (1 << 20, &small, UNKNOWN),
    ] {
        assert_eq!(file_on(on, block, 0), wanted, "{block} on {}", on.display());
    }
    assert_eq!(file_on(Path::new("/nowhere"), 512, 0), UNKNOWN);
}

/// An image on this machine has at least its file system's block, and never less than its disk's.
#[test]
fn an_image_is_no_disk_of_512_bytes() {
    let sysfs = Sysfs::new("image");
    let path = sysfs.0.join("image");
    let file = std::fs::File::create(&path).expect("a file");
    file.set_len(1 << 20).expect("grows");
    let block = rustix::fs::fstatvfs(file.as_fd()).expect("says").f_frsize;
    let device = FileDevice::open(&path, Access::ReadWrite).expect("opens");
    assert!(u64::from(device.info().physical_block) >= block.clamp(512, 65536));
    assert_eq!(device.info().logical_block, 512);
}

/// A device number that no disk has says nothing; one that a disk has says what its folder says.
#[test]
fn disks_are_found_by_their_number() {
    assert_eq!(sys_folder(7, 12), "/sys/dev/block/7:12");
    assert_eq!(below_disk(4095, 1_048_575), UNKNOWN);
    assert!(!is_disk(4095, 1_048_575));
    for entry in std::fs::read_dir("/sys/dev/block")
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().into_string().expect("two numbers");
        let (major, minor) = name.split_once(':').expect("two numbers");
        let (major, minor) = (major.parse().expect("one"), minor.parse().expect("one"));
        // Loop devices of other tests come and go.
        if major != 7 {
            assert!(is_disk(major, minor));
            assert_eq!(below_disk(major, minor), disk(&entry.path(), 0), "{name}");
        }
    }
}
