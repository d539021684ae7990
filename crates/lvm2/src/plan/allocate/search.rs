//! The search: policy by policy, run by run.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::candidates::{Candidate, assign};
use super::request::{Allocated, Leg, Request, Shortage};
use crate::Extents;
use crate::model::{AllocationPolicy, ExtentRange, PvId, VolumeGroup};
use crate::plan::places::FreeSpace;
use crate::plan::size::Exactness;

/// With any tag, physical volumes belong together.
const ANY_TAG: &str = "@*";

/// Takes what the request asks for out of `space`, which is left as it was where that fails.
pub fn allocate(
    vg: &VolumeGroup,
    space: &mut FreeSpace,
    request: &Request<'_>,
) -> Result<Vec<Allocated>, Shortage> {
    assert!(
        request.area_count() > 0 && request.length > Extents::ZERO,
        "something is asked for"
    );
    let mut search = Search::new(vg, space.clone(), request);
    search.run();
    if search.missing() > Extents::ZERO
        && request.policy == AllocationPolicy::Normal
        && request.exactness == Exactness::Exact
        && request.legs.len() == 1
        && request.stripes > 1
    {
        // Taking the longest runs may have left the rest on too few physical volumes.
        let mut balanced = Search::new(vg, space.clone(), request);
        while let Some(run) = balanced.balanced() {
            balanced.apply(run);
        }
        if balanced.missing() < search.missing() {
            search = balanced;
        }
    }
    let is_enough = search.missing() == Extents::ZERO
        || request.exactness == Exactness::AtMost && !search.found.is_empty();
    if !is_enough {
        let areas = request.area_count() as u64;
        return Err(Shortage {
            needed: request.length * areas,
            available: space.total(),
            missing: search.missing() * areas,
            policy: request.policy,
            areas: request.area_count(),
        });
    }
    search.check(space);
    *space = search.space;
    Ok(search.found)
}

/// Takes a run for a mirror's log, on a physical volume without a leg if there is one.
pub fn allocate_log(
    space: &mut FreeSpace,
    length: Extents,
    legs: &BTreeSet<PvId>,
) -> Option<(PvId, Extents)> {
    let fits = |place: &&super::super::places::Place| {
        place.ranges.iter().any(|range| range.length >= length)
    };
    let places = space.places();
    let place = places
        .iter()
        .rev()
        .filter(|place| !legs.contains(&place.pv))
        .find(fits)
        .or_else(|| places.iter().rev().find(fits))?;
    let range = *best_fit(&place.ranges, length)?;
    assert!(length > Extents::ZERO, "a log has extents");
    assert!(range.length >= length, "it fits there");
    let taken = ExtentRange {
        start: range.start,
        length,
    };
    let pv = place.pv;
    space.take(pv, taken);
    Some((pv, taken.start))
}

struct Search<'a> {
    vg: &'a VolumeGroup,
    space: FreeSpace,
    request: &'a Request<'a>,
    legs: Vec<Leg>,
    done: Extents,
    found: Vec<Allocated>,
}

impl<'a> Search<'a> {
    fn new(vg: &'a VolumeGroup, space: FreeSpace, request: &'a Request<'a>) -> Self {
        Self {
            vg,
            space,
            request,
            legs: request.legs.clone(),
            done: Extents::ZERO,
            found: Vec::new(),
        }
    }

    /// The invariants: what was found is as long as it was counted, and is gone from `before`.
    fn check(&self, before: &FreeSpace) {
        let found: Extents = self.found.iter().map(|run| run.length).sum();
        assert_eq!(found, self.done, "runs are counted");
        assert!(
            self.done <= self.request.length,
            "no more is taken than was asked for"
        );
        let taken = self.done * self.request.area_count() as u64;
        assert_eq!(
            self.space.total() + taken,
            before.total(),
            "what is taken is not free"
        );
    }

    fn missing(&self) -> Extents {
        self.request.length - self.done
    }

