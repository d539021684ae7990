//! What a block device says of the requests that it likes, from `/sys`.
//!
//! ```text
//!   queue/minimum_io_size  optimal_io_size  logical_block_size   bytes; of a partition, its disk's
//!   alignment_offset                                             bytes; -1: cannot be aligned
//!   md/level  raid_disks  chunk_size  layout                     an array of md's
//! ```
//!
//! Source: `Documentation/ABI/stable/sysfs-block` and `Documentation/admin-guide/md.rst` of Linux.

use std::path::Path;

use lvm2::plan::initialise::Topology;
use lvm2::{SECTOR_SIZE, Sectors};

use super::location::DeviceNumber;
use super::sysfs::{Sysfs, read};

impl Sysfs {
    /// To what data on this device is aligned best; zeros where it does not say.
    pub fn topology(&self, number: DeviceNumber) -> Topology {
        let Some(folder) = self.folder(number) else {
            return Topology::default();
        };
        let sectors = |file: &str| Sectors(of_disk(&folder, file).unwrap_or(0) / SECTOR_SIZE);
        let offset = number_in(&folder.join("alignment_offset"));
        Topology {
            md_stripe_width: Sectors(stripe_width(&folder).unwrap_or(0) / SECTOR_SIZE),
            minimum_io: sectors("queue/minimum_io_size"),
            optimal_io: sectors("queue/optimal_io_size"),
            alignment_offset: Sectors(offset.unwrap_or(0) / SECTOR_SIZE),
        }
    }

    /// The bytes of its smallest write that is not a read and a write; of what says nothing, 512.
    pub fn logical_block(&self, number: DeviceNumber) -> u64 {
        let folder = self.folder(number);
        let size = folder.and_then(|folder| of_disk(&folder, "queue/logical_block_size"));
        size.unwrap_or(SECTOR_SIZE)
    }
}

/// The number in a file of a device's folder; of a partition's, in its disk's, one folder up.
fn of_disk(folder: &Path, file: &str) -> Option<u64> {
    let above = || number_in(&folder.parent()?.join(file));
    number_in(&folder.join(file)).or_else(above)
}

fn number_in(path: &Path) -> Option<u64> {
    read(path)?.parse().ok()
}

/// The bytes of a full stripe of the array that a device is, or lies on as a partition.
fn stripe_width(folder: &Path) -> Option<u64> {
    let level = read(&folder.join("md/level"));
    let level = level.or_else(|| read(&folder.parent()?.join("md/level")))?;
    let disks = of_disk(folder, "md/raid_disks")?;
    let data = match &*level {
        "raid0" => disks,
        "raid4" | "raid5" => disks.checked_sub(1)?,
        "raid6" => disks.checked_sub(2)?,
        "raid10" => {
            // The two lowest bytes: near and far copies.
            let layout = of_disk(folder, "md/layout")?;
            disks / ((layout & 0xff) * (layout >> 8 & 0xff)).max(1)
        }
        _ => return None,
    };
    debug_assert!(data <= disks, "no more data than disks");
    of_disk(folder, "md/chunk_size")?.checked_mul(data)
}

#[cfg(test)]
mod tests;
