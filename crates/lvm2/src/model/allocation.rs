//! Which extents of the physical volumes are taken, by whom, and which are free.
//!
//! ```text
//!     pv0   |linear1  0-7|linear2  8-11|linear2 12-13| free 14-94 |
//! ```
//!
//! The map is collected from the segments in one pass and sorted; finding an extent's owner is a
//! binary search. Segments of an unknown type may stand on extents too: wherever one holds the
//! name of a physical volume with a number behind it, as many extents as the segment is long are
//! taken for used, so that nobody gives them away.
//!
//! Damaged texts may let two segments have the same extent or go beyond a volume's end; the map
//! holds both as they are, and [`check`](super::check()) reports them.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::ids::{LvId, PvId};
use super::segment::{Area, Segment, SegmentType};
use super::vg::VolumeGroup;
use crate::Extents;
use crate::text::{Node, Value};

/// A run of extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentRange {
    /// The first one.
    pub start: Extents,
    /// How many there are.
    pub length: Extents,
}

/// Extents of a physical volume that are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// Which ones.
    pub range: ExtentRange,
    /// The volume that has them.
    pub lv: LvId,
    /// The index of its segment.
    pub segment: usize,
    /// The index of the segment's area.
    pub area: usize,
    /// Whether they are taken or only may be.
    pub certainty: Certainty,
}

/// How sure it is that extents are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// An area says so.
    Known,
    /// A segment of an unknown type may mean so.
    Possible,
}

/// A run of extents that is taken or free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run<'a> {
    /// Taken.
    Used(&'a Allocation),
    /// Free.
    Free(ExtentRange),
}

/// The extents of all physical volumes of a group.
#[derive(Debug, Clone)]
pub struct AllocationMap {
    /// By the index of the physical volume's id; sorted by the first extent.
    allocations: Vec<Vec<Allocation>>,
    /// How many extents each of them has.
    extents: Vec<Extents>,
}

impl ExtentRange {
    /// The run from `start` to in front of `end`.
    pub fn between(start: Extents, end: Extents) -> Self {
        Self {
            start,
            length: end - start,
        }
    }

    /// The first extent behind it.
    pub fn end(&self) -> Extents {
        self.start + self.length
    }

    /// Whether `extent` is one of them.
    pub fn contains(&self, extent: Extents) -> bool {
        self.start <= extent && extent < self.end()
    }
}

impl AllocationMap {
    /// Collects the areas of all segments.
    pub fn of(vg: &VolumeGroup) -> Self {
        let mut extents = vec![Extents::ZERO; vg.pv_slots()];
        for (id, pv) in vg.pvs() {
            extents[id.index()] = pv.pe_count;
        }
        let mut map = Self {
            allocations: vec![Vec::new(); vg.pv_slots()],
            extents,
        };
        let mut keys = None;
        for (lv, volume) in vg.lvs() {
            for (index, segment) in volume.segments.iter().enumerate() {
                map.add_areas(lv, index, segment);
                if let SegmentType::Unknown(unknown) = &segment.kind {
                    let keys = keys.get_or_insert_with(|| pv_keys(vg));
                    map.add_possible(lv, index, segment.length, &unknown.nodes, keys);
                }
            }
        }
        assert_eq!(
            map.allocations.len(),
            map.extents.len(),
            "each slot has its list"
        );
        for allocations in &mut map.allocations {
            allocations.sort_by_key(|allocation| allocation.range);
        }
        map
    }

    /// What is taken of a physical volume, in the order of its extents.
    pub fn allocations(&self, pv: PvId) -> &[Allocation] {
        &self.allocations[pv.index()]
    }

    /// The runs of a physical volume that are free, in order.
    pub fn free(&self, pv: PvId) -> Vec<ExtentRange> {
        let runs = self.runs(pv).into_iter();
        runs.filter_map(|run| match run {
            Run::Free(range) => Some(range),
            Run::Used(_) => None,
        })
        .collect()
    }

