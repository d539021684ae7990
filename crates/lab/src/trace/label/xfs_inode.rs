//! An inode of XFS: its two forks, and the blocks that they lead to.
//!
//! ```text
//!   inode │ head │ data fork │ attribute fork │     a fork: bytes, extents, or the root of a tree
//! ```

use super::big_endian::{half, long, word};
use super::xfs::Volume;
use crate::error::Result;
use crate::trace::record::Class;

const MAGIC: &[u8] = b"IN";
const FORMAT: u64 = 0xf000;
const DIRECTORY: u64 = 0x4000;
const EXTENTS: u8 = 2;
const TREE: u8 = 3;
/// Its data is in the real-time part, which is another volume.
const REAL_TIME: u64 = 0x1;
const WIDE_COUNTS: u64 = 0x10;
/// Trees of a fork are not deeper.
const LEVELS_MAX: u64 = 9;
/// Bytes of an extent; and of a key or a pointer of a node.
const EXTENT: usize = 16;
const WORD: usize = 8;

/// What an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Directory,
    Other,
}

/// What the head of an inode says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inode {
    pub(super) shape: Shape,
    is_real_time: bool,
    formats: [u8; 2],
    extents: [u64; 2],
    /// Where the forks begin, and the second one.
    start: usize,
    second: Option<usize>,
}

/// A fork.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fork<'a> {
    bytes: &'a [u8],
    is_tree: bool,
    extents: u64,
}

impl Inode {
    /// Reads an inode of at least 256 bytes.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let version = bytes[4];
        if &bytes[..2] != MAGIC || !(1..=3).contains(&version) {
            return None;
        }
        let start = if version == 3 { 176 } else { 100 };
        let wide = version == 3 && long(bytes, 120) & WIDE_COUNTS != 0;
        let second = match usize::from(bytes[82]) * 8 {
            0 => None,
            offset if start + offset < bytes.len() => Some(start + offset),
            _ => return None,
        };
        Some(Self {
            shape: match half(bytes, 2) & FORMAT {
                DIRECTORY => Shape::Directory,
                _ => Shape::Other,
            },
            is_real_time: half(bytes, 90) & REAL_TIME != 0,
            formats: [bytes[5], bytes[83]],
            extents: if wide {
                [long(bytes, 24), word(bytes, 76)]
            } else {
                [word(bytes, 76), half(bytes, 80)]
            },
            start,
            second,
        })
    }

    /// The fork of the content, if blocks of this volume are in it.
    pub(super) fn data<'a>(&self, bytes: &'a [u8]) -> Option<Fork<'a>> {
        let end = self.second.unwrap_or(bytes.len());
        self.fork(0, &bytes[self.start..end])
            .filter(|_| !self.is_real_time)
    }

    /// The fork of the attributes, if blocks are in it.
    pub(super) fn attributes<'a>(&self, bytes: &'a [u8]) -> Option<Fork<'a>> {
        self.fork(1, &bytes[self.second?..])
    }

    fn fork<'a>(&self, which: usize, bytes: &'a [u8]) -> Option<Fork<'a>> {
        let is_tree = match self.formats[which] {
            EXTENTS => false,
            TREE => true,
            _ => return None,
        };
        let extents = self.extents[which];
        Some(Fork {
            bytes,
            is_tree,
            extents,
        })
    }
}

/// Paints what a fork leads to.
pub(super) fn walk_fork(volume: &mut Volume<'_>, fork: &Fork<'_>, class: Class) -> Result<()> {
    if !fork.is_tree {
        let room = (fork.bytes.len() / EXTENT) as u64;
        if fork.extents > room {
            volume.odd("extents");
        }
        return paint(volume, fork.bytes, fork.extents.min(room) as usize, class);
    }
    if fork.bytes.len() < 4 {
        volume.odd("tree of extents");
        return Ok(());
    }
    let sums = volume.superblock().has_sums;
    let header = if sums { 72 } else { 24 };
    let magic: &[u8] = if sums { b"BMA3" } else { b"BMAP" };
    let (level, count) = (half(fork.bytes, 0), half(fork.bytes, 2) as usize);
    if level == 0 || level > LEVELS_MAX {
        volume.odd("tree of extents");
        return Ok(());
    }
    let mut nodes = Vec::new();
    descend(volume, &fork.bytes[4..], level, count, &mut nodes);
    while let Some((block, level)) = nodes.pop() {
        let Some(content) = volume.extent_block(block)? else {
            volume.odd("tree of extents");
            continue;
        };
        volume.paint_extent(block, 1, Class::BlockMap)?;
        let (found, count) = (half(&content, 4), half(&content, 6) as usize);
        if &content[..4] != magic || found != level {
            volume.odd("tree of extents");
            continue;
        }
        let body = &content[header..];
        if level > 0 {
            descend(volume, body, level, count, &mut nodes);
        } else if count <= body.len() / EXTENT {
            paint(volume, body, count, class)?;
        } else {
            volume.odd("tree of extents");
        }
    }
    Ok(())
}

/// Adds the children of a node, whose keys and pointers are `body`.
fn descend(
    volume: &mut Volume<'_>,
    body: &[u8],
    level: u64,
    count: usize,
    nodes: &mut Vec<(u64, u64)>,
) {
    let room = body.len() / (2 * WORD);
    if count > room {
        volume.odd("tree of extents");
        return;
    }
    let pointers = body[room * WORD..].chunks_exact(WORD).take(count);
    nodes.extend(pointers.map(|pointer| (long(pointer, 0), level - 1)));
}

/// Paints extents; data is painted already.
fn paint(volume: &mut Volume<'_>, records: &[u8], count: usize, class: Class) -> Result<()> {
    if class == Class::FileData {
        return Ok(());
    }
    for record in records.chunks_exact(EXTENT).take(count) {
        let (upper, lower) = (long(record, 0), long(record, 8));
        let start = (upper & 0x1ff) << 43 | lower >> 21;
        volume.paint_extent(start, lower & 0x1f_ffff, class)?;
    }
    Ok(())
}
