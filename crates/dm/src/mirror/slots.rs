//! Regions that may be written without the home, and who writes them.
//!
//! A fixed number of words; a region may have the one at its number modulo the words, if no other
//! one has it. All that is to be known of a region is one word, so taking a hold and learning that
//! it may be taken are one step, and so is calling a region clean that nobody wrote meanwhile:
//!
//! ```text
//!   region + 1 | open | touched | holds      0: no region has it
//!
//!   queue   open ─▸ touched, holds + 1 ─▸ … ─▸ holds - 1; the last one of a closed region tells
//!   home    0 ─▸ open      open ─▸ closed (holds may be left)      closed, no holds ─▸ 0
//!           touched ─▸ not, before it flushes      open, not touched, no holds ─▸ 0, after that
//! ```
//!
//! Who takes a hold acquires what the home released when it opened the region (it is dirty, which
//! is durable). Who ends one releases what the write did to the home, which acquires that before it
//! flushes, copies or forgets.
//!
//! Costs: 32 KiB.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::map::Ended;

/// How many words: as many as regions are dirty for long (`clean.rs`).
const SLOTS: u64 = 4096;
/// Writes of a region at most; others go to the home.
const HOLDS_MAX: u64 = (1 << 24) - 1;
const TOUCHED: u64 = 1 << 32;
const OPEN: u64 = 1 << 33;
const REGION: u32 = 34;

/// See the module.
#[derive(Debug)]
pub(super) struct Slots {
    words: Box<[AtomicU64]>,
}

/// What a word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    fn open(region: u64) -> Self {
        Self((region + 1) << REGION | OPEN)
    }

    fn region(self) -> Option<u64> {
        (self.0 >> REGION).checked_sub(1)
    }

    fn holds(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }

    fn is(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

impl Slots {
    pub(super) fn new() -> Self {
        Self {
            words: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn word(&self, region: u64) -> &AtomicU64 {
        &self.words[(region % SLOTS) as usize]
    }

    /// Who has the word that a region could have.
    pub(super) fn owner(&self, region: u64) -> Option<u64> {
        Word(self.word(region).load(Ordering::Acquire)).region()
    }

    /// Takes a hold of a region, if it is open.
    pub(super) fn hold(&self, region: u64) -> bool {
        let take = |word| {
            let is_open = Word(word).region() == Some(region) && Word(word).is(OPEN);
            (is_open && Word(word).holds() < HOLDS_MAX).then_some((word | TOUCHED) + 1)
        };
        let word = self.word(region);
        word.fetch_update(Ordering::AcqRel, Ordering::Acquire, take)
            .is_ok()
    }

    /// Ends a hold.
    pub(super) fn release(&self, region: u64) -> Ended {
        let before = Word(self.word(region).fetch_sub(1, Ordering::AcqRel));
        assert_eq!(before.region(), Some(region), "who is held keeps its word");
        assert!(before.holds() > 0, "what is held is released once");
        if before.holds() == 1 && !before.is(OPEN) {
            Ended::Awaited
        } else {
            Ended::Quiet
        }
    }

    /// Opens a region, whose word nobody has. For the home, as all below.
    pub(super) fn open(&self, region: u64) {
        let before = self
            .word(region)
            .swap(Word::open(region).0, Ordering::AcqRel);
        assert_eq!(before, 0, "nobody has the word");
    }

    /// Lets nobody take further holds; whether there are some left. If not, nobody has the word.
    pub(super) fn close(&self, region: u64) -> bool {
        let before = Word(self.word(region).fetch_and(!OPEN, Ordering::AcqRel));
        assert_eq!(before.region(), Some(region));
        !self.reap(region)
    }

    /// Takes the word of a closed region that nobody holds; whether that was so.
    pub(super) fn reap(&self, region: u64) -> bool {
        let word = self.word(region);
        let now = Word(word.load(Ordering::Acquire));
        assert_eq!(now.region(), Some(region));
        assert!(!now.is(OPEN), "nobody takes a hold any more");
        if now.holds() > 0 {
            return false;
        }
        word.store(0, Ordering::Release);
        true
    }

    /// Whether a region is held, and whether it was since this was asked last.
    pub(super) fn look(&self, region: u64) -> (bool, bool) {
        let before = Word(self.word(region).fetch_and(!TOUCHED, Ordering::AcqRel));
        assert_eq!(before.region(), Some(region));
        (before.holds() > 0, before.is(TOUCHED))
    }

    /// Takes the word of an open region that nobody held since [`Slots::look`]; whether that was
    /// so.
    pub(super) fn take_untouched(&self, region: u64) -> bool {
        let untouched = Word::open(region).0;
        self.word(region)
            .compare_exchange(untouched, 0, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Takes the word of a region that nobody holds, open or not; whether that was so.
    pub(super) fn take_idle(&self, region: u64) -> bool {
        let take = |word| {
            assert_eq!(Word(word).region(), Some(region));
            (Word(word).holds() == 0).then_some(0)
        };
        self.word(region)
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take)
            .is_ok()
    }

    /// Whether a region has its word, and is open.
    pub(super) fn is_open(&self, region: u64) -> bool {
        let word = Word(self.word(region).load(Ordering::Acquire));
        word.region() == Some(region) && word.is(OPEN)
    }
}

#[cfg(test)]
mod tests;
