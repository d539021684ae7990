//! What each face may hold, and when it may fail.
//!
//! A snapshot begins as a copy of what is known of the origin. What the origin had answered then
//! is its base. Two things make the base durable: what makes it durable in the origin, and an
//! answered write to the origin, as that waits until the snapshot holds what was there. Its own
//! writes are like those of any device.
//!
//! A snapshot may become invalid if a request to its store failed, or one to the origin, or if its
//! store may be full: then it must say so, also after a cut. Where its store vanished, nothing can
//! be written there, so what comes back with it is not looked at. The origin may fail because of a
//! store that failed and cannot be marked, but never because of one that vanished; unless the
//! snapshot is being merged, whose store has a part of the origin.
//!
//! A merge makes what is known of the snapshot what is known of the origin.

use std::collections::BTreeSet;

use block::Range;

use super::shape::{SLOTS, capacity};
use crate::explore::{Model, SECTOR};
use crate::snapshot::{Overflow, Stored};

/// What is known of an origin and its snapshots.
#[derive(Debug, Clone, Hash)]
pub(super) struct Oracle {
    pub(super) origin: Model,
    pub(super) snapshots: [Option<Taken>; SLOTS],
    /// Snapshots that were ever taken.
    taken: u32,
    /// Whether requests to the origin's disk fail.
    pub(super) origin_fails: bool,
}

/// What is known of a snapshot.
#[derive(Debug, Clone, Hash)]
pub(super) struct Taken {
    pub(super) id: u64,
    /// Bytes of the snapshot, of the store that are used, and of a chunk.
    pub(super) size: u64,
    pub(super) store_size: u64,
    chunk: u64,
    pub(super) fails_whole: bool,
    pub(super) merging: bool,
    pub(super) merged: bool,
    pub(super) model: Model,
    /// The versions of the origin that it began with.
    base: Vec<u32>,
    /// Whether what the origin is asked still says something about the base.
    is_linked: bool,
    /// Chunks that the store may hold, and chunks of the store that cannot be used.
    touched: BTreeSet<u64>,
    leaked: u64,
    /// Whether requests to the store failed, and whether it vanished.
    pub(super) store_fails: bool,
    pub(super) store_gone: bool,
    /// Whether what it holds is known.
    pub(super) is_trusted: bool,
    /// It said that it is invalid: requests from this tag on must fail.
    invalid: Option<u64>,
}

impl Oracle {
    pub(super) fn new(origin_size: u64) -> Self {
        Self {
            origin: Model::new(origin_size / SECTOR),
            snapshots: [const { None }; SLOTS],
            taken: 0,
            origin_fails: false,
        }
    }

    /// Bytes of the origin.
    pub(super) fn origin_size(&self) -> u64 {
        self.origin.count() * SECTOR
    }

    pub(super) fn taken(&self) -> impl Iterator<Item = &Taken> {
        self.snapshots.iter().flatten()
    }

    pub(super) fn merging(&self) -> Option<&Taken> {
        self.taken().find(|taken| taken.merging)
    }

    /// The leg with the store of what is being merged.
    pub(super) fn merging_leg(&self) -> Option<usize> {
        let is_merging = |taken: &Option<Taken>| taken.as_ref().is_some_and(|taken| taken.merging);
        self.snapshots
            .iter()
            .position(is_merging)
            .map(|slot| 1 + slot)
    }

    /// What is known of the sectors of a face.
    pub(super) fn model(&mut self, face: usize) -> &mut Model {
        match face.checked_sub(1) {
            None => &mut self.origin,
            Some(slot) => &mut self.snapshots[slot].as_mut().expect("it is there").model,
        }
    }

