//! What resizing has to know of a file system beside its size: which of its devices this is, and
//! what has to stay when it is made anew.
//!
//! btrfs numbers its devices, and its own tool wants the number. A swap area has no tool that
//! resizes it: it is made anew, with the UUID and the label by which `/etc/fstab` knows it.

use lvm2::Bytes;

use super::superblock::{BTRFS_AT, BTRFS_LENGTH, FileSystem, SWAP_AT, file_systems, swap_page};

/// The part of a btrfs file system that is on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Btrfs {
    /// The number of this device in it.
    pub device: u64,
    /// How many devices it has.
    pub devices: u64,
}

/// A swap area that this machine's `mkswap` would make: version 1, its numbers little-endian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The page size, in bytes.
    pub page: u64,
    /// The UUID; zeros where there is none.
    pub uuid: [u8; 16],
    /// The label; empty where there is none, 16 bytes at most.
    pub label: Vec<u8>,
}

/// What is in a volume.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// The file systems.
    pub found: Vec<FileSystem>,
    /// Of the one that is btrfs.
    pub btrfs: Option<Btrfs>,
    /// Of the one that is swap.
    pub swap: Option<Swap>,
}

/// What is found on something of `size` bytes that `read` reads; as [`file_systems`].
pub fn content(size: Bytes, mut read: impl FnMut(Bytes, usize) -> Option<Vec<u8>>) -> Content {
    let found = file_systems(size, &mut read);
    let has = |name| found.iter().any(|found| found.name == name);
    let mut read = |at: u64, length: usize| {
        let end = at.checked_add(length as u64)?;
        let bytes = (end <= size.0).then(|| read(Bytes(at), length)).flatten()?;
        (bytes.len() == length).then_some(bytes)
    };
    let btrfs = has("btrfs").then(|| read(BTRFS_AT, BTRFS_LENGTH).and_then(|bytes| btrfs(&bytes)));
    let swap = has("swap").then(|| swap(&mut read));
    Content {
        btrfs: btrfs.flatten(),
        swap: swap.flatten(),
        found,
    }
}

fn btrfs(bytes: &[u8]) -> Option<Btrfs> {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    Some(Btrfs {
        device: number(0xc9)?,
        devices: number(0x88)?,
    })
}

fn swap(read: &mut impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<Swap> {
    let page = swap_page(read)?;
    let bytes = read(SWAP_AT, 44)?;
    let version = u32::from_le_bytes(bytes[..4].try_into().ok()?);
    let label = bytes[28..44].split(|byte| *byte == 0).next();
    (version == 1).then_some(Swap {
        page,
        uuid: bytes[12..28].try_into().ok()?,
        label: label.unwrap_or_default().to_vec(),
    })
}
