//! The layout of ext2, ext3 and ext4.
//!
//! First come the bitmaps: what is used holds data, until something better is known. Then the
//! places of each group, then the inodes: directories, pointers to blocks, the journal. Bitmaps of
//! a mounted file system may lag behind; who labels a trace unmounts first.
//!
//! An image may be hostile. The bytes that are read are limited by the size of the volume, since
//! nothing on a sound one is read twice; what points outside is left out, with a remark.

use super::areas::Canvas;
use super::extents::{Found, Wanted, walk_extents, walk_indirect};
use super::journal::{Logged, Reader};
use super::map::{Log, Map};
use super::reading::Reading;
use super::source::Source;
use super::superblock::{SUPERBLOCK, Superblock, half, word};
use crate::error::{Error, Kind, Result};
use crate::trace::record::Class;

/// Inodes are read in pieces of so many bytes.
const PIECE: u64 = 1 << 20;

const INODES_UNUSED: u64 = 1;
const BLOCKS_UNUSED: u64 = 2;

const FORMAT: u64 = 0xf000;
const DIRECTORY: u64 = 0x4000;
const REGULAR: u64 = 0x8000;
const LINK: u64 = 0xa000;
const HAS_EXTENTS: u64 = 0x8_0000;
const HAS_INLINE_DATA: u64 = 0x1000_0000;
/// Inodes of ext4 keep attributes of this file system's own.
const BAD_BLOCKS_INODE: u64 = 1;

/// A volume whose superblock was read.
pub(super) struct Volume<'a> {
    reading: Reading<'a>,
    superblock: Superblock,
    logged: Option<Logged>,
}

struct Group {
    block_bitmap: u64,
    inode_bitmap: u64,
    inode_table: u64,
    flags: u64,
    unused_inodes: u64,
}

/// Reads the layout of a volume.
pub(super) fn read(source: &mut dyn Source) -> Result<Map> {
    let size = source.size();
    if size < SUPERBLOCK.0 + SUPERBLOCK.1 as u64 {
        let what = format!("{size} bytes are too few for a file system");
        return Err(Error::new(Kind::Unsupported, what));
    }
    let mut bytes = vec![0; SUPERBLOCK.1];
    source.read_at(SUPERBLOCK.0, &mut bytes)?;
    let superblock = Superblock::decode(&bytes, size)?;
    let mut volume = Volume {
        reading: Reading::new(source, superblock.blocks * superblock.block_size),
        superblock,
        logged: None,
    };
    let mut canvas = Canvas::default();
    let groups = volume.groups()?;
    let (first, blocks) = (volume.superblock.first_block, volume.superblock.blocks);
    canvas.paint(first, blocks, Class::Free)?;
    for (number, group) in (0..).zip(&groups) {
        volume.paint_used(&mut canvas, number, group)?;
    }
    for (number, group) in (0..).zip(&groups) {
        volume.paint_group(&mut canvas, number, group)?;
    }
    if let Some(block) = volume.superblock.multiple_mount_block {
        volume.paint(
            &mut canvas,
            block,
            1,
            Class::Auxiliary,
            "multiple mount block",
        )?;
    }
    for (number, group) in (0..).zip(&groups) {
        volume.paint_inodes(&mut canvas, number, group)?;
    }
    Ok(volume.finish(canvas))
}

