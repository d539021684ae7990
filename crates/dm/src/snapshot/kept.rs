//! Which chunks a store has, for queues that ask it without the home.
//!
//! The same as [`super::exceptions`], chunk by chunk: 4 bytes for each chunk in stretches of 1,024
//! of which the store has any, and 16 bytes for each such stretch of the snapshot, 4 MiB for a TiB
//! of chunks of 4 KiB. It takes at most 64 MiB more; what would need more is closed, and the
//! snapshot is served by its home alone.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use block::Range;

use super::sparse::Sparse;
use super::store::{EntryRun, FIRST_DATA};

/// Chunks of a part.
const PART: usize = 1024;
/// Parts at most: 64 MiB of them, which is what a store of as many entries needs as are served, if
/// they are neighbours.
const PARTS_MAX: usize = 1 << 14;
/// Parts that there may be at most: 16 MiB of places for them.
const PLACES_MAX: u64 = 1 << 20;
/// Chunks that are looked at for one request.
const LOOKS_MAX: u64 = 1024;

/// What a store has.
#[derive(Debug)]
pub(super) struct Kept {
    /// Bytes.
    chunk: u64,
    /// By the origin's chunk: the store's, or 0.
    chunks: Sparse<AtomicU32, PART>,
    parts: AtomicUsize,
    /// Whether it says all that there is to say of a snapshot that is valid.
    is_open: AtomicBool,
    /// Whether the snapshot holds what it held.
    is_valid: AtomicBool,
}

/// Where a range of a snapshot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// All of it in the origin.
    Origin,
    /// All of it in the store, from this byte on.
    Store(u64),
    /// Here and there, or too much to say.
    Both,
}

impl Kept {
    /// Nothing yet, of a snapshot of `count` chunks of `chunk` bytes.
    pub(super) fn new(chunk: u64, count: u64) -> Self {
        let fits = count.div_ceil(PART as u64) <= PLACES_MAX;
        Self {
            chunk,
            chunks: Sparse::new(if fits { count } else { 0 }),
            parts: AtomicUsize::new(0),
            is_open: AtomicBool::new(fits),
            is_valid: AtomicBool::new(true),
        }
    }

    /// The store has more. Told when that is durable, before anything relies on it.
    pub(super) fn insert(&self, run: EntryRun) {
        for at in 0..run.count {
            if !self.is_open() {
                return;
            }
            let old = run.old + at;
            let is_known = self.chunks.has(old);
            let parts = self.parts.load(Ordering::Relaxed) + usize::from(!is_known);
            let Some(new) = u32::try_from(run.new + at)
                .ok()
                .filter(|_| parts <= PARTS_MAX)
            else {
                return self.close();
            };
            assert!(u64::from(new) >= FIRST_DATA, "there is data");
            self.parts.store(parts, Ordering::Relaxed);
            self.chunks.make(old).store(new, Ordering::SeqCst);
        }
    }

    /// Says nothing any more: there is too much to say.
    fn close(&self) {
        self.is_open.store(false, Ordering::SeqCst);
    }

    /// The snapshot is invalid: what was read for it does not count.
    pub(super) fn invalidate(&self) {
        self.is_valid.store(false, Ordering::SeqCst);
        self.close();
    }

    /// Whether the snapshot holds what it held, whether or not this says where.
    pub(super) fn is_valid(&self) -> bool {
        self.is_valid.load(Ordering::SeqCst)
    }

    /// Whether it speaks for a snapshot that is valid.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::SeqCst)
    }

    /// Where a range is that is not empty.
    pub(super) fn find(&self, range: Range) -> Whereabouts {
        let first = range.start() / self.chunk;
        let count = range.end().div_ceil(self.chunk) - first;
        if count > LOOKS_MAX {
            return Whereabouts::Both;
        }
        let new = self.new_of(first);
        let follows = |at: u64| self.new_of(first + at) == if new == 0 { 0 } else { new + at };
        if !(1..count).all(follows) {
            return Whereabouts::Both;
        }
        match new {
            0 => Whereabouts::Origin,
            new => Whereabouts::Store(new * self.chunk + range.start() % self.chunk),
        }
    }

    fn new_of(&self, old: u64) -> u64 {
        let word = self.chunks.get(old);
        word.map_or(0, |word| word.load(Ordering::SeqCst).into())
    }

    /// That it has what a run says, unless it is closed.
    pub(super) fn check(&self, run: &EntryRun) {
        let is_right = |at: u64| self.new_of(run.old + at) == run.new + at;
        assert!(!self.is_open() || (is_right(0) && is_right(run.count - 1)));
    }
}

#[cfg(test)]
mod tests;
