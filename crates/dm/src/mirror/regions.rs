//! What is known of each region while the mirror runs.
//!
//! ```text
//!              mark + log durable              rest, images flushed
//!    clean ───▸ marking ───▸ dirty ─────────────────────────────▸ clean
//!                              ▲ ╲ an image missed a write
//!                   copied     │  ╲
//!    nosync ──▸ recovering ────╯   ╰▸ nosync (not in the map when nobody writes)
//! ```
//!
//! Clean and nosync regions are a bit each; only the others have an entry. Two rules hold it all
//! together: a region that is not in sync has its log bit 0, durably; and a region's log bit is 1
//! on the disk only if all images hold the same there, durably.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use block::Range;

use super::bits::Bits;
use super::map::MirrorMap;

/// What happens to a region that is neither clean nor left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its log bit is being cleared; writes wait.
    Marking,
    /// Its log bit is 0; writes go through.
    Dirty,
    /// It is being copied; writes wait.
    Recovering,
}

#[derive(Debug)]
pub(super) struct Region {
    pub(super) phase: Phase,
    /// Writes in flight, or waiting.
    pub(super) holds: u32,
    /// The operations that wait for [`Phase::Dirty`].
    pub(super) waiters: Vec<usize>,
    /// When a write to it ended last.
    pub(super) touched: Duration,
    /// How often it was held; tells whether it was while a flush ran.
    pub(super) version: u64,
    /// Whether it has a word of [`super::slots::Slots`]: it may be written without the home, or is
    /// held by those who did.
    pub(super) granted: bool,
}

#[derive(Debug)]
pub(super) struct Regions {
    region_size: u64,
    /// Whether all images hold the same, but for writes in flight.
    in_sync: Bits,
    active: BTreeMap<u64, Region>,
    /// Says which of them are settled.
    map: Arc<MirrorMap>,
    /// How many have a word, and those of them that are closed.
    granted: usize,
    closed: Vec<u64>,
    /// Where the search for the next region to copy goes on.
    cursor: u64,
}

/// What a hold found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// Writes may go through.
    Free,
    /// The holder is told when they may.
    Waits,
    /// The same, and the log bit must be cleared for it.
    Mark,
}

impl Regions {
    /// Those of a map; none is in sync.
    pub(super) fn new(map: Arc<MirrorMap>) -> Self {
        Self {
            region_size: map.region_size(),
            in_sync: Bits::new(map.region_count()),
            active: BTreeMap::new(),
            map,
            granted: 0,
            closed: Vec::new(),
            cursor: 0,
        }
    }

    /// What queues know of them.
    pub(super) fn map(&self) -> &Arc<MirrorMap> {
        &self.map
    }

    /// They are those of another map from now on; new ones are in sync or not. Nobody writes.
    pub(super) fn renew(&mut self, map: Arc<MirrorMap>, in_sync: bool) {
        let count = map.region_count();
        assert!(self.closed.is_empty(), "nobody holds anything");
        for entry in self.active.values_mut() {
            // Who wrote without the home is not remembered by the new map.
            entry.version += u64::from(std::mem::take(&mut entry.granted));
        }
        self.granted = 0;
        self.map = map;
        if count != self.count() {
            self.resize(count, in_sync);
        }
        self.map.settle_all(self.in_sync.words());
        self.active.keys().for_each(|region| self.publish(*region));
    }

    fn resize(&mut self, count: u64, in_sync: bool) {
        assert!(self.active.values().all(|entry| entry.holds == 0));
        self.active.retain(|region, _| *region < count);
        self.in_sync.resize(count, in_sync);
        self.cursor = 0;
    }

    /// Tells the map what became of a region.
    fn publish(&self, region: u64) {
        let is_settled = self.in_sync.get(region) && !self.active.contains_key(&region);
        self.map.settle(region, is_settled);
    }

    fn activate(&mut self, region: u64, entry: Region) {
        self.active.insert(region, entry);
        self.publish(region);
    }

