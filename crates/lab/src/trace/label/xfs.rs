//! The layout of XFS, with and without checksums (versions 5 and 4).
//!
//! ```text
//!   group │superblock│AGF│AGI│AGFL│ trees: free space, inodes, owners, sharing │ inodes │ data …
//!   AGF ──▸ trees of free space       AGI ──▸ trees of inodes ──▸ chunks of 64 ──▸ forks
//! ```
//!
//! All of a group is taken for data first; then the tree of free space says what is free, and each
//! structure paints itself. Inodes are read to find directories, attributes and the trees of files
//! in many pieces; what a file's extents say of its data is not needed.
//!
//! Headers of groups count for descriptors, trees of free space and the list of blocks kept for
//! them for free lists, trees of inodes for inodes; trees of owners and of sharing are auxiliary.
//!
//! An image may be hostile: bytes are read within limits, levels of trees go down, and what points
//! outside is left out with a remark. Numbers are big-endian.

use super::areas::Canvas;
use super::big_endian::{half, long, word};
use super::map::{FileSystem, Map};
use super::reading::Reading;
use super::source::Source;
use super::xfs_inode::{Inode, walk_fork};
use super::xfs_superblock::Superblock;
use crate::error::{Error, Kind, Result};
use crate::trace::record::Class;

/// What a volume begins with, and how much of it is read first.
const MAGIC: &[u8] = b"XFSB";
const HEAD: usize = 512;
/// Sectors at the head of a group.
const AGF: (u64, &[u8]) = (1, b"XAGF");
const AGI: (u64, &[u8]) = (2, b"XAGI");
const AGFL: u64 = 3;
/// Bytes of the list's own header, with checksums.
const LIST_HEADER: usize = 36;
/// Trees of a group are not deeper.
const LEVELS_MAX: u64 = 9;
/// Inodes of a record, and those that a bit of its mask of holes stands for.
const CHUNK: u64 = 64;
const HOLE: u64 = 4;

/// A volume whose superblock was read.
pub(super) struct Volume<'a> {
    reading: Reading<'a>,
    superblock: Superblock,
    canvas: Canvas,
}

/// A tree of a group: what its blocks and records look like.
#[derive(Debug, Clone, Copy)]
struct Tree {
    magic: [&'static [u8; 4]; 2],
    class: Class,
    /// Bytes of keys in nodes.
    key: usize,
    /// Bytes of records that are looked at; 0 if none is.
    record: usize,
    name: &'static str,
}

const BY_BLOCK: Tree = Tree {
    magic: [b"ABTB", b"AB3B"],
    class: Class::BlockBitmap,
    key: 8,
    record: 8,
    name: "tree of free space",
};
const BY_SIZE: Tree = Tree {
    magic: [b"ABTC", b"AB3C"],
    record: 0,
    ..BY_BLOCK
};
const INODES: Tree = Tree {
    magic: [b"IABT", b"IAB3"],
    class: Class::InodeTable,
    key: 4,
    record: 16,
    name: "tree of inodes",
};
const FREE_INODES: Tree = Tree {
    magic: [b"FIBT", b"FIB3"],
    record: 0,
    ..INODES
};
const OWNERS: Tree = Tree {
    magic: [b"RMB3", b"RMB3"],
    class: Class::Auxiliary,
    key: 40,
    record: 0,
    name: "tree of owners",
};
const SHARING: Tree = Tree {
    magic: [b"R3FC", b"R3FC"],
    key: 4,
    name: "tree of sharing",
    ..OWNERS
};

/// Whether a volume looks like an XFS.
pub(super) fn is_one(source: &mut dyn Source) -> Result<bool> {
    let mut head = [0; HEAD];
    if source.size() < HEAD as u64 {
        return Ok(false);
    }
    source.read_at(0, &mut head)?;
    Ok(head.starts_with(MAGIC))
}

/// Reads the layout of a volume, whose first bytes say that it is an XFS.
pub(super) fn read(source: &mut dyn Source) -> Result<Map> {
    let size = source.size();
    let mut head = vec![0; HEAD];
    source.read_at(0, &mut head)?;
    let superblock = Superblock::decode(&head, size)?;
    let bytes = superblock.blocks * superblock.block_size;
    let mut volume = Volume {
        reading: Reading::new(source, bytes),
        superblock,
        canvas: Canvas::default(),
    };
    let mut chunks = Vec::new();
    for group in 0..volume.superblock.groups {
        volume.paint_group(group, &mut chunks)?;
    }
    if let Some((start, count)) = volume.superblock.log {
        volume.paint_extent(start, count, Class::Journal)?;
    }
    for chunk in chunks {
        volume.paint_chunk(&chunk)?;
    }
    Ok(Map {
        file_system: FileSystem::Xfs,
        uuid: volume.superblock.uuid,
        remarks: volume.reading.remarks(),
        areas: volume.canvas.into_areas(1),
        log: None,
    })
}

/// Sixty-four inodes.
struct Chunk {
    group: u64,
    /// The first one, within its group.
    first: u64,
    /// Which are in use, and which are there at all.
    used: u64,
    there: u64,
}

impl Volume<'_> {
    pub(super) fn odd(&mut self, what: &'static str) {
        self.reading.odd(what);
    }

