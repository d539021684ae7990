//! Where mke2fs puts things: groups, and what lies at the start of each.
//!
//! ```text
//!   group  | superblock, descriptors, reserved | block bitmap | inode bitmap | inode table | data
//!             only groups 0, 1 and powers of 3, 5, 7
//!
//!   with a stride, of group g
//!          | superblock, descriptors, reserved | inode table | g strides | both bitmaps | data
//! ```
//!
//! The blocks of those strides are data, too. So the bitmaps of groups that follow one another are
//! a chunk apart more than a group, and on other disks of a striped volume. That is all that a
//! stride does to ext2 and ext3: their allocators know neither it nor the width of a stripe, which
//! mke2fs notes for ext4's.
//!
//! Blocks of 4 KiB, groups of 32,768 blocks, no `flex_bg`: what `mkfs.ext3` makes. Reserved are the
//! descriptors' blocks for growing 1,024 times, as `resize_inode` has them.

use super::options::{BLOCK, Options};
use crate::component::Component;
use crate::error::{Error, Kind, Result};

/// Blocks of a group: bits of a bitmap's block.
pub(super) const PER_GROUP: u32 = 32_768;
/// Bytes of a group's descriptor.
const DESCRIPTOR: u64 = 32;
/// Fewer blocks and a last group is left out.
const LAST_GROUP_MIN: u32 = 50;

/// Inode of the root directory.
pub(super) const ROOT: u32 = 2;
/// Inode of the file that keeps the reserved descriptors.
pub(super) const RESIZE: u32 = 7;
/// Inode of the log.
pub(super) const LOG: u32 = 8;
/// First inode for files; mke2fs takes it for `lost+found`.
pub(super) const FIRST: u32 = 11;

/// Where everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks of the file system.
    pub blocks: u32,
    /// Groups.
    pub groups: u32,
    /// Inodes of a group.
    pub inodes_per_group: u32,
    /// Inodes of a block of a table.
    pub inodes_per_block: u32,
    /// Blocks of a table.
    pub table_blocks: u32,
    /// Blocks of descriptors.
    pub descriptor_blocks: u32,
    /// Blocks reserved for more descriptors.
    pub reserved_blocks: u32,
    /// Blocks of a chunk of a striped volume; 0: it was not said.
    pub stride: u32,
}

impl Geometry {
    /// The layout of a device of so many bytes; fails if it is too small or too large.
    pub fn new(bytes: u64, options: &Options) -> Result<Self> {
        let wrong = |what: &str| Err(Error::new(Kind::Impossible, what));
        let Ok(mut blocks) = u32::try_from(bytes / BLOCK) else {
            return wrong("a file system of 4 KiB blocks ends at 16 TiB: make the device smaller");
        };
        if blocks < 2048 {
            return wrong("a file system needs 8 MiB at least: make the device larger");
        }
        if !matches!(options.inode_bytes, 128 | 256 | 512 | 1024) || options.inode_ratio < 1024 {
            return wrong("inodes are of 128, 256, 512 or 1024 bytes, one for 1 KiB or more");
        }
        let rest = blocks % PER_GROUP;
        let mut groups = blocks.div_ceil(PER_GROUP);
        let inodes_per_block = (BLOCK / options.inode_bytes) as u32;
        let wanted = u64::from(blocks) * BLOCK / options.inode_ratio;
        let per_group = wanted.div_ceil(u64::from(groups)).clamp(16, 65_528);
        // A whole number of blocks, and of bytes of a bitmap.
        let step = u64::from(inodes_per_block.max(8));
        let inodes_per_group = (per_group.div_ceil(step) * step).min(u64::from(PER_GROUP)) as u32;
        let descriptors = |groups: u64| (groups * DESCRIPTOR).div_ceil(BLOCK);
        let most = (u64::from(blocks) * 1024).min(u64::from(u32::MAX));
        let reserved = descriptors(most.div_ceil(u64::from(PER_GROUP)));
        let mut geometry = Self {
            blocks,
            groups,
            inodes_per_group,
            inodes_per_block,
            table_blocks: inodes_per_group / inodes_per_block,
            descriptor_blocks: descriptors(u64::from(groups)) as u32,
            reserved_blocks: 0,
            stride: options.stride,
        };
        geometry.reserved_blocks =
            (reserved.min(BLOCK / 4) as u32).saturating_sub(geometry.descriptor_blocks);
        let overhead = geometry.overhead(groups - 1);
        if rest > 0 && rest < overhead + LAST_GROUP_MIN {
            blocks -= rest;
            groups -= 1;
            (geometry.blocks, geometry.groups) = (blocks, groups);
        }
        if groups == 0 || PER_GROUP <= geometry.overhead(0) {
            return wrong("a group has no room for files: ask for fewer inodes");
        }
        Ok(geometry)
    }