    fn forget(&mut self, region: u64) {
        self.active.remove(&region);
        self.publish(region);
    }

    /// The regions that a range touches.
    pub(super) fn of(&self, range: Range) -> std::ops::Range<u64> {
        let size = self.region_size;
        range.start() / size..range.end().div_ceil(size)
    }

    pub(super) fn count(&self) -> u64 {
        self.in_sync.len()
    }

    pub(super) fn in_sync_count(&self) -> u64 {
        self.in_sync.ones()
    }

    pub(super) fn all_in_sync(&self) -> bool {
        self.in_sync.ones() == self.in_sync.len()
    }

    pub(super) fn set_in_sync(&mut self, region: u64, in_sync: bool) {
        self.in_sync.set(region, in_sync);
        self.publish(region);
        if !in_sync {
            self.close(region);
        }
    }

    /// Whether any image may be read there: in sync, and nobody writes.
    pub(super) fn is_settled(&self, range: Range) -> bool {
        self.of(range)
            .all(|region| self.in_sync.get(region) && !self.active.contains_key(&region))
    }

    /// Whether all of it is in sync, but for writes in flight.
    pub(super) fn is_range_in_sync(&self, range: Range) -> bool {
        self.of(range).all(|region| self.in_sync.get(region))
    }

    pub(super) fn active_count(&self) -> usize {
        self.active.len()
    }

    pub(super) fn dirty_count(&self) -> usize {
        let dirty = |region: &&Region| region.phase == Phase::Dirty;
        self.active.values().filter(dirty).count()
    }

    /// Takes a hold for `waiter`, until [`Regions::release`].
    pub(super) fn hold(&mut self, region: u64, waiter: usize) -> Held {
        if let Some(entry) = self.active.get_mut(&region) {
            entry.holds += 1;
            entry.version += 1;
            if entry.phase == Phase::Dirty {
                return Held::Free;
            }
            entry.waiters.push(waiter);
            return Held::Waits;
        }
        let clean = self.in_sync.get(region);
        let (phase, waiters) = if clean {
            (Phase::Marking, vec![waiter])
        } else {
            (Phase::Dirty, Vec::new())
        };
        let entry = Region {
            phase,
            holds: 1,
            waiters,
            touched: Duration::ZERO,
            version: 0,
            granted: false,
        };
        self.activate(region, entry);
        if clean { Held::Mark } else { Held::Free }
    }

    /// Lets writes to a region through; who waited for that.
    pub(super) fn open(&mut self, region: u64) -> Vec<usize> {
        let entry = self.active.get_mut(&region).expect("is active");
        assert_ne!(entry.phase, Phase::Dirty, "a region opens once");
        entry.phase = Phase::Dirty;
        std::mem::take(&mut entry.waiters)
    }

    /// Gives up marking a region; who waited, and holds it still.
    pub(super) fn refuse(&mut self, region: u64) -> Vec<usize> {
        let entry = self.active.get_mut(&region).expect("is active");
        assert_eq!(entry.phase, Phase::Marking);
        std::mem::take(&mut entry.waiters)
    }

    /// Ends a hold.
    pub(super) fn release(&mut self, region: u64, now: Duration) {
        let entry = self.active.get_mut(&region).expect("is held");
        entry.holds = entry.holds.checked_sub(1).expect("is held");
        entry.touched = now;
        let marking = entry.phase == Phase::Marking && entry.waiters.is_empty();
        if entry.holds == 0 && (marking || !self.in_sync.get(region)) {
            // Nothing was written, or there is nothing to note: the log bit is 0 already.
            self.drop_idle(region);
        }
    }

    /// Forgets a region's entry if nobody needs it.
    pub(super) fn drop_idle(&mut self, region: u64) {
        let is_idle = |entry: &Region| entry.holds == 0 && entry.phase != Phase::Recovering;
        if !self.active.get(&region).is_some_and(is_idle) {
            return;
        }
        self.close(region);
        if !self.active[&region].granted {
            self.forget(region);
        }
    }