    fn run(&mut self) {
        for stage in stages(self.request.policy, self.request.cling_tags) {
            while self.missing() > Extents::ZERO {
                let Some(run) = self.step(stage) else { break };
                self.apply(run);
            }
        }
    }

    fn step(&self, stage: AllocationPolicy) -> Option<Allocated> {
        let is_new = self.legs.iter().all(|leg| leg.behind.is_empty());
        match stage {
            AllocationPolicy::Contiguous if is_new => {
                if self.request.policy != AllocationPolicy::Contiguous {
                    return None;
                }
                let is_whole = |run: &Allocated| {
                    run.length == self.missing() || self.request.exactness == Exactness::AtMost
                };
                self.distinct(stage, |_, _| true).filter(is_whole)
            }
            AllocationPolicy::Contiguous => self.contiguous(),
            AllocationPolicy::Cling | AllocationPolicy::ClingByTags if is_new => {
                let is_last = stage == self.request.policy;
                is_last.then(|| self.distinct(stage, |_, _| true)).flatten()
            }
            AllocationPolicy::Cling => {
                self.distinct(stage, |leg, pv| self.legs[leg].pvs.contains(&pv))
            }
            AllocationPolicy::ClingByTags => {
                self.distinct(stage, |leg, pv| self.shares_tag(leg, pv))
            }
            AllocationPolicy::Normal => self.distinct(stage, |_, _| true),
            AllocationPolicy::Anywhere => self.anywhere(),
        }
    }

    fn apply(&mut self, run: Allocated) {
        assert!(run.length > Extents::ZERO, "each step gets on");
        assert!(
            run.length <= self.missing(),
            "no more is taken than was asked for"
        );
        assert_eq!(
            run.areas.len(),
            self.request.area_count(),
            "each area goes on"
        );
        for leg in &mut self.legs {
            leg.behind.clear();
        }
        for (area, (pv, start)) in run.areas.iter().enumerate() {
            let range = ExtentRange {
                start: *start,
                length: run.length,
            };
            self.space.take(*pv, range);
            let leg = &mut self.legs[area / self.request.stripes];
            leg.pvs.insert(*pv);
            leg.behind.push((*pv, range.end()));
        }
        self.done += run.length;
        self.found.push(run);
    }

    /// Goes on right behind all stripes of all legs.
    fn contiguous(&self) -> Option<Allocated> {
        let mut length = self.missing();
        let mut areas = Vec::new();
        for (pv, end) in self.legs.iter().flat_map(|leg| &leg.behind) {
            let run = self.space.run_at(*pv, *end)?;
            length = length.min(run.length);
            areas.push((*pv, *end));
        }
        (areas.len() == self.request.area_count()).then_some(Allocated { length, areas })
    }

    /// The longest run whose areas lie on distinct physical volumes that their legs may use.
    fn distinct(
        &self,
        stage: AllocationPolicy,
        may_use: impl Fn(usize, PvId) -> bool,
    ) -> Option<Allocated> {
        let missing = self.missing();
        let mut candidates: Vec<Candidate> = Vec::new();
        for place in self.space.places() {
            if self.request.apart.contains(&place.pv) {
                continue;
            }
            if let Some(range) = best_fit(&place.ranges, missing) {
                candidates.push(Candidate {
                    pv: place.pv,
                    start: range.start,
                    length: range.length.min(missing),
                });
            }
        }
        candidates.sort_by_key(|candidate| core::cmp::Reverse(candidate.length));
        let stripes = self.request.stripes;
        let is_allowed = |area: usize, pv: PvId| {
            let leg = area / stripes;
            let is_foreign =
                |(other, state): (usize, &Leg)| other != leg && state.pvs.contains(&pv);
            !self.legs.iter().enumerate().any(is_foreign) && may_use(leg, pv)
        };
        let prefers = |area: usize| {
            if stage == AllocationPolicy::Normal {
                return None;
            }
            let behind = self.legs[area / stripes].behind.get(area % stripes);
            behind.map(|(pv, _)| *pv)
        };
        assign(&candidates, self.request.area_count(), is_allowed, prefers)
    }

