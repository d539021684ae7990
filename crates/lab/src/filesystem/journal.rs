//! The log of jbd in ordered mode: which blocks a transaction has, and where it stands in the log.
//!
//! ```text
//!   running ──(5 s, a quarter of the log, fsync)──► committing ──► waits to be checkpointed
//!
//!   log   | descriptor, copies … | revoked | record |  next transaction …
//! ```
//!
//! A transaction is a list of metadata blocks, the data that must be written before it, the blocks
//! it freed and how many of them must not be replayed. Its place in the log is kept until all its
//! blocks are written where they belong, by writing back, or by a checkpoint when the log is full.
//! `commit.rs` takes it through its stages.

use std::collections::VecDeque;

use super::options::BLOCK;

/// Bytes at the head of each block of the log that is not a copy.
const HEADER: u32 = 12;
/// Bytes of a copy's entry in a descriptor, and of the first entry's identifier besides.
const ENTRY: u32 = 8;
const IDENTIFIER: u32 = 16;
/// Bytes of a revoked block's entry, after a header four bytes longer.
const REVOKED: u32 = 4;

/// Metadata that becomes valid at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Transaction {
    pub(super) number: u32,
    pub(super) metadata: Vec<u32>,
    /// Blocks of data to be written first.
    pub(super) data: Vec<u32>,
    /// Blocks freed by it.
    pub(super) freed: Vec<u32>,
    pub(super) revoked: u32,
    pub(super) started_ns: u64,
}

impl Transaction {
    /// Blocks of the log that it takes, but for the record.
    pub(super) fn log_blocks(&self) -> u32 {
        let copies = self.metadata.len() as u32;
        let entries = (BLOCK as u32 - HEADER - IDENTIFIER) / ENTRY;
        let revoked = (BLOCK as u32 - HEADER - 4) / REVOKED;
        copies + copies.div_ceil(entries) + self.revoked.div_ceil(revoked)
    }
}

/// How far a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Data is handed in, from this one of its list.
    Data(usize),
    /// Blocks of the log are handed in, from this one.
    Log(u32),
    /// The drive's cache is emptied.
    Flush,
    /// The record is on its way.
    Record,
}

/// A transaction that is being committed.
#[derive(Debug, Clone)]
pub(super) struct Committing {
    pub(super) transaction: Transaction,
    pub(super) stage: Stage,
    /// Data that was on its way already.
    pub(super) awaited: VecDeque<u32>,
}

/// A committed transaction whose place in the log is needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Old {
    pub(super) number: u32,
    /// Blocks that are not in their places.
    pub(super) left: u32,
    /// Blocks of the log.
    pub(super) size: u32,
}

/// The log.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal {
    /// Its superblock, then the blocks that are written in turn.
    superblock: u32,
    blocks: Vec<u32>,
    head: u32,
    used: u32,
    pub(super) running: Option<Transaction>,
    pub(super) committing: Option<Committing>,
    pub(super) old: VecDeque<Old>,
    /// The transaction up to which commits were asked for.
    pub(super) requested: u32,
    committed: u32,
    next: u32,
}

impl Journal {
    /// An empty log in these blocks.
    pub(super) fn new(blocks: &[u32]) -> Self {
        Self {
            superblock: blocks[0],
            blocks: blocks[1..].to_vec(),
            ..Self::default()
        }
    }

    /// The transaction that changes go to.
    pub(super) fn running(&mut self, now_ns: u64) -> &mut Transaction {
        if self.running.is_none() {
            self.next += 1;
            self.running = Some(Transaction {
                number: self.next,
                started_ns: now_ns,
                ..Transaction::default()
            });
        }
        self.running.as_mut().expect("just made")
    }

    /// The last transaction that is committed.
    pub(super) fn committed(&self) -> u32 {
        self.committed
    }

    /// Blocks of a transaction at most.
    pub(super) fn most(&self) -> u32 {
        self.blocks.len() as u32 / 4
    }

    /// Whether the log has room for what is committing and another transaction.
    pub(super) fn has_room(&self) -> bool {
        let committing = self.committing.as_ref();
        let taken = committing.map_or(0, |committing| committing.transaction.log_blocks() + 1);
        let free = self.blocks.len() as u32 - self.used;
        free >= self.most() + taken
    }

    pub(super) fn superblock(&self) -> u32 {
        self.superblock
    }

    /// The next block of the log.
    pub(super) fn take(&mut self) -> u32 {
        let block = self.blocks[self.head as usize];
        self.head = (self.head + 1) % self.blocks.len() as u32;
        self.used += 1;
        assert!(self.used <= self.blocks.len() as u32, "the log has room");
        block
    }

    /// Ends the commit; the transaction, whose blocks are to be written in their places.
    pub(super) fn finish(&mut self) -> Transaction {
        let committing = self.committing.take().expect("a commit that ends");
        self.committed = committing.transaction.number;
        self.old.push_back(Old {
            number: self.committed,
            left: 0,
            size: committing.transaction.log_blocks() + 1,
        });
        committing.transaction
    }

    /// A block belongs to the last committed transaction, and to `before` no more.
    pub(super) fn inherit(&mut self, before: u32) {
        self.written(before);
        self.old.back_mut().expect("a committed transaction").left += 1;
    }

    /// A block of a transaction is in its place, or of no interest any more.
    pub(super) fn written(&mut self, number: u32) {
        let at = self.old.binary_search_by_key(&number, |old| old.number);
        if let Ok(at) = at {
            self.old[at].left -= 1;
        }
    }

    /// Gives the places of written transactions at the tail back; whether there were any.
    pub(super) fn trim(&mut self) -> bool {
        let before = self.used;
        while self.old.front().is_some_and(|old| old.left == 0) {
            let old = self.old.pop_front().expect("looked at");
            self.used -= old.size;
        }
        self.used != before
    }

    /// Blocks of the log that are taken.
    pub(super) fn used(&self) -> u32 {
        self.used
    }
}