    /// Takes a snapshot of what there is now.
    pub(super) fn take(&mut self, slot: usize, chunk: u64, store_size: u64, overflow: Overflow) {
        assert!(self.snapshots[slot].is_none(), "the slot is free");
        self.taken += 1;
        let count = self.origin.count();
        let versions = (0..count).map(|sector| self.origin.versions(sector));
        self.snapshots[slot] = Some(Taken {
            id: u64::from(self.taken),
            size: count * SECTOR,
            store_size,
            chunk,
            fails_whole: overflow == Overflow::Invalidate,
            merging: false,
            merged: false,
            base: versions.map(|(_, done, _)| done).collect(),
            model: self.origin.copy(count, self.taken),
            is_linked: true,
            touched: BTreeSet::new(),
            leaked: 0,
            store_fails: false,
            store_gone: false,
            is_trusted: true,
            invalid: None,
        });
    }

    /// Begins to merge a snapshot.
    pub(super) fn merge(&mut self, slot: usize) {
        for taken in self.snapshots.iter_mut().flatten() {
            taken.is_linked = false;
        }
        let taken = self.snapshots[slot].as_mut().expect("it is there");
        taken.merging = true;
        self.origin.overlay(&taken.model);
        self.touch_others();
    }

    /// Where something is merged, what that writes is copied to the other snapshots first.
    fn touch_others(&mut self) {
        let origin = Range::new(0, self.origin_size());
        if self.merging().is_some() {
            let all = self.snapshots.iter_mut().flatten();
            all.filter(|taken| !taken.merging)
                .for_each(|taken| taken.touch(origin));
        }
    }

    /// Something of this range is about to be written to a face.
    pub(super) fn writes(&mut self, face: usize, range: Range) {
        for (slot, taken) in self.snapshots.iter_mut().enumerate() {
            if let Some(taken) = taken
                && (face == 0 || face == 1 + slot)
                && !taken.merging
            {
                taken.touch(range);
            }
        }
    }

    /// A write to a face was answered.
    pub(super) fn written(&mut self, face: usize, range: Range, durable: bool, done: bool) {
        self.model(face).written(range, durable, done);
        if face > 0 || !done {
            return;
        }
        for taken in self.snapshots.iter_mut().flatten() {
            taken.settle(range, |_, base| base);
        }
    }

    /// What a flush of a face that begins now covers.
    pub(super) fn answered(&mut self, face: usize) -> Vec<u32> {
        let mut answered = self.model(face).answered();
        if let Some(slot) = face.checked_sub(1) {
            let taken = self.snapshots[slot].as_ref().expect("it is there");
            // The base is the origin's affair.
            for (sector, version) in answered.iter_mut().enumerate() {
                if *version <= taken.base[sector] {
                    *version = 0;
                }
            }
        }
        answered
    }

    /// A flush of a face was done that covers these.
    pub(super) fn flushed(&mut self, face: usize, covered: &[u32]) {
        self.model(face).flushed(covered);
        if face > 0 {
            return;
        }
        let all = Range::new(0, self.origin_size());
        for taken in self.snapshots.iter_mut().flatten() {
            taken.settle(all, |sector, base| covered[sector].min(base));
        }
    }

    /// The power was cut.
    pub(super) fn cut(&mut self) {
        self.origin.cut();
        for taken in self.snapshots.iter_mut().flatten() {
            taken.model.cut();
            for (sector, base) in taken.base.iter_mut().enumerate() {
                let (floor, ..) = taken.model.versions(sector as u64);
                *base = floor.min(*base);
            }
        }
    }

    /// The process was killed.
    pub(super) fn killed(&mut self) {
        self.origin.killed();
        let all = self.snapshots.iter_mut().flatten();
        all.for_each(|taken| taken.model.killed());
    }

    /// All begins anew, on disks of which none fails.
    pub(super) fn restarted(&mut self) {
        self.origin_fails = false;
        for taken in self.snapshots.iter_mut().flatten() {
            taken.store_fails = false;
            taken.store_gone = false;
            // It says so again.
            taken.merged = false;
        }
        self.touch_others();
    }

