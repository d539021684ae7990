//! The superblocks, one function each.

use lvm2::Bytes;

/// How much of a volume a file system needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// So much, from the volume's first byte on; at least 1.
    At(Bytes),
    /// All of it: how much cannot be seen from outside.
    Open,
}

/// A file system, or something else that has a size of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// What it is called, as `blkid` says it: `ext4`, `xfs`, `btrfs`, `swap`, `crypto_LUKS`.
    pub name: &'static str,
    /// How much it needs.
    pub end: End,
}

impl FileSystem {
    /// Whether a volume of `size` bytes does not have all of it.
    pub fn is_cut_at(&self, size: Bytes) -> bool {
        match self.end {
            End::At(end) => end > size,
            End::Open => true,
        }
    }
}

const EXT_AT: u64 = 1024;
const EXT_LENGTH: usize = 0x154;
const EXT_MAGIC: u16 = 0xef53;
/// Blocks of 64 KiB are the largest.
const EXT_LOG_BLOCK_MAX: u32 = 6;
const EXT_HAS_JOURNAL: u32 = 0x4;
const EXT_JOURNAL_DEVICE: u32 = 0x8;
const EXT_64_BIT: u32 = 0x80;
/// Features that neither ext2 nor ext3 has: recovery, metadata groups and file types apart.
const EXT4_INCOMPATIBLE: u32 = !(0x2 | 0x4 | 0x10);
/// The same of those that only matter to writers: sparse superblocks, large files, B-trees apart.
const EXT4_READ_ONLY: u32 = !(0x1 | 0x2 | 0x4);
const XFS_LENGTH: usize = 16;
const XFS_BLOCKS: std::ops::RangeInclusive<u32> = 512..=65536;
pub(super) const BTRFS_AT: u64 = 65536;
pub(super) const BTRFS_LENGTH: usize = 0xd9;
const BTRFS_MAGIC: &[u8] = b"_BHRfS_M";
pub(super) const SWAP_AT: u64 = 1024;
const SWAP_LENGTH: usize = 8;
const SWAP_PAGES: [u64; 4] = [4096, 8192, 16384, 65536];
const SWAP_MAGIC: &[u8] = b"SWAPSPACE2";
const LUKS_MAGIC: &[u8] = b"LUKS\xba\xbe";
const LUKS_VERSIONS: [u16; 2] = [1, 2];

/// What is found on something of `size` bytes that `read` reads; `None` where a place cannot be
/// read, which then counts as if nothing were there.
pub fn file_systems(
    size: Bytes,
    mut read: impl FnMut(Bytes, usize) -> Option<Vec<u8>>,
) -> Vec<FileSystem> {
    let mut read = |at: u64, length: usize| {
        let end = at.checked_add(length as u64)?;
        let bytes = (end <= size.0).then(|| read(Bytes(at), length)).flatten()?;
        (bytes.len() == length).then_some(bytes)
    };
    let found = [
        read(0, 8).and_then(|bytes| luks(&bytes)),
        read(0, XFS_LENGTH).and_then(|bytes| xfs(&bytes)),
        read(EXT_AT, EXT_LENGTH).and_then(|bytes| ext(&bytes)),
        read(BTRFS_AT, BTRFS_LENGTH).and_then(|bytes| btrfs(&bytes)),
        swap(&mut read),
    ];
    found.into_iter().flatten().collect()
}

fn sized(name: &'static str, count: u64, unit: u64) -> Option<FileSystem> {
    // What no volume can have is nonsense.
    let end = count.checked_mul(unit).filter(|end| *end > 0)?;
    Some(FileSystem {
        name,
        end: End::At(Bytes(end)),
    })
}

fn ext(bytes: &[u8]) -> Option<FileSystem> {
    if u16_at(bytes, 0x38)? != EXT_MAGIC {
        return None;
    }
    let log = u32_at(bytes, 0x18)?;
    let (compatible, incompatible) = (u32_at(bytes, 0x5c)?, u32_at(bytes, 0x60)?);
    let read_only = u32_at(bytes, 0x64)?;
    if log > EXT_LOG_BLOCK_MAX || incompatible & EXT_JOURNAL_DEVICE != 0 {
        return None;
    }
    let high = match incompatible & EXT_64_BIT {
        0 => 0,
        _ => u64::from(u32_at(bytes, 0x150)?),
    };
    let blocks = high << 32 | u64::from(u32_at(bytes, 0x4)?);
    let is_ext4 = incompatible & EXT4_INCOMPATIBLE != 0 || read_only & EXT4_READ_ONLY != 0;
    let name = match (is_ext4, compatible & EXT_HAS_JOURNAL != 0) {
        (true, _) => "ext4",
        (false, true) => "ext3",
        (false, false) => "ext2",
    };
    sized(name, blocks, 1024 << log)
}

fn xfs(bytes: &[u8]) -> Option<FileSystem> {
    let block = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
    let blocks = u64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
    let is_one = bytes.starts_with(b"XFSB") && block.is_power_of_two();
    (is_one && XFS_BLOCKS.contains(&block))
        .then(|| sized("xfs", blocks, u64::from(block)))
        .flatten()
}

fn btrfs(bytes: &[u8]) -> Option<FileSystem> {
    if bytes.get(0x40..0x48)? != BTRFS_MAGIC {
        return None;
    }
    // Of this device, not of all that the file system has.
    let total = u64::from_le_bytes(bytes.get(0xd1..0xd9)?.try_into().ok()?);
    sized("btrfs", total, 1)
}

/// The page size of the machine that a swap area was made for, in bytes.
pub(super) fn swap_page(read: &mut impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<u64> {
    let is_there = |page: &u64| {
        let magic = read(page - SWAP_MAGIC.len() as u64, SWAP_MAGIC.len());
        magic.is_some_and(|magic| magic == SWAP_MAGIC)
    };
    SWAP_PAGES.into_iter().find(is_there)
}

fn swap(read: &mut impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<FileSystem> {
    let page = swap_page(read)?;
    let bytes = read(SWAP_AT, SWAP_LENGTH)?;
    let (version, last) = (u32_at(&bytes, 0)?, u32_at(&bytes, 4)?);
    // In the byte order of the machine that made it.
    let last = match version {
        1 => last,
        _ if version.swap_bytes() == 1 => last.swap_bytes(),
        _ => return None,
    };
    sized("swap", u64::from(last) + 1, page)
}

fn luks(bytes: &[u8]) -> Option<FileSystem> {
    let version = u16::from_be_bytes(bytes.get(6..8)?.try_into().ok()?);
    let is_one = bytes.starts_with(LUKS_MAGIC) && LUKS_VERSIONS.contains(&version);
    is_one.then_some(FileSystem {
        name: "crypto_LUKS",
        end: End::Open,
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
