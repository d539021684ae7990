//! Giving physical volumes to areas, each to one at most.
//!
//! Which areas may use which physical volumes differs: a leg keeps away from those of the other
//! legs, a cling stays on its own. That is a bipartite matching, found by augmenting paths. Among
//! all assignments one with the longest shortest area is wanted, so lengths are tried from the
//! longest down; the areas are few and so are the physical volumes.

use alloc::vec;
use alloc::vec::Vec;

use super::request::Allocated;
use crate::Extents;
use crate::model::PvId;

/// The run that one physical volume offers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) pv: PvId,
    pub(super) start: Extents,
    pub(super) length: Extents,
}

/// A run with `areas` areas on distinct candidates, which are sorted by falling length.
pub(super) fn assign(
    candidates: &[Candidate],
    areas: usize,
    is_allowed: impl Fn(usize, PvId) -> bool,
    prefers: impl Fn(usize) -> Option<PvId>,
) -> Option<Allocated> {
    let is_sorted = candidates.is_sorted_by(|one, other| one.length >= other.length);
    debug_assert!(is_sorted, "the longest come first");
    let mut count = areas;
    while count <= candidates.len() {
        let length = candidates[count.max(1) - 1].length;
        // All of the same length are tried together.
        count = candidates.partition_point(|candidate| candidate.length >= length);
        let offers = &candidates[..count];
        let matching = Matching::find(offers, areas, &is_allowed, &prefers);
        if let Some(owners) = matching {
            assert!(length > Extents::ZERO, "a run has extents");
            assert_eq!(owners.len(), areas, "each area has an offer");
            let areas = owners
                .iter()
                .map(|offer| (offers[*offer].pv, offers[*offer].start));
            return Some(Allocated {
                length,
                areas: areas.collect(),
            });
        }
        count += 1;
    }
    None
}

struct Matching<'a, A> {
    offers: &'a [Candidate],
    is_allowed: &'a A,
    /// Which area has an offer.
    area_of: Vec<Option<usize>>,
}

impl<A: Fn(usize, PvId) -> bool> Matching<'_, A> {
    /// For each area its offer.
    fn find(
        offers: &[Candidate],
        areas: usize,
        is_allowed: &A,
        prefers: &impl Fn(usize) -> Option<PvId>,
    ) -> Option<Vec<usize>> {
        let mut matching = Matching {
            offers,
            is_allowed,
            area_of: vec![None; offers.len()],
        };
        // What an area prefers it gets first, so that stripes stay where they are.
        let mut is_placed = vec![false; areas];
        for (area, placed) in is_placed.iter_mut().enumerate() {
            let wanted = prefers(area);
            let offer = offers.iter().position(|offer| {
                Some(offer.pv) == wanted && (matching.is_allowed)(area, offer.pv)
            });
            if let Some(offer) = offer.filter(|offer| matching.area_of[*offer].is_none()) {
                matching.area_of[offer] = Some(area);
                *placed = true;
            }
        }
        for (area, placed) in is_placed.iter().enumerate() {
            if !placed && !matching.place(area, &mut vec![false; offers.len()]) {
                return None;
            }
        }
        let placed = matching.area_of.iter().flatten().count();
        assert_eq!(placed, areas, "each area has an offer of its own");
        let mut owners = vec![0; areas];
        for (offer, area) in matching.area_of.iter().enumerate() {
            if let Some(area) = area {
                owners[*area] = offer;
            }
        }
        Some(owners)
    }

    /// Finds an offer for an area; areas that have one may have to move. The depth is bounded by
    /// the number of areas.
    fn place(&mut self, area: usize, is_seen: &mut [bool]) -> bool {
        debug_assert_eq!(is_seen.len(), self.offers.len(), "each offer has its mark");
        let free = (0..self.offers.len()).find(|offer| {
            self.area_of[*offer].is_none() && (self.is_allowed)(area, self.offers[*offer].pv)
        });
        if let Some(offer) = free {
            self.area_of[offer] = Some(area);
            return true;
        }
        for offer in 0..self.offers.len() {
            if is_seen[offer] || !(self.is_allowed)(area, self.offers[offer].pv) {
                continue;
            }
            is_seen[offer] = true;
            let owner = self.area_of[offer].expect("free ones were asked before");
            if self.place(owner, is_seen) {
                self.area_of[offer] = Some(area);
                return true;
            }
        }
        false
    }
}