    /// Lets a region be written without the home, if all images hold the same there but for writes
    /// in flight, and its bit of the log is 0.
    pub(super) fn grant(&mut self, region: u64) {
        let is_in_sync = self.in_sync.get(region);
        let entry = self.active.get(&region).expect("it is written");
        if entry.granted || entry.phase != Phase::Dirty || !is_in_sync {
            return;
        }
        if let Some(other) = self.map.slots().owner(region) {
            if !self.map.slots().take_idle(other) {
                return;
            }
            self.take_back(other);
            self.closed.retain(|region| *region != other);
            if !self.in_sync.get(other) {
                self.drop_idle(other);
            }
        }
        self.map.slots().open(region);
        self.granted += 1;
        let entry = self.active.get_mut(&region).expect("it is written");
        entry.granted = true;
    }

    /// A region has no word any more. It may have been written while it had.
    fn take_back(&mut self, region: u64) {
        let entry = self
            .active
            .get_mut(&region)
            .expect("who has a word is active");
        assert!(std::mem::take(&mut entry.granted), "it has a word");
        entry.version += 1;
        self.granted -= 1;
    }

    /// A region is written by the home alone from now on. Who holds it holds it still.
    fn close(&mut self, region: u64) {
        let is_granted = |entry: &Region| entry.granted;
        if !self.active.get(&region).is_some_and(is_granted) || self.closed.contains(&region) {
            return;
        }
        if self.map.slots().close(region) {
            self.closed.push(region);
        } else {
            self.take_back(region);
        }
    }

    /// The same for all regions.
    pub(super) fn close_all(&mut self) {
        if self.granted == self.closed.len() {
            return;
        }
        let granted = self.active.iter().filter(|(_, entry)| entry.granted);
        for region in granted.map(|(region, _)| *region).collect::<Vec<_>>() {
            self.close(region);
        }
    }

    /// Some of those who held closed regions have ended.
    pub(super) fn reap(&mut self, now: Duration) {
        for region in std::mem::take(&mut self.closed) {
            if !self.map.slots().reap(region) {
                self.closed.push(region);
                continue;
            }
            self.take_back(region);
            let entry = self.active.get_mut(&region).expect("it had a word");
            entry.touched = now;
            if !self.in_sync.get(region) {
                self.drop_idle(region);
            }
        }
    }

    /// Takes a hold of a region that is held without the home.
    pub(super) fn adopt(&mut self, region: u64) {
        let entry = self.active.get_mut(&region).expect("it is held");
        assert!(entry.granted && entry.phase == Phase::Dirty, "it is held");
        entry.holds += 1;
        entry.version += 1;
    }

    /// A region that can be copied now; it is being copied from here on.
    pub(super) fn begin_recovery(&mut self) -> Option<u64> {
        /// Busy regions that are passed over before giving up for now.
        const TRIES: usize = 64;
        for _ in 0..TRIES {
            let region = self.in_sync.find_zero(self.cursor)?;
            self.cursor = (region + 1) % self.in_sync.len();
            if self.active.contains_key(&region) {
                continue;
            }
            let entry = Region {
                phase: Phase::Recovering,
                holds: 0,
                waiters: Vec::new(),
                touched: Duration::ZERO,
                version: 0,
                granted: false,
            };
            self.activate(region, entry);
            return Some(region);
        }
        None
    }

    /// Whether somebody waits until a region that is being copied is not any more.
    pub(super) fn is_awaited(&self, region: u64) -> bool {
        let entry = self.active.get(&region);
        entry.is_some_and(|entry| !entry.waiters.is_empty())
    }

    /// Ends a copy, done or not; who waited for that.
    pub(super) fn end_recovery(
        &mut self,
        region: u64,
        done: Recovered,
        now: Duration,
    ) -> Vec<usize> {
        let waiters = self.open(region);
        if done == Recovered::Copied {
            self.set_in_sync(region, true);
        }
        let entry = self.active.get_mut(&region).expect("is active");
        entry.touched = now;
        if entry.holds == 0 && !self.in_sync.get(region) {
            self.forget(region);
        }
        waiters
    }

