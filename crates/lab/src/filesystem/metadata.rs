//! Changing metadata: what a file operation does to bitmaps, descriptors, tables and lists.
//!
//! ```text
//!   modify   read it if it is not in memory ─► join
//!   join     into the running transaction; waits while the block is on its way to the device, or
//!            its copy into the log
//!   forget   out of it: the block was freed, and must not be replayed over its next owner
//! ```
//!
//! Without a log a changed block is dirty at once.

use super::cache::DEVICE;
use super::engine::{Blame, FileSystem};
use super::inode::{self, PAGES_MAX};
use super::journal::Stage;
use super::options::Journaling;
use crate::component::Component;
use crate::error::{Error, Kind, Result};

/// Parts of a group over which processes spread their files.
const COLOURS: u32 = 16;

impl FileSystem {
    /// Changes a block of metadata.
    pub(super) fn modify(&mut self, block: u32) {
        self.read_metadata(block);
        self.join(block);
    }

    /// Puts a block that is in memory into the running transaction.
    pub(super) fn join(&mut self, block: u32) {
        if self.options.journaling == Journaling::None {
            self.dirty_metadata(block);
            return;
        }
        if self.cache.is_writing(block) {
            let class = self.class_of(block);
            self.wait(Blame::Component(class), |system| {
                !system.cache.is_writing(block)
            });
        }
        let copying = |system: &Self| {
            let committing = system.journal.committing.as_ref();
            let page = system.cache.get(block);
            page.is_some_and(|page| page.committing)
                && committing.is_some_and(|committing| matches!(committing.stage, Stage::Log(_)))
        };
        if copying(self) {
            self.wait(Blame::Component(Component::Journal), |system| {
                !copying(system)
            });
        }
        // While time passed the page may have become free to go, and gone.
        if self.cache.get(block).is_none() {
            self.new_metadata(block);
        }
        let page = self.cache.get_mut(block).expect("a page in memory");
        if page.running {
            return;
        }
        (page.running, page.forgotten) = (true, false);
        self.clean_page(block);
        let now_ns = self.now_ns;
        self.journal.running(now_ns).metadata.push(block);
    }

    /// A block of metadata was freed.
    pub(super) fn forget(&mut self, block: u32) {
        self.directory_blocks.remove(&block);
        let ordered = self.options.journaling == Journaling::Ordered;
        let now_ns = self.now_ns;
        if ordered {
            self.journal.running(now_ns).revoked += 1;
        }
        self.clean_page(block);
        let Some(page) = self.cache.get_mut(block) else {
            return;
        };
        if std::mem::take(&mut page.running) {
            let metadata = &mut self.journal.running(now_ns).metadata;
            let at = metadata.iter().rposition(|&other| other == block);
            metadata.remove(at.expect("a block of the running transaction"));
        }
        let page = self.cache.get_mut(block).expect("looked at");
        if page.committing {
            page.forgotten = true;
        } else {
            let transaction = page.transaction;
            self.cache.remove(block);
            self.journal.written(transaction);
        }
    }

    /// Changes the inode's block of its table.
    pub(super) fn modify_inode(&mut self, number: u32) {
        let block = self.geometry.table_block(number);
        self.modify(block);
    }

    /// Changes the table for an inode that is new: the block is not read if nothing else is in it.
    pub(super) fn modify_new_inode(&mut self, number: u32) {
        let block = self.geometry.table_block(number);
        if self.allocator.has_neighbours(&self.geometry, number) {
            self.modify(block);
        } else {
            self.new_metadata(block);
            self.join(block);
        }
    }

    /// Changes the bitmap and the descriptor for a block.
    fn modify_free_blocks(&mut self, block: u32) {
        let group = self.geometry.group_of(block);
        self.modify(self.geometry.block_bitmap(group));
        self.modify(self.geometry.descriptor(group));
    }

    /// Changes the bitmap and the descriptor for an inode.
    pub(super) fn modify_free_inodes(&mut self, number: u32) {
        let group = self.geometry.group_of_inode(number);
        self.modify(self.geometry.inode_bitmap(group));
        self.modify(self.geometry.descriptor(group));
    }