    /// Whether the group has a copy of the superblock and the descriptors.
    pub fn has_super(group: u32) -> bool {
        let power_of = |base: u32| {
            let mut power = base;
            while power < group {
                power = power.saturating_mul(base);
            }
            power == group
        };
        group < 2 || power_of(3) || power_of(5) || power_of(7)
    }

    /// Blocks at the start of the group before its bitmaps.
    fn before_bitmaps(&self, group: u32) -> u32 {
        if Self::has_super(group) {
            1 + self.descriptor_blocks + self.reserved_blocks
        } else {
            0
        }
    }

    /// First block of the group behind its superblock and descriptors.
    fn first(&self, group: u32) -> u32 {
        self.start(group) + self.before_bitmaps(group)
    }

    /// First block of the group's inode table.
    fn table(&self, group: u32) -> u32 {
        let first = self.first(group);
        if self.block_bitmap(group) == first {
            first + 2
        } else {
            first
        }
    }

    /// Blocks of the group that no file can have.
    pub fn overhead(&self, group: u32) -> u32 {
        self.before_bitmaps(group) + 2 + self.table_blocks
    }

    /// First block of the group.
    pub fn start(&self, group: u32) -> u32 {
        group * PER_GROUP
    }

    /// The block after the group's last.
    pub fn end(&self, group: u32) -> u32 {
        (u64::from(group + 1) * u64::from(PER_GROUP)).min(u64::from(self.blocks)) as u32
    }

    /// The group of a block.
    pub fn group_of(&self, block: u32) -> u32 {
        block / PER_GROUP
    }

    /// Where the group's bitmap of blocks is.
    pub fn block_bitmap(&self, group: u32) -> u32 {
        let first = self.first(group);
        if self.stride == 0 {
            return first;
        }
        let (behind, last) = (first + self.table_blocks, self.end(group) - 1);
        let strides = u64::from(self.stride) * u64::from(group);
        let place = behind + (strides % u64::from(last - behind + 1)) as u32;
        if place < last { place } else { first }
    }

    /// Where the group's bitmap of inodes is.
    pub fn inode_bitmap(&self, group: u32) -> u32 {
        self.block_bitmap(group) + 1
    }

    /// The block of the descriptors that holds the group's.
    pub fn descriptor(&self, group: u32) -> u32 {
        1 + (u64::from(group) * DESCRIPTOR / BLOCK) as u32
    }

    /// All inodes.
    pub fn inodes(&self) -> u32 {
        self.groups * self.inodes_per_group
    }

    /// The group of an inode (they count from 1).
    pub fn group_of_inode(&self, inode: u32) -> u32 {
        (inode - 1) / self.inodes_per_group
    }

    /// The block of a table that holds the inode.
    pub fn table_block(&self, inode: u32) -> u32 {
        let within = (inode - 1) % self.inodes_per_group;
        self.table(self.group_of_inode(inode)) + within / self.inodes_per_block
    }

    /// What a block of the fixed layout is; `None` where files and the log may be.
    pub fn class_of(&self, block: u32) -> Option<Component> {
        let group = self.group_of(block);
        let (bitmap, table) = (self.block_bitmap(group), self.table(group));
        if (bitmap..bitmap + 2).contains(&block) {
            Some(Component::FreeList)
        } else if block < table + self.table_blocks {
            Some(Component::Metadata)
        } else {
            None
        }
    }

    /// Blocks of the group that no file can have, in order.
    pub(super) fn fixed(&self, group: u32) -> impl Iterator<Item = u32> {
        let (bitmap, table) = (self.block_bitmap(group), self.table(group));
        let front = self.start(group)..(table + self.table_blocks).min(self.end(group));
        let behind = (bitmap..bitmap + 2).filter({
            let front = front.clone();
            move |block| !front.contains(block)
        });
        front.chain(behind)
    }
}