    /// A run on the fullest supply that never leaves too few physical volumes for the rest.
    ///
    /// With k stripes, L extents can be had as long as the sum of min(free, L) is at least k × L;
    /// taking from the k physical volumes with the most, and no more than the others can make
    /// good, keeps that true.
    fn balanced(&self) -> Option<Allocated> {
        let missing = self.missing();
        if missing == Extents::ZERO {
            return None;
        }
        let stripes = self.request.stripes;
        let mut supplies: Vec<(Extents, Candidate)> = Vec::new();
        for place in self.space.places() {
            if self.request.apart.contains(&place.pv) {
                continue;
            }
            let free: Extents = place.ranges.iter().map(|range| range.length).sum();
            let Some(range) = best_fit(&place.ranges, missing) else {
                continue;
            };
            let candidate = Candidate {
                pv: place.pv,
                start: range.start,
                length: range.length.min(missing),
            };
            supplies.push((free, candidate));
        }
        supplies.sort_by_key(|(free, _)| core::cmp::Reverse(*free));
        if supplies.len() < stripes {
            return None;
        }
        let (chosen, others) = supplies.split_at(stripes);
        let mut length = chosen.iter().map(|(_, candidate)| candidate.length).min()?;
        if let Some((free, _)) = others.first()
            && *free < missing
        {
            length = length.min(missing - *free);
        }
        let areas = chosen
            .iter()
            .map(|(_, candidate)| (candidate.pv, candidate.start))
            .collect();
        Some(Allocated { length, areas })
    }

    /// The longest run that all that is left can be cut into.
    fn anywhere(&self) -> Option<Allocated> {
        let areas = self.request.area_count() as u64;
        let ranges = || self.space.places().iter().flat_map(|place| &place.ranges);
        let fits = |length: u64| {
            let pieces = ranges().fold(0_u64, |sum, range| sum + range.length.0 / length);
            pieces >= areas
        };
        let (mut low, mut high) = (0, self.missing().0);
        while low < high {
            let middle = high - (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        if low == 0 {
            return None;
        }
        let length = Extents(low);
        let mut starts = Vec::new();
        for place in self.space.places() {
            for range in &place.ranges {
                let pieces = (range.length.0 / low).min(areas - starts.len() as u64);
                starts.extend((0..pieces).map(|piece| (place.pv, range.start + length * piece)));
            }
        }
        assert_eq!(starts.len() as u64, areas, "each area has a place");
        Some(Allocated {
            length,
            areas: starts,
        })
    }

    fn shares_tag(&self, leg: usize, pv: PvId) -> bool {
        let clings = self.request.cling_tags;
        let is_any = clings.is_empty() || clings.iter().any(|tag| tag == ANY_TAG);
        let tags = &self.vg.pv(pv).tags;
        let counts = |tag: &&String| {
            is_any
                || clings
                    .iter()
                    .any(|cling| cling.trim_start_matches('@') == tag.as_str())
        };
        self.legs[leg].pvs.iter().any(|other| {
            let others = &self.vg.pv(*other).tags;
            *other == pv || tags.iter().filter(counts).any(|tag| others.contains(tag))
        })
    }
}

/// The policies to be tried, in their order.
fn stages(policy: AllocationPolicy, cling_tags: &[String]) -> Vec<AllocationPolicy> {
    let all = AllocationPolicy::ALL.into_iter();
    let last = AllocationPolicy::ALL
        .iter()
        .position(|other| *other == policy)
        .expect("the list has all of them");
    all.take(last + 1)
        .filter(|stage| {
            *stage != AllocationPolicy::ClingByTags || *stage == policy || !cling_tags.is_empty()
        })
        .collect()
}

/// The smallest range that is large enough, else the largest; the first of several.
fn best_fit(ranges: &[ExtentRange], length: Extents) -> Option<&ExtentRange> {
    let enough = ranges.iter().filter(|range| range.length >= length);
    enough
        .min_by_key(|range| range.length)
        .or_else(|| ranges.iter().rev().max_by_key(|range| range.length))
}