    pub(super) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Paints blocks of a group. Says whether they are there.
    fn paint(&mut self, group: u64, start: u64, count: u64, class: Class) -> Result<bool> {
        let Some(first) = self.superblock.place(group, start, count) else {
            return Ok(false);
        };
        let sectors = self.superblock.block_size / 512;
        let (start, end) = (first * sectors, (first + count) * sectors);
        self.canvas.paint(start, end, class)?;
        Ok(true)
    }

    /// Paints blocks that are counted through all groups, as inodes count them.
    pub(super) fn paint_extent(&mut self, start: u64, count: u64, class: Class) -> Result<()> {
        let (group, within) = self.superblock.split(start);
        if !self.paint(group, within, count, class)? {
            self.odd("extent");
        }
        Ok(())
    }

    /// The content of a block that is counted through all groups, if it is there.
    pub(super) fn extent_block(&mut self, block: u64) -> Result<Option<Vec<u8>>> {
        let (group, within) = self.superblock.split(block);
        self.block(group, within)
    }

    fn block(&mut self, group: u64, block: u64) -> Result<Option<Vec<u8>>> {
        let size = self.superblock.block_size;
        match self.superblock.place(group, block, 1) {
            Some(place) => Ok(Some(self.reading.bytes(place * size, size)?)),
            None => Ok(None),
        }
    }

    fn sector(&mut self, group: u64, sector: u64) -> Result<Vec<u8>> {
        let (blocks, size) = (self.superblock.group_blocks, self.superblock.block_size);
        let start = group * blocks * size + sector * self.superblock.sector_size;
        self.reading.bytes(start, self.superblock.sector_size)
    }

    fn paint_group(&mut self, group: u64, chunks: &mut Vec<Chunk>) -> Result<()> {
        let superblock = &self.superblock;
        let (sector, size) = (superblock.sector_size, superblock.block_size);
        let blocks = superblock.blocks_of(group);
        let heads = (4 * sector).div_ceil(size);
        let start = group * superblock.group_blocks * size / 512;
        let copy = if group == 0 {
            Class::Superblock
        } else {
            Class::Backup
        };
        self.paint(group, 0, blocks, Class::FileData)?;
        let space = self.sector(group, AGF.0)?;
        let inodes = self.sector(group, AGI.0)?;
        if &space[..4] == AGF.1 {
            let root = |at: usize| (word(&space, at), word(&space, at + 12));
            self.walk(group, BY_BLOCK, root(16), chunks)?;
            self.walk(group, BY_SIZE, root(20), chunks)?;
            if self.superblock.has_owners {
                self.walk(group, OWNERS, root(24), chunks)?;
            }
            if self.superblock.has_sharing {
                let root = (word(&space, 88), word(&space, 92));
                self.walk(group, SHARING, root, chunks)?;
            }
            self.paint_list(group, word(&space, 40), word(&space, 48))?;
        } else {
            self.odd("header of free space");
        }
        if &inodes[..4] == AGI.1 {
            let root = (word(&inodes, 20), word(&inodes, 24));
            self.walk(group, INODES, root, chunks)?;
            if self.superblock.has_free_inodes {
                let root = (word(&inodes, 328), word(&inodes, 332));
                self.walk(group, FREE_INODES, root, chunks)?;
            }
        } else {
            self.odd("header of inodes");
        }
        let sectors = sector / 512;
        self.paint(group, 0, heads, Class::GroupDescriptors)?;
        self.canvas.paint(start, start + sectors, copy)?;
        let list = start + AGFL * sectors;
        self.canvas.paint(list, list + sectors, Class::BlockBitmap)
    }

    /// Paints the blocks that are kept for the trees of free space.
    fn paint_list(&mut self, group: u64, first: u64, count: u64) -> Result<()> {
        let list = self.sector(group, AGFL)?;
        let header = if self.superblock.has_sums {
            LIST_HEADER
        } else {
            0
        };
        let entries: Vec<u64> = list[header..]
            .chunks_exact(4)
            .map(|entry| word(entry, 0))
            .collect();
        let room = entries.len() as u64;
        for index in first..first.saturating_add(count.min(room)) {
            let block = entries[(index % room) as usize];
            if !self.paint(group, block, 1, Class::BlockBitmap)? {
                self.odd("list of free blocks");
            }
        }
        Ok(())
    }

