//! The superblock of XFS: where everything else is.
//!
//! What later code multiplies, divides or allocates by is checked here, once.

use super::big_endian::{half, long, word};
use super::xfs::wrong;
use super::xfs_inode::{Inode, Shape};
use crate::error::{Error, Kind, Result};
use crate::trace::record::Class;

/// Groups are not smaller, in blocks.
const GROUP_BLOCKS_MIN: u64 = 64;

const FREE_INODES: u64 = 0x1;
const OWNERS: u64 = 0x2;
const SHARING: u64 = 0x4;
const SPARSE_INODES: u64 = 0x2;
/// What a reader must know, as far as it is known here: names' types, sparse inodes, another
/// identity, years, repair, counts of extents.
const INCOMPAT: u64 = 0x3f;

/// What the superblock says. Sizes are in bytes.
#[derive(Debug, Clone)]
pub(super) struct Superblock {
    pub(super) block_size: u64,
    pub(super) sector_size: u64,
    pub(super) inode_size: u64,
    pub(super) inodes_per_block: u64,
    pub(super) blocks: u64,
    pub(super) groups: u64,
    /// Blocks of each group but the last.
    pub(super) group_blocks: u64,
    /// Bits of a block's number within its group.
    group_bits: u32,
    inode_bits: u32,
    /// The log's first block and its length, if it is on this volume.
    pub(super) log: Option<(u64, u64)>,
    pub(super) uuid: [u8; 16],
    /// Version 5.
    pub(super) has_sums: bool,
    pub(super) has_free_inodes: bool,
    pub(super) has_owners: bool,
    pub(super) has_sharing: bool,
    pub(super) has_sparse_inodes: bool,
    /// Bitmap and summary of the real-time part.
    real_time_inodes: [u64; 2],
    quota_inodes: [u64; 3],
}

impl Superblock {
    /// Reads the first 512 bytes of a volume of `size` bytes.
    pub(super) fn decode(bytes: &[u8], size: u64) -> Result<Self> {
        let version = half(bytes, 100) & 0xf;
        if !matches!(version, 4 | 5) {
            let what = format!("XFS of version {version}; versions 4 and 5 are known");
            return Err(Error::new(Kind::Unsupported, what));
        }
        let has_sums = version == 5;
        let features = |at: usize| if has_sums { word(bytes, at) } else { 0 };
        let (ro_compat, incompat) = (features(212), features(216));
        if incompat & !INCOMPAT != 0 {
            let what = format!("XFS with features that are not known: {incompat:#x}");
            return Err(Error::new(Kind::Unsupported, what));
        }
        let (log, log_blocks) = (long(bytes, 48), word(bytes, 96));
        let superblock = Self {
            block_size: word(bytes, 4),
            sector_size: half(bytes, 102),
            inode_size: half(bytes, 104),
            inodes_per_block: half(bytes, 106),
            blocks: long(bytes, 8),
            groups: word(bytes, 88),
            group_blocks: word(bytes, 84),
            group_bits: u32::from(bytes[124]),
            inode_bits: u32::from(bytes[123]),
            log: (log != 0).then_some((log, log_blocks)),
            uuid: bytes[32..48].try_into().expect("sixteen bytes"),
            has_sums,
            has_free_inodes: ro_compat & FREE_INODES != 0,
            has_owners: ro_compat & OWNERS != 0,
            has_sharing: ro_compat & SHARING != 0,
            has_sparse_inodes: incompat & SPARSE_INODES != 0,
            real_time_inodes: [long(bytes, 64), long(bytes, 72)],
            quota_inodes: [long(bytes, 160), long(bytes, 168), long(bytes, 232)],
        };
        superblock.validate(size)?;
        Ok(superblock)
    }

    fn validate(&self, size: u64) -> Result<()> {
        let power = |value: u64, least: u64, most: u64| {
            value.is_power_of_two() && (least..=most).contains(&value)
        };
        if !power(self.block_size, 512, 65_536) {
            return Err(wrong("the size of a block", self.block_size));
        }
        if !power(self.sector_size, 512, 32_768.min(self.block_size)) {
            return Err(wrong("the size of a sector", self.sector_size));
        }
        if !power(self.inode_size, 256, 2048.min(self.block_size)) {
            return Err(wrong("the size of an inode", self.inode_size));
        }
        let inodes = self.block_size / self.inode_size;
        if self.inodes_per_block != inodes || 1 << self.inode_bits.min(32) != inodes {
            return Err(wrong("the inodes of a block", self.inodes_per_block));
        }
        let bytes = self.blocks.checked_mul(self.block_size);
        if self.blocks == 0 || bytes.is_none_or(|bytes| bytes > size) {
            return Err(Error::new(
                Kind::Impossible,
                format!(
                    "superblock: {} blocks of {} bytes, but the volume has {size} bytes",
                    self.blocks, self.block_size
                ),
            ));
        }
        let bits = self.group_bits;
        if self.group_blocks < GROUP_BLOCKS_MIN || bits > 32 || self.group_blocks > 1 << bits {
            return Err(wrong("the blocks of a group", self.group_blocks));
        }
        let last = self.groups.saturating_sub(1) * self.group_blocks;
        // A group that cannot hold its own headers would be read beyond its end.
        if self.groups != self.blocks.div_ceil(self.group_blocks)
            || (self.blocks - last) * self.block_size < 4 * self.sector_size
        {
            return Err(wrong("the number of groups", self.groups));
        }
        Ok(())
    }

    /// Blocks of a group.
    pub(super) fn blocks_of(&self, group: u64) -> u64 {
        self.group_blocks
            .min(self.blocks - group * self.group_blocks)
    }

    /// The group of a block that is counted through all groups, and its number there.
    pub(super) fn split(&self, block: u64) -> (u64, u64) {
        (
            block >> self.group_bits,
            block & ((1 << self.group_bits) - 1),
        )
    }

    /// Where blocks of a group begin on the volume, if they are there.
    pub(super) fn place(&self, group: u64, start: u64, count: u64) -> Option<u64> {
        if group >= self.groups || start.checked_add(count)? > self.blocks_of(group) {
            return None;
        }
        Some(group * self.group_blocks + start)
    }

    /// What the content of an inode is; `number` counts within the group.
    pub(super) fn class_of(&self, group: u64, number: u64, inode: &Inode) -> Class {
        let number = group << (self.group_bits + self.inode_bits) | number;
        if self.real_time_inodes.contains(&number) {
            return Class::BlockBitmap;
        }
        if self.quota_inodes.contains(&number) && number != 0 {
            return Class::Auxiliary;
        }
        match inode.shape {
            Shape::Directory => Class::Directory,
            Shape::Other => Class::FileData,
        }
    }
}
