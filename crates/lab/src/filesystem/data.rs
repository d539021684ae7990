//! Contents of files: read through the cache, written into it.
//!
//! A page that is written joins the running transaction's data. If the transaction being committed
//! has the page and it is not even on its way to the device, the writer waits for it, as in jbd:
//! its old contents must be there first. Writing past the end (holes) is not modelled.

use super::engine::{Blame, FileSystem};
use super::files::Node;
use super::inode;
use super::options::{AccessTime, BLOCK, Journaling, SECOND_NS};
use super::queue::Purpose;
use super::readahead::Fetch;
use crate::component::Component;
use crate::disk::drive::Operation;
use crate::error::{Error, Kind, Result};

const DATA: Blame = Blame::Component(Component::FileData);

impl FileSystem {
    /// Reads so many bytes of an open file, less at its end; how many were read.
    pub fn read(&mut self, node: Node, offset: u64, bytes: u64) -> u64 {
        self.compute(self.options.costs.call_ns);
        let number = node.number();
        let end = (offset + bytes).min(self.inodes.get(number).size);
        if offset >= end {
            return 0;
        }
        let last = ((end - 1) / BLOCK) as u32;
        for page in (offset / BLOCK) as u32..=last {
            self.read_page(number, page, last - page + 1);
        }
        self.accessed(number);
        end - offset
    }

    /// Reads a page, the first of `asked`.
    fn read_page(&mut self, number: u32, page: u32, asked: u32) {
        self.read_lists(number, page);
        let most = (self.options.read_ahead_bytes / BLOCK) as u32;
        let inode = self.inodes.get_mut(number);
        let block = inode.block(page).expect("a page below the file's end");
        let missing = if self.cache.get(block).is_none() {
            self.account.misses += 1;
            Some(inode.ahead.miss(page, asked, most))
        } else {
            self.account.hits += 1;
            None
        };
        let ahead = inode.ahead.hit(page, most);
        inode.ahead.read(page);
        for fetch in [missing, ahead].into_iter().flatten() {
            self.fetch(number, fetch);
        }
        // A page that was in memory is ours, though making room for others may have let it go.
        if self.cache.get(block).is_some() {
            self.wait(DATA, |system| system.cache.is_ready(block));
            self.cache.touch(block);
        }
        self.compute(self.options.costs.page_ns);
    }

    /// Reads the blocks that list a page.
    pub(super) fn read_lists(&mut self, number: u32, page: u32) {
        for slot in inode::path(page) {
            let block = self.inodes.get(number).indirect(slot);
            self.read_metadata(block.expect("a listed page has its lists"));
        }
    }

    /// Hands in the reading of pages that are not in memory.
    pub(super) fn fetch(&mut self, number: u32, fetch: Fetch) {
        let pages = self.inodes.get(number).pages();
        for page in fetch.page..(fetch.page + fetch.count).min(pages) {
            let block = self.inodes.get(number).block(page);
            let block = block.expect("a page below the file's end");
            if self.cache.get(block).is_some() {
                continue;
            }
            self.make_room();
            self.cache.insert(block, number, page);
            self.cache.get_mut(block).expect("just inserted").reading = true;
            self.queue
                .add(Purpose::Read, Operation::Read, Component::FileData, block);
        }
    }

    /// Notes that a file or directory was read.
    pub(super) fn accessed(&mut self, number: u32) {
        let now_s = self.now_ns / SECOND_NS;
        let inode = self.inodes.get_mut(number);
        if self.options.access_time == AccessTime::Kept && inode.accessed_s != now_s {
            inode.accessed_s = now_s;
            self.begin_handle();
            self.modify_inode(number);
        }
    }