    /// Paints a tree of a group; `root` is a block and how many levels there are.
    fn walk(
        &mut self,
        group: u64,
        tree: Tree,
        root: (u64, u64),
        chunks: &mut Vec<Chunk>,
    ) -> Result<()> {
        let (block, levels) = root;
        if levels == 0 || levels > LEVELS_MAX {
            self.odd(tree.name);
            return Ok(());
        }
        let sums = self.superblock.has_sums;
        let header = if sums { 56 } else { 16 };
        let mut nodes = vec![(block, levels - 1)];
        while let Some((block, level)) = nodes.pop() {
            if !self.paint(group, block, 1, tree.class)? {
                self.odd(tree.name);
                continue;
            }
            if level == 0 && tree.record == 0 {
                continue;
            }
            let content = self.block(group, block)?.expect("it was painted");
            let entry = if level > 0 { tree.key + 4 } else { tree.record };
            let (room, count) = ((content.len() - header) / entry, half(&content, 6) as usize);
            let magic = tree.magic[usize::from(sums)];
            if &content[..4] != magic || half(&content, 4) != level || count > room {
                self.odd(tree.name);
                continue;
            }
            let body = &content[header..];
            if level > 0 {
                let pointers = body[room * tree.key..].chunks_exact(4).take(count);
                nodes.extend(pointers.map(|pointer| (word(pointer, 0), level - 1)));
                continue;
            }
            for record in body.chunks_exact(tree.record).take(count) {
                self.record(group, tree.class, record, chunks)?;
            }
        }
        Ok(())
    }

    /// Takes a record of the tree of free space, or of inodes.
    fn record(
        &mut self,
        group: u64,
        class: Class,
        record: &[u8],
        chunks: &mut Vec<Chunk>,
    ) -> Result<()> {
        if class == Class::BlockBitmap {
            let (start, count) = (word(record, 0), word(record, 4));
            if !self.paint(group, start, count, Class::Free)? {
                self.odd("free space");
            }
            return Ok(());
        }
        let holes = if self.superblock.has_sparse_inodes {
            half(record, 4)
        } else {
            0
        };
        let there = (0..CHUNK).filter(|index| holes >> (index / HOLE) & 1 == 0);
        let there = there.fold(0, |mask, index| mask | 1 << index);
        chunks.push(Chunk {
            group,
            first: word(record, 0),
            used: there & !long(record, 8),
            there,
        });
        Ok(())
    }

    /// Paints inodes, and what they lead to.
    fn paint_chunk(&mut self, chunk: &Chunk) -> Result<()> {
        let (per_block, size) = (
            self.superblock.inodes_per_block,
            self.superblock.inode_size as usize,
        );
        let first = chunk.first / per_block;
        for block in 0..CHUNK.div_ceil(per_block) {
            // Where a block holds more than a chunk, the chunk begins within it.
            let inside = chunk.first % per_block;
            let from = block * per_block;
            let mask = |bits: u64| bits >> from & u64::MAX >> (64 - per_block.min(CHUNK));
            if mask(chunk.there) == 0 {
                continue;
            }
            if !self.paint(chunk.group, first + block, 1, Class::InodeTable)? {
                self.odd("inodes");
                continue;
            }
            if mask(chunk.used) == 0 {
                continue;
            }
            let content = self.block(chunk.group, first + block)?;
            let content = content.expect("it was painted");
            for index in 0..per_block.min(CHUNK) {
                if mask(chunk.used) >> index & 1 == 0 {
                    continue;
                }
                let within = (inside + index) * size as u64;
                let bytes = content.get(within as usize..within as usize + size);
                let number = chunk.first + from + index;
                match bytes {
                    Some(bytes) => self.paint_inode(chunk.group, number, bytes)?,
                    None => self.odd("inode"),
                }
            }
        }
        Ok(())
    }

    fn paint_inode(&mut self, group: u64, number: u64, bytes: &[u8]) -> Result<()> {
        let Some(inode) = Inode::decode(bytes) else {
            self.odd("inode");
            return Ok(());
        };
        let class = self.superblock.class_of(group, number, &inode);
        if let Some(fork) = inode.data(bytes) {
            walk_fork(self, &fork, class)?;
        }
        match inode.attributes(bytes) {
            Some(fork) => walk_fork(self, &fork, Class::Auxiliary),
            None => Ok(()),
        }
    }
}

/// An error about a field of the superblock.
pub(super) fn wrong(name: &str, value: u64) -> Error {
    let what = format!("superblock: {name} is {value}, which cannot be");
    Error::new(Kind::Impossible, what)
}
