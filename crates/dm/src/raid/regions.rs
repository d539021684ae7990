//! Which regions are marked as being written, and who writes them.
//!
//! ```text
//!            marked on all legs, durably          rest, legs flushed, all legs there
//!   clean ─────────────────────────────▸ marked ────────────────────────────────▸ clean
//! ```
//!
//! A mark is what is left of a write that power cut short: nothing is written to a region without
//! one. It is taken off some time after the last write, when all legs hold what was written. While
//! a leg is away no mark is: they say what it misses.

use std::collections::BTreeMap;
use std::time::Duration;

use block::Range;

use super::bitmap::Dirty;

/// The regions of an array.
#[derive(Debug)]
pub(super) struct Regions {
    /// Those that are marked, durably.
    marked: Dirty,
    /// Those that are written, or have not rested for long.
    active: BTreeMap<u64, Active>,
}

#[derive(Debug, Default)]
struct Active {
    /// Writes in flight, or waiting.
    holds: u32,
    /// When a write to it ended last.
    touched: Duration,
    /// How often it was held: tells whether it was while a flush ran.
    version: u64,
}

impl Regions {
    /// Those of which these are marked.
    pub(super) fn new(marked: Dirty) -> Self {
        Self {
            marked,
            active: BTreeMap::new(),
        }
    }

    /// Their shape, and which are marked.
    pub(super) fn marked(&self) -> &Dirty {
        &self.marked
    }

    /// The regions of a range that is not empty.
    pub(super) fn of(&self, range: Range) -> std::ops::Range<u64> {
        let (first, behind) = self.marked.regions_of(range);
        first..behind
    }

    /// Somebody is about to write a region; whether it is marked.
    pub(super) fn hold(&mut self, region: u64) -> bool {
        let active = self.active.entry(region).or_default();
        active.holds += 1;
        active.version += 1;
        self.marked.is_dirty(region)
    }

    /// Marks of these regions are durable.
    pub(super) fn mark(&mut self, regions: impl Iterator<Item = u64>) {
        regions.for_each(|region| self.marked.set(region));
    }

    /// Ends a hold.
    pub(super) fn release(&mut self, region: u64, now: Duration) {
        let active = self.active.get_mut(&region).expect("it is held");
        active.holds = active.holds.checked_sub(1).expect("it is held");
        active.touched = now;
    }

    /// A region may be clean some time from now on, but not behind flushes that have begun: it was
    /// mended.
    pub(super) fn touch(&mut self, region: u64, now: Duration) {
        if self.marked.is_dirty(region) {
            let active = self.active.entry(region).or_default();
            active.version += 1;
            active.touched = now;
        }
    }

    /// Whether some region is marked, or is going to be.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    /// Marked regions that nobody has written since `before`, each with its version.
    pub(super) fn resting(&self, before: Duration) -> Vec<(u64, u64)> {
        let rests = |(region, active): (&u64, &Active)| {
            let rests = active.holds == 0 && active.touched <= before;
            rests.then_some((*region, active.version))
        };
        self.active.iter().filter_map(rests).collect()
    }

    /// Takes the mark off a region that nobody held or mended since it had this version; whether
    /// it had one.
    pub(super) fn clean(&mut self, region: u64, version: u64) -> bool {
        let rested = |active: &Active| active.holds == 0 && active.version == version;
        if !self.active.get(&region).is_some_and(rested) {
            return false;
        }
        self.active.remove(&region);
        let was_marked = self.marked.is_dirty(region);
        self.marked.clear(region);
        was_marked
    }

    /// The invariants, where nobody writes.
    pub(super) fn check_quiet(&self) {
        let held = self.active.values().any(|active| active.holds > 0);
        assert!(!held, "who holds a region writes");
    }
}
