//! The superblock of ext2, ext3 and ext4: where everything else is.
//!
//! What later code multiplies, divides or allocates by is checked here, once.

use super::map::FileSystem;
use crate::error::{Error, Kind, Result};

/// Where it is, and how long.
pub(super) const SUPERBLOCK: (u64, usize) = (1024, 1024);
const MAGIC: u16 = 0xef53;
/// Block sizes go from 1 KiB to 64 KiB, clusters to 1 GiB.
const LOG_BLOCK_MAX: u32 = 6;
const LOG_CLUSTER_MAX: u32 = 20;

const HAS_JOURNAL: u32 = 0x4;
const RESIZE_INODE: u32 = 0x10;
const SPARSE_SUPER2: u32 = 0x200;
const NEEDS_RECOVERY: u32 = 0x4;
const JOURNAL_DEVICE: u32 = 0x8;
const META_BG: u32 = 0x10;
const WIDE: u32 = 0x80;
const MULTIPLE_MOUNT: u32 = 0x100;
const SPARSE_SUPER: u32 = 0x1;
const CHECKSUMS: u32 = 0x10 | 0x400;
const BIGALLOC: u32 = 0x200;
/// What ext3 knows of the features that a reader or a writer must know.
const EXT3_INCOMPAT: u32 = 0x2 | NEEDS_RECOVERY | JOURNAL_DEVICE | META_BG;
const EXT3_RO_COMPAT: u32 = 0x1 | 0x2 | 0x4;

/// What the superblock says.
#[derive(Debug, Clone)]
pub(super) struct Superblock {
    pub(super) block_size: u64,
    pub(super) blocks: u64,
    pub(super) first_block: u64,
    /// Blocks of a cluster, the unit of allocation.
    pub(super) cluster: u64,
    pub(super) clusters_per_group: u64,
    pub(super) inodes_per_group: u64,
    pub(super) inode_size: u64,
    pub(super) descriptor_size: u64,
    pub(super) reserved_descriptor_blocks: u64,
    /// Descriptor blocks from this one on are kept with their groups.
    pub(super) first_meta: u64,
    pub(super) journal_inode: u64,
    pub(super) resize_inode: u64,
    /// Quotas and the list of orphans.
    pub(super) auxiliary_inodes: Vec<u64>,
    pub(super) multiple_mount_block: Option<u64>,
    pub(super) uuid: [u8; 16],
    pub(super) file_system: FileSystem,
    pub(super) needs_recovery: bool,
    /// Groups say which of their tables were never written.
    pub(super) has_group_flags: bool,
    copies: Copies,
}

/// Which groups have a copy of the superblock.
#[derive(Debug, Clone, Copy)]
enum Copies {
    All,
    Sparse,
    Two([u64; 2]),
}

/// What it has that others have not.
#[derive(Debug, Clone, Copy)]
struct Features {
    compat: u32,
    incompat: u32,
    ro_compat: u32,
}

impl Features {
    fn file_system(self) -> FileSystem {
        if self.incompat & !EXT3_INCOMPAT != 0 || self.ro_compat & !EXT3_RO_COMPAT != 0 {
            FileSystem::Ext4
        } else if self.compat & HAS_JOURNAL != 0 {
            FileSystem::Ext3
        } else {
            FileSystem::Ext2
        }
    }

    fn copies(self, bytes: &[u8]) -> Copies {
        if self.compat & SPARSE_SUPER2 != 0 {
            Copies::Two([word(bytes, 0x24c), word(bytes, 0x250)])
        } else if self.ro_compat & SPARSE_SUPER != 0 {
            Copies::Sparse
        } else {
            Copies::All
        }
    }

    /// The size of a cluster in blocks, and of a block in bytes.
    fn sizes(self, bytes: &[u8]) -> Result<(u64, u64)> {
        let (log_block, log_cluster) = (word(bytes, 0x18) as u32, word(bytes, 0x1c) as u32);
        if log_block > LOG_BLOCK_MAX {
            return Err(wrong(format!("superblock: blocks of 1 KiB « {log_block}")));
        }
        if self.ro_compat & BIGALLOC == 0 {
            return Ok((1, 1024 << log_block));
        }
        if log_cluster < log_block || log_cluster > LOG_CLUSTER_MAX {
            let what = format!("superblock: clusters of 1 KiB « {log_cluster}");
            return Err(wrong(what));
        }
        Ok((1 << (log_cluster - log_block), 1024 << log_block))
    }
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(Kind::Impossible, what)
}

pub(super) fn half(bytes: &[u8], at: usize) -> u64 {
    u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    half(bytes, at) | half(bytes, at + 2) << 16
}