    /// Writes so many bytes into an open file, at its end or before.
    pub fn write(&mut self, node: Node, offset: u64, bytes: u64) -> Result<()> {
        self.compute(self.options.costs.call_ns);
        let number = node.number();
        if offset > self.inodes.get(number).size {
            let what = "a write past the end leaves a hole, which is not modelled";
            return Err(Error::new(Kind::Unsupported, what));
        }
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let page = (at / BLOCK) as u32;
            let next = (u64::from(page) + 1) * BLOCK;
            self.write_into_page(number, page, at, end.min(next))?;
            at = end.min(next);
        }
        Ok(())
    }

    /// Writes into one page.
    fn write_into_page(&mut self, number: u32, page: u32, from: u64, to: u64) -> Result<()> {
        self.begin_handle();
        let inode = self.inodes.get(number);
        let size = inode.size;
        let now_s = self.now_ns / SECOND_NS;
        let times = inode.changed_s != now_s;
        let block = if let Some(block) = inode.block(page) {
            let start = u64::from(page) * BLOCK;
            let whole = from == start && to >= size.min(start + BLOCK);
            if !whole && !self.cache.is_ready(block) {
                self.read_page(number, page, 1);
            }
            block
        } else {
            self.extend(number)?
        };
        if to > size || times {
            let inode = self.inodes.get_mut(number);
            (inode.size, inode.changed_s) = (size.max(to), now_s);
            self.modify_inode(number);
        }
        self.wait_for_commit(block);
        if self.cache.get(block).is_none() {
            self.make_room();
            self.cache.insert(block, number, page);
        }
        self.cache.touch(block);
        self.join_data(block);
        self.dirty_page(number, page, block);
        self.compute(self.options.costs.page_ns);
        self.balance();
        Ok(())
    }

    /// Sees to a page that the transaction being committed has: if it is dirty it is written now,
    /// and the writer waits; if it is on its way, the commit waits for it, and the writer goes on.
    fn wait_for_commit(&mut self, block: u32) {
        let page = self.cache.get(block).copied();
        let Some(committing) = &mut self.journal.committing else {
            return;
        };
        let number = committing.transaction.number;
        let Some(page) = page.filter(|page| page.transaction == number) else {
            return;
        };
        if page.dirty {
            self.wait(DATA, |system| !system.cache.is_writing(block));
            if self.cache.get(block).is_some_and(|page| page.dirty) {
                self.write_page(Purpose::WriteBack, block);
            }
            self.wait(DATA, |system| !system.cache.is_writing(block));
        } else if page.writing {
            committing.awaited.push_back(block);
        }
    }

    /// Makes a page part of the running transaction's data.
    fn join_data(&mut self, block: u32) {
        if self.options.journaling == Journaling::None {
            return;
        }
        let running = self.journal.running(self.now_ns);
        let page = self.cache.get_mut(block).expect("a page in memory");
        if page.transaction != running.number {
            page.transaction = running.number;
            running.data.push(block);
        }
    }

    /// Takes a file's pages from memory; waits for those on their way to the device.
    pub(super) fn drop_pages(&mut self, number: u32) {
        if self.inodes.get(number).directory {
            return;
        }
        for page in 0..self.inodes.get(number).blocks.len() as u32 {
            let block = self.inodes.get(number).block(page).expect("below the end");
            self.clean_page(block);
            if self.cache.is_writing(block) {
                self.wait(DATA, |system| !system.cache.is_writing(block));
            }
            if !self.cache.is_ready(block) && self.cache.get(block).is_some() {
                self.wait(DATA, |system| system.cache.is_ready(block));
            }
            if self.cache.get(block).is_some() {
                self.cache.remove(block);
            }
        }
    }

    /// Writes a file's dirty pages, and waits for them.
    pub(super) fn write_out(&mut self, number: u32, class: Component) {
        let dirty: Vec<u32> = self.inodes.get(number).dirty.iter().copied().collect();
        let block_of = |system: &Self, page: u32| {
            let block = system.inodes.get(number).block(page);
            if number == super::cache::DEVICE {
                page
            } else {
                block.expect("below the end")
            }
        };
        let mut written = Vec::new();
        for page in dirty {
            if !self.queue.has_room() {
                self.wait(Blame::Component(class), |system| system.queue.has_room());
            }
            let block = block_of(self, page);
            if self.cache.is_writing(block) {
                self.wait(Blame::Component(class), |system| {
                    !system.cache.is_writing(block)
                });
            }
            if self.inodes.get(number).dirty.contains(&page) {
                self.write_page(Purpose::WriteBack, block);
            }
            written.push(block);
        }
        for block in written {
            self.wait(Blame::Component(class), |system| {
                !system.cache.is_writing(block)
            });
        }
    }

    /// Writes a block of metadata if it is dirty, and waits for it.
    pub(super) fn write_block(&mut self, block: u32, class: Component) {
        if self
            .cache
            .get(block)
            .is_some_and(|page| page.dirty && !page.writing)
        {
            self.write_page(Purpose::WriteBack, block);
        }
        self.wait(Blame::Component(class), |system| {
            !system.cache.is_writing(block)
        });
    }
}