    /// Everything on a physical volume, taken and free, in order.
    pub fn runs(&self, pv: PvId) -> Vec<Run<'_>> {
        let end = self.extents[pv.index()];
        let mut runs = Vec::new();
        let mut next = Extents::ZERO;
        for allocation in self.allocations(pv) {
            let start = allocation.range.start.min(end);
            if next < start {
                runs.push(Run::Free(ExtentRange::between(next, start)));
            }
            runs.push(Run::Used(allocation));
            next = next.max(allocation.range.end());
        }
        if next < end {
            runs.push(Run::Free(ExtentRange::between(next, end)));
        }
        runs
    }

    /// How many extents of a physical volume are free.
    pub fn free_count(&self, pv: PvId) -> Extents {
        self.free(pv).iter().map(|range| range.length).sum()
    }

    /// How many extents of a physical volume are taken.
    pub fn used_count(&self, pv: PvId) -> Extents {
        debug_assert!(
            self.free_count(pv) <= self.extents[pv.index()],
            "free extents are there"
        );
        self.extents[pv.index()] - self.free_count(pv)
    }

    /// How many extents of the whole group are free.
    pub fn free_count_of_group(&self, vg: &VolumeGroup) -> Extents {
        let counts = vg.pvs().map(|(id, _)| self.free_count(id).0);
        Extents(counts.fold(0, u64::saturating_add))
    }

    /// Who has an extent; where that is more than one, the one that begins last.
    pub fn owner(&self, pv: PvId, extent: Extents) -> Option<&Allocation> {
        let allocations = self.allocations(pv);
        let behind = allocations.partition_point(|allocation| allocation.range.start <= extent);
        debug_assert!(
            allocations.is_sorted_by_key(|one| one.range),
            "lists are in order"
        );
        allocations[..behind]
            .iter()
            .rev()
            .find(|allocation| allocation.range.contains(extent))
    }

    fn add_areas(&mut self, lv: LvId, segment: usize, content: &Segment) {
        let count = content.areas().len().max(1) as u64;
        // A damaged length need not divide; then every area gets the longer share.
        let length = content.area_length();
        let length = length.unwrap_or(Extents(content.length.0.div_ceil(count)));
        for (area, place) in content.areas().iter().enumerate() {
            if let Area::Pv { pv, start } = *place {
                self.allocations[pv.index()].push(Allocation {
                    range: ExtentRange { start, length },
                    lv,
                    segment,
                    area,
                    certainty: Certainty::Known,
                });
            }
        }
    }

    /// Looks for `"pv0", 12` in everything that a segment of an unknown type holds.
    fn add_possible(
        &mut self,
        lv: LvId,
        segment: usize,
        length: Extents,
        nodes: &[Node<'_>],
        keys: &BTreeMap<&str, PvId>,
    ) {
        let mut left: Vec<&Node<'_>> = nodes.iter().collect();
        while let Some(node) = left.pop() {
            let value = match node {
                Node::Section(section) => {
                    left.extend(&section.nodes);
                    continue;
                }
                Node::Value { value, .. } => value,
            };
            let Value::Array(items) = value else { continue };
            for (area, pair) in items.windows(2).enumerate() {
                let [Value::String(name), Value::Integer(start)] = pair else {
                    continue;
                };
                let (Some(pv), Ok(start)) = (keys.get(name.as_ref()), u32::try_from(*start)) else {
                    continue;
                };
                let start = Extents(u64::from(start));
                let end = (start + length).min(self.extents[pv.index()]);
                if start < end {
                    self.allocations[pv.index()].push(Allocation {
                        range: ExtentRange::between(start, end),
                        lv,
                        segment,
                        area,
                        certainty: Certainty::Possible,
                    });
                }
            }
        }
    }
}

fn pv_keys(vg: &VolumeGroup) -> BTreeMap<&str, PvId> {
    vg.pvs().map(|(id, pv)| (pv.key.as_str(), id)).collect()
}

#[cfg(test)]
mod tests;