    /// An image will miss, or missed, what is written: no region that is written is in sync.
    pub(super) fn lose_sync_of_dirty(&mut self) {
        let written = |entry: &Region| entry.phase != Phase::Marking;
        let lost: Vec<u64> = self
            .active
            .iter()
            .filter(|(_, entry)| written(entry))
            .map(|(region, _)| *region)
            .collect();
        for region in lost {
            self.set_in_sync(region, false);
            self.drop_idle(region);
        }
    }

    /// Regions that are in sync, dirty, and have rested since `before`; each with its version.
    pub(super) fn resting(&mut self, before: Duration, now: Duration) -> Vec<(u64, u64)> {
        let mut resting = Vec::new();
        for (region, entry) in &mut self.active {
            if entry.phase != Phase::Dirty || entry.holds > 0 || !self.in_sync.get(*region) {
                continue;
            }
            if entry.granted {
                let (is_held, was_held) = self.map.slots().look(*region);
                if is_held || was_held {
                    entry.touched = now;
                }
                if is_held {
                    continue;
                }
            }
            if entry.touched <= before {
                resting.push((*region, entry.version));
            }
        }
        resting
    }

    /// Whether any region waits to be clean.
    pub(super) fn has_resting(&self) -> bool {
        self.active
            .iter()
            .any(|(region, entry)| entry.holds == 0 && self.in_sync.get(*region))
    }

    /// Forgets a region that nobody wrote since it had this version; whether that is so.
    pub(super) fn clean(&mut self, region: u64, version: u64) -> bool {
        let rested = self.active.get(&region).is_some_and(|entry| {
            entry.phase == Phase::Dirty && entry.holds == 0 && entry.version == version
        });
        if !rested || !self.in_sync.get(region) {
            return false;
        }
        if self.active[&region].granted {
            if self.closed.contains(&region) || !self.map.slots().take_untouched(region) {
                return false;
            }
            self.take_back(region);
        }
        self.forget(region);
        true
    }

    /// Whether a write there needs the log first. Where the log has failed, it must not wait for
    /// that: a region may stay so because of another write that was refused and waits elsewhere.
    pub(super) fn needs_log(&self, region: u64) -> bool {
        match self.active.get(&region) {
            Some(entry) => entry.phase == Phase::Marking,
            None => self.in_sync.get(region),
        }
    }

    /// The invariants.
    pub(super) fn check(&self) {
        // All of them where there are few, as in tests.
        for region in 0..self.count().min(64) {
            let is_settled = self.in_sync.get(region) && !self.active.contains_key(&region);
            assert_eq!(self.map.is_settled(region), is_settled, "queues know that");
        }
        let granted = self.active.values().filter(|entry| entry.granted);
        assert_eq!(granted.count(), self.granted, "words are counted");
        for (region, entry) in &self.active {
            let waits = !entry.waiters.is_empty();
            assert!(
                !waits || entry.phase != Phase::Dirty,
                "nobody waits for a dirty region"
            );
            assert!(
                entry.holds as usize >= entry.waiters.len(),
                "who waits holds"
            );
            let in_sync = self.in_sync.get(*region);
            assert!(!self.map.is_settled(*region), "who writes is seen");
            match entry.phase {
                Phase::Marking => assert!(in_sync, "only clean regions are marked"),
                Phase::Recovering => assert!(!in_sync, "what is in sync is not copied"),
                Phase::Dirty => assert!(
                    in_sync || entry.holds > 0 || entry.granted,
                    "nosync regions are a bit"
                ),
            }
            assert!(
                !entry.granted || entry.phase == Phase::Dirty,
                "only what is dirty is written without the home"
            );
            let is_open = entry.granted && !self.closed.contains(region);
            assert_eq!(self.map.slots().is_open(*region), is_open);
            assert!(in_sync || !is_open, "what is not in sync is the home's");
        }
    }
}

/// How a copy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recovered {
    Copied,
    GivenUp,
}