    /// Takes a block for an inode.
    fn allocate(&mut self, number: u32, goal: u32) -> Result<u32> {
        self.compute(self.options.costs.allocate_ns);
        let group = self.geometry.group_of(goal);
        self.read_metadata(self.geometry.block_bitmap(group));
        let inode = self.inodes.get_mut(number);
        let found = self
            .allocator
            .allocate(&self.geometry, goal, &mut inode.window);
        let Some(block) = found else {
            let what = "no block is free: use fewer or smaller files, or a larger device";
            return Err(Error::new(Kind::Impossible, what));
        };
        self.modify_free_blocks(block);
        Ok(block)
    }

    /// Where the block of a page should be: behind the last one, or near the inode.
    fn goal(&self, number: u32, page: u32) -> u32 {
        let inode = self.inodes.get(number);
        if let Some((last, block)) = inode.last
            && last + 1 == page
        {
            return (block + 1).min(self.geometry.blocks - 1);
        }
        if page > inode::first_listed(page) {
            return inode.blocks[page as usize - 1];
        }
        if let Some(slot) = inode::path(page).last()
            && let Some(block) = inode.indirect(slot)
        {
            return block;
        }
        let group = self.geometry.group_of_inode(number);
        let (start, end) = (self.geometry.start(group), self.geometry.end(group));
        let colour = self.options.process % COLOURS;
        start + (end - start) / COLOURS * colour
    }

    /// Gives the page after the file's last one a block.
    pub(super) fn extend(&mut self, number: u32) -> Result<u32> {
        let page = self.inodes.get(number).blocks.len() as u32;
        if page >= PAGES_MAX {
            let what = "files end at 4 GiB here: use more of them";
            return Err(Error::new(Kind::Unsupported, what));
        }
        let mut goal = self.goal(number, page);
        let mut outer = None;
        for slot in inode::path(page) {
            if self.inodes.get(number).indirect(slot).is_none() {
                let block = self.allocate(number, goal)?;
                self.inodes.get_mut(number).set_indirect(slot, block);
                self.new_metadata(block);
                self.join(block);
                if let Some(outer) = outer {
                    self.modify(outer);
                }
                goal = (block + 1).min(self.geometry.blocks - 1);
            }
            outer = self.inodes.get(number).indirect(slot);
        }
        let block = self.allocate(number, goal)?;
        if let Some(outer) = outer {
            self.modify(outer);
        }
        let inode = self.inodes.get_mut(number);
        inode.blocks.push(block);
        inode.last = Some((page, block));
        Ok(block)
    }

    /// Frees an inode's blocks. Their pages are gone.
    pub(super) fn free_blocks(&mut self, number: u32) {
        let inode = self.inodes.get_mut(number);
        let blocks = std::mem::take(&mut inode.blocks);
        let lists = std::mem::take(&mut inode.indirect);
        let directory = inode.directory;
        let mut group = None;
        let lists = lists.into_iter().filter(|&block| block != 0);
        let lists: Vec<u32> = lists.collect();
        for &block in &lists {
            self.read_metadata(block);
        }
        for (list, &block) in blocks
            .iter()
            .map(|block| (directory, block))
            .chain(lists.iter().map(|block| (true, block)))
        {
            let own = Some(self.geometry.group_of(block));
            if group != own {
                self.modify_free_blocks(block);
                group = own;
            }
            if list {
                self.forget(block);
            }
            self.free_block(block);
        }
    }

    fn free_block(&mut self, block: u32) {
        let ordered = self.options.journaling == Journaling::Ordered;
        self.allocator.free(&self.geometry, block, ordered);
        if ordered {
            let now_ns = self.now_ns;
            self.journal.running(now_ns).freed.push(block);
        }
        debug_assert!(
            self.cache
                .get(block)
                .is_none_or(|page| page.inode == DEVICE),
            "pages of a file go before its blocks"
        );
    }
}
