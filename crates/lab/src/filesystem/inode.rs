//! Inodes in memory: what a file's blocks are, and which blocks list them.
//!
//! ```text
//!   pages 0..12        in the inode
//!   12..1036           in the indirect block, slot 0
//!   1036..1049612      in blocks, slots 2.., listed in the double indirect block, slot 1
//! ```
//!
//! Triple indirect blocks are not modelled: files end at 4 GiB.

use std::collections::BTreeSet;

use super::allocator::Window;
use super::readahead::ReadAhead;

/// Pages that an inode lists itself.
const DIRECT: u32 = 12;
/// Pages that an indirect block lists.
const PER_BLOCK: u32 = 1024;
/// Pages of a file at most.
pub(super) const PAGES_MAX: u32 = DIRECT + PER_BLOCK + PER_BLOCK * PER_BLOCK;

/// A file or a directory.
#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    /// Bytes.
    pub(super) size: u64,
    /// The block of each page.
    pub(super) blocks: Vec<u32>,
    /// Blocks that list blocks, by slot; 0 is none.
    pub(super) indirect: Vec<u32>,
    /// Its reservation.
    pub(super) window: Window,
    /// The page and the block allocated last.
    pub(super) last: Option<(u32, u32)>,
    /// Pages that are dirty.
    pub(super) dirty: BTreeSet<u32>,
    /// Since when the first of them is.
    pub(super) dirtied_ns: Option<u64>,
    /// How it is read.
    pub(super) ahead: ReadAhead,
    /// Seconds of the times it keeps: access, change.
    pub(super) accessed_s: u64,
    pub(super) changed_s: u64,
    /// Whether it is a directory.
    pub(super) directory: bool,
    /// Whether its name and itself were used since mounting.
    pub(super) known: bool,
    /// Descriptors open.
    pub(super) open: u32,
}

impl Inode {
    /// Pages, by its size.
    pub(super) fn pages(&self) -> u32 {
        self.size.div_ceil(super::options::BLOCK) as u32
    }

    /// The block of a page, if it has one.
    pub(super) fn block(&self, page: u32) -> Option<u32> {
        self.blocks.get(page as usize).copied()
    }

    /// The indirect block of a slot, if it has one.
    pub(super) fn indirect(&self, slot: u32) -> Option<u32> {
        let block = self.indirect.get(slot as usize).copied();
        block.filter(|&block| block != 0)
    }

    /// Puts a block in a slot.
    pub(super) fn set_indirect(&mut self, slot: u32, block: u32) {
        let slot = slot as usize;
        if self.indirect.len() <= slot {
            self.indirect.resize(slot + 1, 0);
        }
        self.indirect[slot] = block;
    }

    /// All its blocks: of pages, then those that list them.
    pub(super) fn all_blocks(&self) -> impl Iterator<Item = u32> + '_ {
        let indirect = self.indirect.iter().copied().filter(|&block| block != 0);
        self.blocks.iter().copied().chain(indirect)
    }
}

/// The slots of the blocks that list a page, outermost first.
pub(super) fn path(page: u32) -> impl Iterator<Item = u32> {
    let slots = if page < DIRECT {
        [None, None]
    } else if page < DIRECT + PER_BLOCK {
        [Some(0), None]
    } else {
        [Some(1), Some(2 + (page - DIRECT - PER_BLOCK) / PER_BLOCK)]
    };
    slots.into_iter().flatten()
}

/// The pages that the innermost block which lists `page` begins with.
pub(super) fn first_listed(page: u32) -> u32 {
    if page < DIRECT {
        0
    } else {
        page - (page - DIRECT) % PER_BLOCK
    }
}

/// All inodes that exist, by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Inodes {
    table: Vec<Option<Box<Inode>>>,
}

impl Inodes {
    /// The inode of this number, if it exists.
    pub(super) fn find(&self, number: u32) -> Option<&Inode> {
        self.table.get(number as usize)?.as_deref()
    }

    /// The inode of this number, which exists.
    pub(super) fn get(&self, number: u32) -> &Inode {
        self.find(number).expect("an inode that exists")
    }

    /// The inode of this number, which exists.
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Inode {
        let slot = self.table.get_mut(number as usize);
        slot.and_then(Option::as_deref_mut)
            .expect("an inode that exists")
    }

    /// A new inode.
    pub(super) fn insert(&mut self, number: u32, inode: Inode) {
        let index = number as usize;
        if self.table.len() <= index {
            self.table.resize_with(index + 1, || None);
        }
        let before = self.table[index].replace(Box::new(inode));
        assert!(before.is_none(), "a number has one inode");
    }

    /// Takes an inode out.
    pub(super) fn remove(&mut self, number: u32) -> Box<Inode> {
        let slot = self.table.get_mut(number as usize);
        slot.and_then(Option::take).expect("an inode that exists")
    }

    /// What was known of them in memory is forgotten.
    pub(super) fn forget(&mut self) {
        for inode in self.table.iter_mut().flatten() {
            inode.known = false;
            inode.last = None;
            inode.ahead = ReadAhead::default();
        }
    }

    /// All that exist.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Inode)> {
        let numbered = (0..).zip(&self.table);
        numbered.filter_map(|(number, inode)| Some((number, inode.as_deref()?)))
    }
}
