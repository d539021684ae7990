//! Who may touch which bytes at the same time.
//!
//! Which bytes is for the machine to say that has the locks: of an array those that are kept in
//! sync, of each leg, but of copies of chunks the array's own. They lie in buckets, each a row or
//! a part of a mirror, and a lock lies in one bucket. Who may not pass waits behind those that came
//! before him, so nobody waits for ever:
//!
//! ```text
//!   held     [alone]      [shared][shared]
//!   waiting     alone ─▸ shared ─▸ …     each goes on when nothing in front of it meets it
//! ```
//!
//! Costs: a vector for each bucket that is in use; who waits is compared with all that wait in his
//! bucket.

use std::collections::{BTreeMap, VecDeque};

use block::Range;

/// What a lock forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Others that change what is there.
    Shared,
    /// All others.
    Alone,
}

/// All locks of a machine.
#[derive(Debug)]
pub(crate) struct Locks {
    bucket: u64,
    buckets: BTreeMap<u64, Bucket>,
}

#[derive(Debug, Default)]
struct Bucket {
    held: Vec<Lock>,
    waiting: VecDeque<Lock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lock {
    range: Range,
    mode: Mode,
    /// The number of whoever has it.
    owner: usize,
}

impl Lock {
    fn meets(&self, other: &Self) -> bool {
        let excludes = self.mode == Mode::Alone || other.mode == Mode::Alone;
        excludes && self.range.intersection(other.range).is_some()
    }
}

impl Locks {
    /// Of buckets of so many bytes.
    pub(crate) fn new(bucket: u64) -> Self {
        assert!(bucket > 0, "buckets hold something");
        Self {
            bucket,
            buckets: BTreeMap::new(),
        }
    }

    /// Bytes of a bucket.
    pub(crate) fn bucket(&self) -> u64 {
        self.bucket
    }

    /// Takes a lock; whether it is had at once. If not, [`Locks::release`] names the owner later.
    pub(crate) fn take(&mut self, owner: usize, range: Range, mode: Mode) -> bool {
        let number = range.start() / self.bucket;
        assert!(!range.is_empty(), "a lock is of something");
        assert!(range.end() <= (number + 1) * self.bucket, "of one bucket");
        let bucket = self.buckets.entry(number).or_default();
        let lock = Lock { range, mode, owner };
        let mut before = bucket.held.iter().chain(&bucket.waiting);
        if before.any(|other| other.meets(&lock)) {
            bucket.waiting.push_back(lock);
            return false;
        }
        bucket.held.push(lock);
        true
    }

    /// Gives a lock back; whose turn it is now.
    pub(crate) fn release(&mut self, owner: usize, range: Range) -> Vec<usize> {
        let number = range.start() / self.bucket;
        let bucket = self.buckets.get_mut(&number).expect("it is held");
        let is_it = |lock: &Lock| lock.owner == owner && lock.range == range;
        let held = bucket.held.iter().position(is_it).expect("it is held");
        bucket.held.swap_remove(held);
        let mut turn = Vec::new();
        let mut still: VecDeque<Lock> = VecDeque::new();
        for lock in std::mem::take(&mut bucket.waiting) {
            let mut before = bucket.held.iter().chain(&still);
            if before.any(|other| other.meets(&lock)) {
                still.push_back(lock);
            } else {
                bucket.held.push(lock);
                turn.push(lock.owner);
            }
        }
        bucket.waiting = still;
        if bucket.held.is_empty() {
            assert!(bucket.waiting.is_empty(), "nobody waits for nothing");
            self.buckets.remove(&number);
        }
        turn
    }

    /// Lets all who wait have their locks at once, as far as `may_meet` says so of two owners: a
    /// mistake. Whose turn it is by that.
    #[cfg(any(test, feature = "explore"))]
    pub(crate) fn open(&mut self, may_meet: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut turn = Vec::new();
        for bucket in self.buckets.values_mut() {
            for lock in std::mem::take(&mut bucket.waiting) {
                let before = bucket.held.iter().chain(&bucket.waiting);
                let mut met = before.filter(|other| other.meets(&lock));
                if met.all(|other| may_meet(other.owner, lock.owner)) {
                    turn.push(lock.owner);
                    bucket.held.push(lock);
                } else {
                    bucket.waiting.push_back(lock);
                }
            }
        }
        // Those who have one together are many to nobody.
        for bucket in self
            .buckets
            .values_mut()
            .filter(|bucket| bucket.held.len() > 1)
        {
            bucket
                .held
                .iter_mut()
                .for_each(|lock| lock.mode = Mode::Shared);
        }
        turn
    }

    /// Whether nobody has a lock.
    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// What is always so.
    pub(crate) fn check(&self) {
        for bucket in self.buckets.values() {
            assert!(!bucket.held.is_empty(), "what nobody holds is forgotten");
            for (place, lock) in bucket.held.iter().enumerate() {
                let mut others = bucket.held[..place].iter();
                assert!(others.all(|other| !other.meets(lock)), "locks exclude");
            }
        }
    }
}

#[cfg(test)]
mod tests;
