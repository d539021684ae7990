//! The commits: data, copies, record; and checkpoints, when the log is full.
//!
//! ```text
//!   Data ──(all of it is on the device)──► Log ──(all)──► [Flush] ──► Record ──► done
//! ```
//!
//! What ordered mode promises is the first arrow: no record before the data. While copies are on
//! their way into the log nobody may change their blocks, and who wants to, waits: jbd writes the
//! buffers themselves. Data goes out in the order in which it was made dirty.
//!
//! With barriers a flush goes before the record, and the record is written through.

use std::collections::VecDeque;

use super::cache::DEVICE;
use super::engine::{Blame, FileSystem};
use super::journal::{Committing, Stage, Transaction};
use super::options::{Barrier, Journaling};
use super::queue::Purpose;
use crate::component::Component;
use crate::disk::drive::Operation;

impl FileSystem {
    /// When the running transaction is old enough.
    pub(super) fn commit_time(&self) -> Option<u64> {
        let idle = self.journal.committing.is_none();
        let running = self.journal.running.as_ref().filter(|_| idle)?;
        Some(running.started_ns + self.options.commit_ns)
    }

    /// Asks for the running transaction to be committed; its number.
    pub(super) fn request_commit(&mut self) -> u32 {
        let number = match &self.journal.running {
            Some(running) => running.number,
            None => match &self.journal.committing {
                Some(committing) => committing.transaction.number,
                None => self.journal.committed(),
            },
        };
        self.journal.requested = self.journal.requested.max(number);
        number
    }

    /// Asks for a commit of everything, and waits for it.
    pub(super) fn commit_and_wait(&mut self) {
        let number = self.request_commit();
        self.wait(Blame::Served, |system| system.journal.committed() >= number);
    }

    /// Takes the commit on as far as it goes; whether it moved.
    pub(super) fn run_commit(&mut self) -> bool {
        let before = self.stage();
        if before.is_none() && !self.begin_commit() {
            return false;
        }
        loop {
            let stage = self.stage();
            match stage {
                Some(Stage::Data(next)) => self.commit_data(next),
                Some(Stage::Log(next)) => self.commit_log(next),
                Some(Stage::Flush) => self.commit_flushed(),
                Some(Stage::Record) if self.queue.count(Purpose::Commit) == 0 => {
                    self.commit_ends();
                }
                Some(Stage::Record) | None => {}
            }
            if self.stage() == stage {
                return stage != before;
            }
            if self.stage().is_none() {
                return true;
            }
        }
    }

    fn stage(&self) -> Option<Stage> {
        let committing = self.journal.committing.as_ref();
        committing.map(|committing| committing.stage)
    }

    fn set_stage(&mut self, stage: Stage) {
        let committing = self.journal.committing.as_mut();
        committing.expect("a commit under way").stage = stage;
    }

    fn transaction(&self) -> &Transaction {
        let committing = self.journal.committing.as_ref();
        &committing.expect("a commit under way").transaction
    }

    /// Begins a commit if it is time.
    fn begin_commit(&mut self) -> bool {
        let Some(running) = &self.journal.running else {
            return false;
        };
        let due = running.started_ns + self.options.commit_ns <= self.now_ns;
        if !due && self.journal.requested < running.number {
            return false;
        }
        let transaction = self.journal.running.take().expect("looked at");
        for &block in &transaction.metadata {
            let page = self.cache.get_mut(block).expect("a transaction's block");
            (page.running, page.committing) = (false, true);
        }
        self.journal.committing = Some(Committing {
            transaction,
            stage: Stage::Data(0),
            awaited: VecDeque::new(),
        });
        true
    }

    /// Hands in data that is dirty, and waits for what is on its way.
    fn commit_data(&mut self, first: usize) {
        let number = self.transaction().number;
        let mut next = first;
        while self.queue.has_room()
            && let Some(&block) = self.transaction().data.get(next)
        {
            next += 1;
            let ours = |inode: u32, transaction: u32| inode != DEVICE && transaction == number;
            let Some(&page) = self.cache.get(block) else {
                continue;
            };
            if !ours(page.inode, page.transaction) {
                continue;
            }
            if page.dirty && !page.writing {
                self.write_page(Purpose::Commit, block);
            } else if page.writing {
                // Written as it was when it was handed in; if it was changed since, again.
                let committing = self.journal.committing.as_mut();
                let committing = committing.expect("a commit under way");
                committing.awaited.push_back(block);
            }
        }
        self.commit_awaited();
        let committing = self.journal.committing.as_ref();
        let committing = committing.expect("a commit under way");
        let all = next == committing.transaction.data.len() && committing.awaited.is_empty();
        if all && self.queue.count(Purpose::Commit) == 0 {
            self.set_stage(Stage::Log(0));
        } else {
            self.set_stage(Stage::Data(next));
        }
    }

    /// Looks after data that was on its way when its turn came.
    fn commit_awaited(&mut self) {
        let number = self.transaction().number;
        loop {
            let committing = self.journal.committing.as_mut();
            let awaited = &mut committing.expect("a commit under way").awaited;
            let Some(&block) = awaited.front() else {
                return;
            };
            match self.cache.get(block) {
                Some(page) if page.writing => return,
                Some(page) if page.dirty && page.inode != DEVICE && page.transaction == number => {
                    if !self.queue.has_room() {
                        return;
                    }
                    awaited.pop_front();
                    self.write_page(Purpose::Commit, block);
                }
                _ => {
                    awaited.pop_front();
                }
            }
        }
    }