impl Superblock {
    /// Reads the 1,024 bytes of a superblock of a volume of `size` bytes.
    pub(super) fn decode(bytes: &[u8], size: u64) -> Result<Self> {
        if half(bytes, 0x38) as u16 != MAGIC {
            let what = "no ext2, ext3, ext4 or XFS: none of their superblocks is there";
            return Err(Error::new(Kind::Unsupported, what));
        }
        let feature = |at: usize| word(bytes, at) as u32;
        let features = Features {
            compat: feature(0x5c),
            incompat: feature(0x60),
            ro_compat: feature(0x64),
        };
        let Features {
            compat,
            incompat,
            ro_compat,
        } = features;
        if incompat & JOURNAL_DEVICE != 0 {
            let what = "an external journal, not a file system";
            return Err(Error::new(Kind::Unsupported, what));
        }
        let (cluster, block_size) = features.sizes(bytes)?;
        let bigalloc = ro_compat & BIGALLOC != 0;
        let wide = incompat & WIDE != 0;
        let high = if wide { word(bytes, 0x150) << 32 } else { 0 };
        let dynamic = word(bytes, 0x4c) > 0;
        let descriptor_size = match (wide, half(bytes, 0xfe)) {
            (false, _) => 32,
            (true, size) => size,
        };
        let present = |at: usize| Some(word(bytes, at)).filter(|&inode| dynamic && inode != 0);
        let has_journal = compat & HAS_JOURNAL != 0;
        let superblock = Self {
            block_size,
            blocks: word(bytes, 0x4) | high,
            first_block: word(bytes, 0x14),
            cluster,
            clusters_per_group: word(bytes, if bigalloc { 0x24 } else { 0x20 }),
            inodes_per_group: word(bytes, 0x28),
            inode_size: if dynamic { half(bytes, 0x58) } else { 128 },
            descriptor_size,
            reserved_descriptor_blocks: if compat & RESIZE_INODE != 0 {
                half(bytes, 0xce)
            } else {
                0
            },
            first_meta: if incompat & META_BG != 0 {
                word(bytes, 0x104)
            } else {
                u64::MAX
            },
            journal_inode: if has_journal { word(bytes, 0xe0) } else { 0 },
            resize_inode: if compat & RESIZE_INODE != 0 { 7 } else { 0 },
            auxiliary_inodes: [0x240, 0x244, 0x26c, 0x280]
                .into_iter()
                .filter_map(present)
                .collect(),
            multiple_mount_block: (incompat & MULTIPLE_MOUNT != 0)
                .then(|| word(bytes, 0x168) | word(bytes, 0x16c) << 32),
            uuid: bytes[0x68..0x78].try_into().expect("sixteen bytes"),
            file_system: features.file_system(),
            needs_recovery: incompat & NEEDS_RECOVERY != 0,
            has_group_flags: ro_compat & CHECKSUMS != 0,
            copies: features.copies(bytes),
        };
        superblock.validate(size)?;
        Ok(superblock)
    }

    fn validate(&self, size: u64) -> Result<()> {
        let bits = self.block_size * 8;
        let field = |name: &str, value: u64| {
            Err(wrong(format!(
                "superblock: {name} is {value}, which cannot be"
            )))
        };
        let bytes = self.blocks.checked_mul(self.block_size);
        if bytes.is_none_or(|bytes| bytes > size) {
            return Err(wrong(format!(
                "superblock: {} blocks of {} bytes, but the volume has {size} bytes",
                self.blocks, self.block_size
            )));
        }
        if self.first_block != u64::from(self.block_size == 1024) && self.cluster == 1
            || self.first_block > 1
            || self.first_block >= self.blocks
        {
            return field("the first data block", self.first_block);
        }
        if self.clusters_per_group == 0 || self.clusters_per_group > bits {
            return field("the number of blocks in a group", self.clusters_per_group);
        }
        if self.inodes_per_group == 0 || self.inodes_per_group > bits {
            return field("the number of inodes in a group", self.inodes_per_group);
        }
        if self.inode_size < 128
            || self.inode_size > self.block_size
            || !self.inode_size.is_power_of_two()
        {
            return field("the size of an inode", self.inode_size);
        }
        let sizes = 32..=self.block_size;
        if !self.descriptor_size.is_power_of_two() || !sizes.contains(&self.descriptor_size) {
            return field("the size of a group descriptor", self.descriptor_size);
        }
        Ok(())
    }

    /// Blocks of a group.
    pub(super) fn blocks_per_group(&self) -> u64 {
        self.clusters_per_group * self.cluster
    }

    pub(super) fn groups(&self) -> u64 {
        (self.blocks - self.first_block).div_ceil(self.blocks_per_group())
    }

    /// The first block of a group.
    pub(super) fn group_start(&self, group: u64) -> u64 {
        self.first_block + group * self.blocks_per_group()
    }

    pub(super) fn descriptors_per_block(&self) -> u64 {
        self.block_size / self.descriptor_size
    }

    /// Blocks that hold descriptors right behind a superblock.
    pub(super) fn descriptor_blocks(&self) -> u64 {
        let all = self.groups().div_ceil(self.descriptors_per_block());
        all.min(self.first_meta)
    }

    /// Where the descriptors number `block` · n are.
    pub(super) fn descriptor_block(&self, block: u64) -> u64 {
        if block < self.first_meta {
            // With 1 KiB blocks the superblock is block 1; else it lies within block 0.
            return self.first_block + 1 + block;
        }
        let group = block * self.descriptors_per_block();
        self.group_start(group) + u64::from(self.has_superblock(group))
    }

    /// Whether a group begins with a superblock.
    pub(super) fn has_superblock(&self, group: u64) -> bool {
        match self.copies {
            Copies::All => true,
            Copies::Two(groups) => group == 0 || groups.contains(&group),
            Copies::Sparse => group <= 1 || [3, 5, 7].iter().any(|&base| is_power(group, base)),
        }
    }
}

fn is_power(number: u64, base: u64) -> bool {
    let mut power = base;
    while power < number {
        power = power.saturating_mul(base);
    }
    power == number
}
