//! Free extents while a pass is planned: what is taken is gone, what is left is not free yet.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::Extents;
use crate::model::{AllocationMap, ExtentRange, PvId, VolumeGroup};

/// The free extents of one physical volume: sorted, apart from each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Holes(Vec<ExtentRange>);

/// The free extents of a group, on physical volumes that are allocatable and there.
#[derive(Debug, Clone)]
pub(super) struct Space(BTreeMap<PvId, Holes>);

impl Space {
    pub(super) fn of(vg: &VolumeGroup) -> Self {
        let map = AllocationMap::of(vg);
        let pvs = vg.pvs().filter(|(_, pv)| pv.is_allocatable());
        Self(pvs.map(|(pv, _)| (pv, Holes(map.free(pv)))).collect())
    }

    /// Those of one physical volume; none where it may not be used.
    pub(super) fn on(&self, pv: PvId) -> Holes {
        self.0.get(&pv).cloned().unwrap_or_default()
    }

    pub(super) fn take(&mut self, pv: PvId, range: ExtentRange) {
        if let Some(holes) = self.0.get_mut(&pv) {
            holes.take(range);
        }
    }

    pub(super) fn pvs(&self) -> impl Iterator<Item = PvId> {
        self.0.keys().copied()
    }
}

impl Holes {
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &ExtentRange> {
        self.0.iter()
    }

    pub(super) fn has(&self, range: ExtentRange) -> bool {
        let mut holes = self.0.iter();
        holes.any(|hole| hole.start <= range.start && range.end() <= hole.end())
    }

    /// What of a range is free.
    pub(super) fn within(&self, range: ExtentRange) -> Vec<ExtentRange> {
        let common = self.0.iter().filter_map(|hole| {
            let (from, to) = (hole.start.max(range.start), hole.end().min(range.end()));
            (from < to).then(|| ExtentRange::between(from, to))
        });
        common.collect()
    }

    /// Takes away what of it is there.
    pub(super) fn take(&mut self, range: ExtentRange) {
        let old = core::mem::take(&mut self.0);
        for hole in old {
            let rests = [
                (hole.start, hole.end().min(range.start)),
                (hole.start.max(range.end()), hole.end()),
            ];
            for (from, to) in rests {
                if from < to {
                    self.0.push(ExtentRange::between(from, to));
                }
            }
        }
        self.check();
    }

    /// Adds extents that are not there.
    pub(super) fn give(&mut self, range: ExtentRange) {
        self.0.push(range);
        self.0.sort_unstable();
        let mut joined: Vec<ExtentRange> = Vec::new();
        for hole in core::mem::take(&mut self.0) {
            match joined.last_mut() {
                Some(last) if last.end() == hole.start => last.length += hole.length,
                _ => joined.push(hole),
            }
        }
        self.0 = joined;
        debug_assert!(self.0.is_sorted(), "holes are in order");
    }

    /// The smallest that has so many extents.
    pub(super) fn best_fit(&self, length: Extents) -> Option<ExtentRange> {
        let holes = self.0.iter().filter(|hole| hole.length >= length);
        holes.min_by_key(|hole| (hole.length, hole.start)).copied()
    }

    /// The invariants: in order, apart, and none empty.
    fn check(&self) {
        let are_apart = self.0.windows(2).all(|pair| pair[0].end() <= pair[1].start);
        debug_assert!(are_apart, "holes are in order and apart");
        let is_filled = |hole: &ExtentRange| hole.length > Extents::ZERO;
        debug_assert!(self.0.iter().all(is_filled), "a hole has extents");
    }
}