    /// Hands in the blocks of the log.
    fn commit_log(&mut self, first: u32) {
        let all = self.transaction().log_blocks();
        let mut next = first;
        while next < all && self.queue.has_room() {
            let block = self.journal.take();
            self.log_write(Operation::Write, block);
            next += 1;
        }
        let done = next == all && self.queue.count(Purpose::Commit) == 0;
        match (done, self.options.barrier) {
            (false, _) => self.set_stage(Stage::Log(next)),
            (true, Barrier::On) => {
                self.log_write(Operation::Flush, 0);
                self.set_stage(Stage::Flush);
            }
            (true, Barrier::Off) => self.commit_record(Operation::Write),
        }
    }

    fn commit_flushed(&mut self) {
        if self.queue.count(Purpose::Commit) == 0 {
            self.commit_record(Operation::WriteThrough);
        }
    }

    fn commit_record(&mut self, operation: Operation) {
        let block = self.journal.take();
        self.log_write(operation, block);
        self.set_stage(Stage::Record);
    }

    fn log_write(&mut self, operation: Operation, block: u32) {
        self.queue
            .add(Purpose::Commit, operation, Component::Journal, block);
    }

    /// The transaction is committed: its blocks may go to their places, what it freed may be used.
    fn commit_ends(&mut self) {
        let transaction = self.journal.finish();
        self.account.commits += 1;
        for &block in &transaction.metadata {
            let page = self.cache.get_mut(block).expect("a transaction's block");
            page.committing = false;
            let before = page.transaction;
            if page.forgotten {
                page.forgotten = false;
                page.transaction = 0;
                self.journal.written(before);
                if !page.running {
                    self.cache.remove(block);
                }
                continue;
            }
            page.transaction = transaction.number;
            let running = page.running;
            self.journal.inherit(before);
            if !running {
                self.dirty_metadata(block);
            }
        }
        for block in transaction.freed {
            self.allocator.release(block);
        }
    }

    /// Makes sure that the log has room for another transaction, and the running one is not too
    /// large; the caller waits, as one who starts a handle does.
    pub(super) fn begin_handle(&mut self) {
        if self.options.journaling == Journaling::None {
            return;
        }
        let large = |system: &Self| {
            let running = system.journal.running.as_ref();
            running.is_some_and(|running| running.log_blocks() + 64 > system.journal.most())
        };
        if large(self) {
            let number = self.request_commit();
            let blame = Blame::Component(Component::Journal);
            self.wait(blame, |system| {
                let running = system.journal.running.as_ref();
                running.is_none_or(|running| running.number != number)
            });
        }
        while !self.journal.has_room() {
            self.checkpoint();
        }
        let now_ns = self.now_ns;
        self.journal.running(now_ns);
    }

    /// Writes what keeps the oldest transaction in the log, and the log's superblock.
    fn checkpoint(&mut self) {
        self.account.checkpoints += 1;
        let blame = Blame::Component(Component::Journal);
        if !self.journal.trim() {
            let Some(oldest) = self.journal.old.front().map(|old| old.number) else {
                // Only what is committing holds the log.
                let number = self.request_commit();
                self.wait(blame, |system| system.journal.committed() >= number);
                return;
            };
            let blocks: Vec<u32> = self.inodes.get(DEVICE).dirty.iter().copied().collect();
            for block in blocks {
                let page = self.cache.get(block);
                let ours = page.is_some_and(|page| page.transaction == oldest && !page.writing);
                if ours {
                    if !self.queue.has_room() {
                        self.wait(blame, |system| system.queue.has_room());
                    }
                    // Time may have passed; the block may have been written.
                    if self.inodes.get(DEVICE).dirty.contains(&block) {
                        self.write_page(Purpose::Checkpoint, block);
                    }
                }
            }
            let left = |system: &Self| {
                let front = system.journal.old.front();
                front.is_some_and(|old| old.number == oldest && old.left > 0)
            };
            self.wait(blame, |system| system.queue.count(Purpose::Checkpoint) == 0);
            if left(self) {
                // The rest is in a younger transaction, or being written back.
                let number = self.request_commit();
                self.wait(blame, |system| {
                    let committed = system.journal.committed() >= number;
                    !left(system) || (committed && system.cache.writing() == 0)
                });
            }
            self.journal.trim();
        }
        let superblock = self.journal.superblock();
        let class = Component::Journal;
        self.queue
            .add(Purpose::Checkpoint, Operation::Write, class, superblock);
        self.wait(blame, |system| system.queue.count(Purpose::Checkpoint) == 0);
    }

    /// What must always hold of the log.
    pub(super) fn check_journal(&self) {
        let committing = self.journal.committing.as_ref();
        if let Some(committing) = committing
            && committing.stage != Stage::Record
            && !matches!(committing.stage, Stage::Data(_))
        {
            let number = committing.transaction.number;
            for &block in &committing.transaction.data {
                let page = self.cache.get(block);
                let late = page.is_some_and(|page| {
                    let waits = page.dirty || page.writing;
                    page.inode != DEVICE && page.transaction == number && waits
                });
                assert!(!late, "data is written before the log");
            }
        }
        let old: u32 = self.journal.old.iter().map(|old| old.size).sum();
        assert!(
            old <= self.journal.used(),
            "old transactions are in the log"
        );
    }
}
