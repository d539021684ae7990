//! What the medium below a file writes at once, and so may lose as a whole.
//!
//! ```text
//!   file ──▶ file system ──▶ disk ──▶ …
//!            its block       physical block of sysfs
//!   /dev/loopN ──▶ file ──▶ …          /dev/dm-N, /dev/mdN ──▶ slaves ──▶ …
//! ```
//!
//! The largest of what is found on the way counts. A file system's block counts, too: where it is
//! written through the page cache, or moved, the whole of it is on its way. What says nothing (a
//! network, a file system that is no disk's, a server behind `/dev/nbd0`) counts as
//! [`UNKNOWN`]. What says too little is believed: no program can see behind it.
//!
//! Asks no file system that is on no disk: one in user space may not answer.

use std::fs::{read_dir, read_to_string};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags, statvfs, statx};

use super::probe::SECTOR;

/// What is assumed of a medium that says nothing: the block of today's disks and file systems.
pub(super) const UNKNOWN: u32 = 4096;
/// File systems with larger blocks do not write them in place, and metadata areas have no room for
/// blocks that size.
const BLOCK_MAX: u64 = 64 << 10;
/// How many devices may lie over each other; more is a mistake of sysfs.
const DEPTH_MAX: u32 = 8;
/// The kernel's NBD disks: their blocks are what the client was told.
const NBD_MAJOR: &str = "43:";

/// What may be lost as a whole of a file on the device with this number, whose file system says
/// that its blocks have `block` bytes (0: it was not asked).
pub(super) fn below_file(major: u32, minor: u32, block: u64) -> u32 {
    file_on(Path::new(&sys_folder(major, minor)), block, 0)
}

/// What may be lost as a whole of the disk with this number, which may stand on others.
pub(super) fn below_disk(major: u32, minor: u32) -> u32 {
    let folder = sys_folder(major, minor);
    let folder = Path::new(&folder);
    if folder.exists() {
        disk(folder, 0)
    } else {
        UNKNOWN
    }
}

/// Whether a device with this number is a disk.
pub(super) fn is_disk(major: u32, minor: u32) -> bool {
    Path::new(&sys_folder(major, minor)).exists()
}

fn file_on(folder: &Path, block: u64, depth: u32) -> u32 {
    let is_sound = (SECTOR..=BLOCK_MAX).contains(&block) && block.is_power_of_two();
    let block = if is_sound { block as u32 } else { UNKNOWN };
    if folder.exists() {
        block.max(disk(folder, depth))
    } else {
        block.max(UNKNOWN)
    }
}

fn disk(folder: &Path, depth: u32) -> u32 {
    // A partition has no `queue` of its own, but its disk, one folder up, has.
    let whole = if folder.join("queue").exists() {
        folder.to_owned()
    } else {
        folder.join("..")
    };
    let text = |file: &str| read_to_string(whole.join(file)).unwrap_or_default();
    let own: u32 = text("queue/physical_block_size")
        .trim()
        .parse()
        .unwrap_or(UNKNOWN);
    let is_remote = text("dev").starts_with(NBD_MAJOR);
    let mut largest = if is_remote { own.max(UNKNOWN) } else { own };
    if depth >= DEPTH_MAX {
        return largest.max(UNKNOWN);
    }
    let backing = text("loop/backing_file");
    if !backing.is_empty() {
        largest = largest.max(loop_over(Path::new(backing.trim_end_matches('\n')), depth));
    }
    for below in read_dir(whole.join("slaves"))
        .into_iter()
        .flatten()
        .flatten()
    {
        largest = largest.max(disk(&below.path(), depth + 1));
    }
    largest
}

/// What is below the file of a loop device. One that cannot be found by its name (it was removed,
/// or is another container's) is unknown.
fn loop_over(file: &Path, depth: u32) -> u32 {
    let flags = AtFlags::STATX_DONT_SYNC;
    let Ok(stat) = statx(CWD, file, flags, StatxFlags::BASIC_STATS) else {
        return UNKNOWN;
    };
    let folder = sys_folder(stat.stx_dev_major, stat.stx_dev_minor);
    let folder = Path::new(&folder);
    let block = if folder.exists() {
        statvfs(file).map_or(0, |found| found.f_frsize)
    } else {
        0
    };
    file_on(folder, block, depth + 1)
}

/// Where sysfs describes a block device.
pub(super) fn sys_folder(major: u32, minor: u32) -> String {
    format!("/sys/dev/block/{major}:{minor}")
}

#[cfg(test)]
mod tests;
