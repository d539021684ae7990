//! The blocks of one inode: indirect blocks of ext2 and ext3, trees of extents of ext4.
//!
//! ```text
//!   12 blocks │ indirect │ double │ triple        header │ (index ──▸ node)* or (extent)*
//! ```

use super::ext::Volume;
use super::superblock::{half, word};
use crate::error::Result;

const EXTENT_MAGIC: u64 = 0xf30a;
/// The kernel makes no deeper trees.
const DEPTH_MAX: u64 = 5;
/// Longer ones are allocated but not written; the rest is their length.
const WRITTEN_MAX: u64 = 32768;
const ENTRY: usize = 12;
/// Direct blocks of an inode, and how deep the blocks behind them point.
const DIRECT: usize = 12;

/// What a walk tells of: consecutive blocks, and what they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Content of the file.
    Content,
    /// Where other blocks are.
    Pointers,
}

/// Which blocks a walk is to tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All.
    All,
    /// Only those that point to others.
    Pointers,
}

/// Tells `each` the blocks that the 60 bytes `root` of an inode with extents lead to, in the order
/// of the file.
pub(super) fn walk_extents(
    volume: &mut Volume<'_>,
    root: &[u8],
    wanted: Wanted,
    each: &mut Each<'_>,
) -> Result<()> {
    let mut nodes = vec![(root.to_vec(), DEPTH_MAX + 1)];
    while let Some((node, above)) = nodes.pop() {
        let (entries, depth) = (half(&node, 2), half(&node, 6));
        let room = (node.len() / ENTRY) as u64 - 1;
        if half(&node, 0) != EXTENT_MAGIC || entries > room || depth >= above {
            volume.odd("extent tree");
            continue;
        }
        let mut below = Vec::new();
        for entry in node.chunks_exact(ENTRY).skip(1).take(entries as usize) {
            if depth > 0 {
                let block = word(entry, 4) | half(entry, 8) << 32;
                if volume.has(block, 1) {
                    each(block, 1, Found::Pointers)?;
                    below.push((volume.block(block)?, depth));
                } else {
                    volume.odd("extent tree");
                }
            } else if wanted == Wanted::All {
                let length = half(entry, 4);
                let length = match length {
                    0..=WRITTEN_MAX => length,
                    _ => length - WRITTEN_MAX,
                };
                let start = word(entry, 8) | half(entry, 6) << 32;
                if volume.has(start, length) {
                    each(start, length, Found::Content)?;
                } else {
                    volume.odd("extent");
                }
            }
        }
        nodes.extend(below.into_iter().rev());
    }
    Ok(())
}

/// Who is told of blocks.
pub(super) type Each<'a> = dyn FnMut(u64, u64, Found) -> Result<()> + 'a;

/// Tells `each` the blocks that the 60 bytes `root` of an inode without extents lead to, in the
/// order of the file.
pub(super) fn walk_indirect(
    volume: &mut Volume<'_>,
    root: &[u8],
    wanted: Wanted,
    each: &mut Each<'_>,
) -> Result<()> {
    let mut nodes: Vec<(u64, u32)> = Vec::new();
    for (index, pointer) in root.chunks_exact(4).enumerate() {
        let depth = index.saturating_sub(DIRECT - 1) as u32;
        nodes.push((word(pointer, 0), depth));
    }
    nodes.reverse();
    while let Some((block, depth)) = nodes.pop() {
        if block == 0 {
            continue;
        }
        if !volume.has(block, 1) {
            volume.odd("indirect block");
            continue;
        }
        if depth == 0 {
            if wanted == Wanted::All {
                each(block, 1, Found::Content)?;
            }
            continue;
        }
        each(block, 1, Found::Pointers)?;
        if depth == 1 && wanted == Wanted::Pointers {
            continue;
        }
        let content = volume.block(block)?;
        nodes.extend(
            content
                .chunks_exact(4)
                .rev()
                .map(|pointer| (word(pointer, 0), depth - 1)),
        );
    }
    Ok(())
}