    /// A snapshot is about to be started from what its store holds.
    pub(super) fn restart(&mut self, slot: usize, stored: &Stored) -> Result<(), String> {
        let origin_fails = self.origin_fails;
        let taken = self.snapshots[slot].as_mut().expect("it is there");
        taken.is_trusted &= !taken.store_gone || taken.merging;
        let was_marked = taken.invalid == Some(0);
        if *stored == Stored::Overflowed {
            let told = taken.invalid.is_some() || !taken.is_trusted;
            let excused = told || origin_fails || taken.may_be_invalid();
            taken.invalid = Some(0);
            return match excused {
                _ if taken.merging => Err("what is being merged is invalid".into()),
                true => Ok(()),
                false => Err(format!("snapshot {slot} is invalid, though nothing failed")),
            };
        }
        if was_marked {
            return Err(format!("snapshot {slot} was invalid, and is valid again"));
        }
        taken.invalid = None;
        taken.touched.clear();
        taken.leaked = 0;
        if let Stored::Changes(changes) = stored {
            for run in &changes.entries {
                taken.touched.extend(run.old..run.old + run.count);
            }
            let entries = taken.touched.len() as u64;
            taken.leaked = data_chunks(taken.chunk, changes.next_free) - entries;
        }
        Ok(())
    }

    /// Whether a request to a face may fail that writes, or does not.
    pub(super) fn may_fail(&self, face: usize, writes: bool) -> bool {
        if self.origin_fails {
            return true;
        }
        match face.checked_sub(1) {
            None => {
                let fails = |taken: &Taken| {
                    let parts = taken.store_fails || taken.store_gone;
                    (taken.merging && parts) || (taken.store_fails && writes)
                };
                self.taken().any(fails)
            }
            Some(slot) => {
                let taken = self.snapshots[slot].as_ref().expect("it is there");
                taken.invalid.is_some() || !taken.is_trusted || taken.may_be_invalid()
            }
        }
    }

    /// A snapshot says that it is invalid; the next request has this tag.
    pub(super) fn invalid(&mut self, slot: usize, next_tag: u64) {
        let taken = self.snapshots[slot].as_mut().expect("it is there");
        taken.invalid.get_or_insert(next_tag);
    }

    /// Whether a request with this tag must not be answered with what a face holds.
    pub(super) fn must_fail(&self, face: usize, tag: u64) -> bool {
        let Some(slot) = face.checked_sub(1) else {
            return false;
        };
        let taken = self.snapshots[slot].as_ref().expect("it is there");
        taken.invalid.is_some_and(|from| tag >= from)
    }
}

impl Taken {
    pub(super) fn is_invalid(&self) -> bool {
        self.invalid.is_some()
    }

    /// Whether it may be merged: what it holds is known, and all there.
    pub(super) fn can_merge(&self) -> bool {
        self.is_trusted && !self.is_invalid() && !self.store_gone
    }

    fn touch(&mut self, range: Range) {
        let Some(range) = range.intersection(Range::new(0, self.size)) else {
            return;
        };
        let chunks = range.start() / self.chunk..range.end().div_ceil(self.chunk);
        self.touched.extend(chunks);
    }

    /// What may be its store's excuse.
    fn may_be_invalid(&self) -> bool {
        self.store_fails || self.store_gone || self.may_be_full()
    }

    pub(super) fn may_be_full(&self) -> bool {
        let used = self.touched.len() as u64 + self.leaked;
        used > capacity(self.chunk, self.store_size)
    }

    /// Makes of the base what `durable` says of a sector and its version durable, in a range.
    fn settle(&mut self, range: Range, durable: impl Fn(usize, u32) -> u32) {
        if !self.is_linked || self.invalid.is_some() {
            return;
        }
        let range = range.intersection(Range::new(0, self.size));
        let range = range.unwrap_or(Range::EMPTY);
        for sector in range.start() / SECTOR..range.end() / SECTOR {
            let version = durable(sector as usize, self.base[sector as usize]);
            self.model.raise(sector, version);
        }
    }
}

/// Chunks of a store before this one that may hold data.
fn data_chunks(chunk: u64, before: u64) -> u64 {
    let per_area = chunk / 16;
    (2..before).filter(|at| at % (per_area + 1) != 1).count() as u64
}