impl Volume<'_> {
    /// Notes that a structure of this name was not as it should be, and is left out.
    pub(super) fn odd(&mut self, what: &'static str) {
        self.reading.odd(what);
    }

    /// Whether the file system has these blocks.
    pub(super) fn has(&self, start: u64, count: u64) -> bool {
        let end = start.checked_add(count);
        start >= self.superblock.first_block && end.is_some_and(|end| end <= self.superblock.blocks)
    }

    /// The content of a block that exists.
    pub(super) fn block(&mut self, block: u64) -> Result<Vec<u8>> {
        let size = self.superblock.block_size;
        self.reading.bytes(block * size, size)
    }

    fn paint(
        &mut self,
        canvas: &mut Canvas,
        start: u64,
        count: u64,
        class: Class,
        what: &'static str,
    ) -> Result<()> {
        if self.has(start, count) {
            canvas.paint(start, start + count, class)
        } else {
            self.odd(what);
            Ok(())
        }
    }

    fn groups(&mut self) -> Result<Vec<Group>> {
        let size = self.superblock.descriptor_size as usize;
        let wide = size >= 64;
        let count = self.superblock.groups();
        let per_block = self.superblock.descriptors_per_block();
        let mut groups = Vec::new();
        for number in 0..count.div_ceil(per_block) {
            let block = self.superblock.descriptor_block(number);
            if !self.has(block, 1) {
                let what = format!("the descriptors of group {} lie outside", groups.len());
                return Err(Error::new(Kind::Impossible, what));
            }
            let content = self.block(block)?;
            let left = (count - groups.len() as u64).min(per_block);
            for bytes in content.chunks_exact(size).take(left as usize) {
                let high = |at: usize| if wide { word(bytes, at) << 32 } else { 0 };
                let trusted = self.superblock.has_group_flags;
                let unused_high = if wide { half(bytes, 0x32) << 16 } else { 0 };
                let flag = |value: u64| if trusted { value } else { 0 };
                groups.push(Group {
                    block_bitmap: word(bytes, 0) | high(0x20),
                    inode_bitmap: word(bytes, 4) | high(0x24),
                    inode_table: word(bytes, 8) | high(0x28),
                    flags: flag(half(bytes, 0x12)),
                    unused_inodes: flag(half(bytes, 0x1c) | unused_high),
                });
            }
        }
        Ok(groups)
    }

    /// Paints what the bitmap of a group says is used.
    fn paint_used(&mut self, canvas: &mut Canvas, number: u64, group: &Group) -> Result<()> {
        if group.flags & BLOCKS_UNUSED != 0 {
            return Ok(());
        }
        if !self.has(group.block_bitmap, 1) {
            self.odd("block bitmap");
            return Ok(());
        }
        let bitmap = self.block(group.block_bitmap)?;
        let start = self.superblock.group_start(number);
        let end = self
            .superblock
            .blocks
            .min(start + self.superblock.blocks_per_group());
        let cluster = self.superblock.cluster;
        let clusters = (end - start).div_ceil(cluster);
        let mut run: Option<u64> = None;
        for index in 0..=clusters {
            let used = index < clusters && bit(&bitmap, index);
            match (used, run) {
                (true, None) => run = Some(index),
                (false, Some(first)) => {
                    let until = end.min(start + index * cluster);
                    canvas.paint(start + first * cluster, until, Class::FileData)?;
                    run = None;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Paints the places that a group has for itself.
    fn paint_group(&mut self, canvas: &mut Canvas, number: u64, group: &Group) -> Result<()> {
        let superblock = &self.superblock;
        let start = superblock.group_start(number);
        let copy = |class: Class| if number == 0 { class } else { Class::Backup };
        let mut at = start;
        let mut parts = Vec::new();
        if superblock.has_superblock(number) {
            parts.push((start, 1, copy(Class::Superblock)));
            let old = superblock.descriptor_blocks();
            let count = old + superblock.reserved_descriptor_blocks;
            parts.push((start + 1, count, copy(Class::GroupDescriptors)));
            at += 1;
        }
        let per_block = superblock.descriptors_per_block();
        if number / per_block >= superblock.first_meta {
            match number % per_block {
                0 => parts.push((at, 1, Class::GroupDescriptors)),
                inside if inside == 1 || inside == per_block - 1 => {
                    parts.push((at, 1, Class::Backup));
                }
                _ => {}
            }
        }
        let table =
            (superblock.inodes_per_group * superblock.inode_size).div_ceil(superblock.block_size);
        parts.push((group.block_bitmap, 1, Class::BlockBitmap));
        parts.push((group.inode_bitmap, 1, Class::InodeBitmap));
        parts.push((group.inode_table, table, Class::InodeTable));
        for (start, count, class) in parts {
            let left = self.superblock.blocks.saturating_sub(start);
            // The last group may be too short for all the descriptors that are kept free.
            let count = if class == Class::Backup {
                count.min(left)
            } else {
                count
            };
            self.paint(canvas, start, count, class, class.name())?;
        }
        Ok(())
    }

    /// Paints what the inodes of a group lead to.
    fn paint_inodes(&mut self, canvas: &mut Canvas, number: u64, group: &Group) -> Result<()> {
        if group.flags & INODES_UNUSED != 0 {
            return Ok(());
        }
        let (per_group, size) = (self.superblock.inodes_per_group, self.superblock.inode_size);
        let blocks = (per_group * size).div_ceil(self.superblock.block_size);
        if !self.has(group.inode_bitmap, 1) || !self.has(group.inode_table, blocks) {
            return Ok(());
        }
        let bitmap = self.block(group.inode_bitmap)?;
        let used = per_group.saturating_sub(group.unused_inodes);
        let table = group.inode_table * self.superblock.block_size;
        let step = PIECE / size;
        for first in (0..used).step_by(step as usize) {
            let count = step.min(used - first);
            if !(first..first + count).any(|index| bit(&bitmap, index)) {
                continue;
            }
            let piece = self.reading.bytes(table + first * size, count * size)?;
            for (index, inode) in (first..).zip(piece.chunks_exact(size as usize)) {
                if bit(&bitmap, index) {
                    self.paint_inode(canvas, number * per_group + index + 1, inode)?;
                }
            }
        }
        Ok(())
    }

    fn paint_inode(&mut self, canvas: &mut Canvas, number: u64, inode: &[u8]) -> Result<()> {
        let (mode, flags) = (half(inode, 0) & FORMAT, word(inode, 0x20));
        let attributes = word(inode, 0x68) | half(inode, 0x76) << 32;
        let special = number == self.superblock.journal_inode
            || self.superblock.auxiliary_inodes.contains(&number);
        if !special && attributes != 0 && matches!(mode, DIRECTORY | REGULAR | LINK) {
            self.paint(
                canvas,
                attributes,
                1,
                Class::Auxiliary,
                "extended attributes",
            )?;
        }
        let content = match mode {
            _ if number == self.superblock.journal_inode => Some(Class::Journal),
            _ if self.superblock.auxiliary_inodes.contains(&number) => Some(Class::Auxiliary),
            _ if number == self.superblock.resize_inode => {
                let block = word(inode, 0x28 + 13 * 4);
                if block != 0 {
                    let class = Class::GroupDescriptors;
                    self.paint(canvas, block, 1, class, "resize inode")?;
                }
                return Ok(());
            }
            _ if number == BAD_BLOCKS_INODE => return Ok(()),
            DIRECTORY => Some(Class::Directory),
            REGULAR => None,
            // A short link is kept in the inode itself.
            LINK if word(inode, 0x1c) > 0 && word(inode, 4) >= 60 => None,
            _ => return Ok(()),
        };
        if flags & HAS_INLINE_DATA != 0 {
            return Ok(());
        }
        let wanted = content.map_or(Wanted::Pointers, |_| Wanted::All);
        let mut log = Vec::new();
        let mut each = |start: u64, count: u64, found: Found| match found {
            Found::Pointers => canvas.paint(start, start + 1, Class::BlockMap),
            Found::Content => {
                if content == Some(Class::Journal) {
                    log.push((start, count));
                }
                canvas.paint(start, start + count, content.unwrap_or(Class::FileData))
            }
        };
        let root = &inode[0x28..0x28 + 60];
        match flags & HAS_EXTENTS {
            0 => walk_indirect(self, root, wanted, &mut each)?,
            _ => walk_extents(self, root, wanted, &mut each)?,
        }
        self.read_log(&log)
    }

    /// Reads the log, whose blocks are these runs.
    fn read_log(&mut self, runs: &[(u64, u64)]) -> Result<()> {
        let Some(&(first, _)) = runs.first() else {
            return Ok(());
        };
        let size = self.superblock.block_size;
        let blocks: u64 = runs.iter().map(|run| run.1).sum();
        let head = self.block(first)?;
        let Some(mut reader) = Reader::new(&head, blocks.min(self.superblock.blocks)) else {
            self.odd("journal");
            return Ok(());
        };
        let mut place = 0;
        for &(start, count) in runs {
            let step = PIECE / size;
            for from in (0..count).step_by(step as usize) {
                let piece = self
                    .reading
                    .bytes((start + from) * size, step.min(count - from) * size)?;
                for content in piece.chunks_exact(size as usize) {
                    reader.take(place, content);
                    place += 1;
                }
            }
        }
        self.logged = Some(reader.finish());
        Ok(())
    }

    fn finish(self, canvas: Canvas) -> Map {
        let superblock = self.superblock;
        let sectors = superblock.block_size / 512;
        let mut remarks = self.reading.remarks();
        if superblock.needs_recovery {
            remarks.push(
                "it is mounted or was not unmounted; its journal holds newer metadata".into(),
            );
        }
        Map {
            file_system: superblock.file_system,
            uuid: superblock.uuid,
            remarks,
            areas: canvas.into_areas(sectors),
            log: self.logged.map(|logged| Log { logged, sectors }),
        }
    }
}

fn bit(bitmap: &[u8], index: u64) -> bool {
    bitmap
        .get((index / 8) as usize)
        .is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}
