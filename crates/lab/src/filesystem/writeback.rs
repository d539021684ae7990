//! Writing back: what is dirty goes to the device, when it is old or when there is too much.
//!
//! ```text
//!   every 5 s     files that have been dirty for 30 s, the oldest first
//!   above 5 %     files, the oldest first, until it is less
//!   above 10 %    the same, and who makes more dirty waits
//! ```
//!
//! Pages of a file go in their order, 1,024 at most before it is another's turn. Metadata is the
//! file of the device itself: its blocks wait there once they are committed.

use std::collections::BTreeSet;

use super::cache::DEVICE;
use super::engine::{Blame, FileSystem};
use super::queue::Purpose;
use crate::disk::drive::Operation;

/// Pages of a file at a time.
const TURN: u32 = 1024;

/// Whether the device's memory is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressure {
    None,
    /// Memory is needed: everything is written.
    Memory,
}

/// What is to be written.
#[derive(Debug, Clone)]
pub(super) struct WriteBack {
    /// Files that are dirty, by since when.
    order: BTreeSet<(u64, u32)>,
    /// What was dirty before this is written.
    until_ns: u64,
    next_ns: u64,
    pressure: Pressure,
    /// The file whose turn it is, its next page, and how many it has left.
    current: Option<(u32, u32, u32)>,
}

impl WriteBack {
    pub(super) fn new(wakeup_ns: u64) -> Self {
        Self {
            order: BTreeSet::new(),
            until_ns: 0,
            next_ns: wakeup_ns.max(1),
            pressure: Pressure::None,
            current: None,
        }
    }

    /// When ages are looked at next.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Memory is needed.
    pub(super) fn hurry(&mut self) {
        self.pressure = Pressure::Memory;
    }
}

impl FileSystem {
    fn background(&self) -> usize {
        self.cache.capacity() * self.options.background_percent as usize / 100
    }

    fn limit(&self) -> usize {
        self.cache.capacity() * self.options.dirty_percent as usize / 100
    }

    /// Marks a page of a file as dirty.
    pub(super) fn dirty_page(&mut self, number: u32, page: u32, block: u32) {
        self.cache.set_dirty(block, true);
        let now_ns = self.now_ns;
        let inode = self.inodes.get_mut(number);
        inode.dirty.insert(page);
        if inode.dirtied_ns.is_none() {
            inode.dirtied_ns = Some(now_ns);
            self.writeback.order.insert((now_ns, number));
        }
    }

    /// Marks a block of metadata as dirty.
    pub(super) fn dirty_metadata(&mut self, block: u32) {
        self.dirty_page(DEVICE, block, block);
    }

    /// Takes the mark from a page.
    pub(super) fn clean_page(&mut self, block: u32) {
        let Some(page) = self.cache.get(block).copied().filter(|page| page.dirty) else {
            return;
        };
        self.cache.set_dirty(block, false);
        let inode = self.inodes.get_mut(page.inode);
        inode.dirty.remove(&page.index);
        if inode.dirty.is_empty()
            && let Some(since_ns) = inode.dirtied_ns.take()
        {
            self.writeback.order.remove(&(since_ns, page.inode));
        }
    }

    /// Hands a dirty page in to be written.
    pub(super) fn write_page(&mut self, purpose: Purpose, block: u32) {
        let class = self.class_of(block);
        self.clean_page(block);
        self.cache.set_writing(block, true);
        self.queue.add(purpose, Operation::Write, class, block);
    }

    /// The caller has made pages dirty, and waits if there are too many.
    pub(super) fn balance(&mut self) {
        let over = |system: &Self| system.cache.dirty() + system.cache.writing() > system.limit();
        if over(self) {
            self.wait(Blame::Served, |system| !over(system));
        }
    }

    /// Writes on; whether anything was handed in.
    pub(super) fn run_writeback(&mut self) -> bool {
        let mut moved = false;
        if self.writeback.next_ns <= self.now_ns {
            self.writeback.next_ns = self.now_ns + self.options.wakeup_ns.max(1);
            self.writeback.until_ns = self.now_ns.saturating_sub(self.options.expire_ns);
        }
        if self.writeback.pressure == Pressure::Memory && self.cache.dirty() == 0 {
            self.writeback.pressure = Pressure::None;
        }
        // Turns that found nothing but what is on its way already.
        let mut idle = 0;
        while self.queue.has_room() && idle <= self.writeback.order.len() {
            let Some((number, from, left)) = self.writeback.current.or_else(|| self.next_file())
            else {
                break;
            };
            let inode = self.inodes.find(number);
            let next = inode.and_then(|inode| {
                let page = *inode.dirty.range(from..).next()?;
                let block = if number == DEVICE {
                    Some(page)
                } else {
                    inode.block(page)
                };
                Some((page, block.expect("a dirty page has a block")))
            });
            let Some((page, block)) = next.filter(|_| left > 0) else {
                self.end_turn(number);
                idle += 1;
                continue;
            };
            self.writeback.current = Some((number, page + 1, left - 1));
            if !self.cache.is_writing(block) {
                self.write_page(Purpose::WriteBack, block);
                (moved, idle) = (true, 0);
            }
        }
        moved
    }

    /// The file whose turn it is, if any must be written.
    fn next_file(&self) -> Option<(u32, u32, u32)> {
        let &(since_ns, number) = self.writeback.order.first()?;
        let old = since_ns < self.writeback.until_ns;
        let many = self.cache.dirty() > self.background();
        let over = self.cache.dirty() + self.cache.writing() > self.limit();
        let hurry = self.writeback.pressure == Pressure::Memory;
        (old || many || over || hurry).then_some((number, 0, TURN))
    }

    /// What a file still has waits as if it were dirty from now on.
    fn end_turn(&mut self, number: u32) {
        self.writeback.current = None;
        let now_ns = self.now_ns;
        if self.inodes.find(number).is_none() {
            return;
        }
        let inode = self.inodes.get_mut(number);
        if let Some(since_ns) = inode.dirtied_ns.replace(now_ns) {
            self.writeback.order.remove(&(since_ns, number));
            self.writeback.order.insert((now_ns, number));
        } else {
            inode.dirtied_ns = None;
        }
    }
}
