//! Tests: the allocator against rules written down naively, on random groups.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_assert_ne, proptest};

use super::{Allocated, Leg, Request, Shortage, allocate, allocate_log};
use crate::Extents;
use crate::model::samples::{linear, read, text};
use crate::model::{AllocationPolicy, ExtentRange, PvId, VolumeGroup};
use crate::plan::places::{FreeSpace, Places};
use crate::plan::size::Exactness;

/// Runs of (physical volume, first extent, length) that are in use.
fn group(used: &[(usize, u64, u64)]) -> VolumeGroup {
    let lvs: Vec<String> = used
        .iter()
        .enumerate()
        .map(|(index, (pv, start, length))| linear(&format!("u{index}"), *pv, *start, *length))
        .collect();
    read(&text(&lvs))
}

fn space(vg: &VolumeGroup) -> FreeSpace {
    FreeSpace::of(vg, &Places::all(vg))
}

fn shown(runs: &[Allocated]) -> Vec<(u64, Vec<(usize, u64)>)> {
    let areas = |run: &Allocated| {
        run.areas
            .iter()
            .map(|(pv, at)| (pv.index(), at.0))
            .collect()
    };
    runs.iter().map(|run| (run.length.0, areas(run))).collect()
}

#[test]
fn small_needs_take_small_holes() {
    // Proves: on a physical volume the smallest run that suffices is taken, else the largest.
    let vg = group(&[(0, 0, 10), (0, 15, 5), (1, 0, 100), (2, 0, 100)]);
    let mut space = space(&vg);
    let mut get = |length| {
        let request = Request::new(Extents(length), 1, 1, AllocationPolicy::Normal);
        shown(&allocate(&vg, &mut space, &request).expect("there is space"))
    };
    assert_eq!(get(5), [(5, vec![(0, 10)])]);
    assert_eq!(get(50), [(50, vec![(0, 20)])]);
}

#[test]
fn a_leg_goes_on_behind_itself() {
    // Proves: contiguous first, then the same physical volume, then others.
    let vg = group(&[(0, 0, 10), (0, 13, 5), (1, 0, 60)]);
    let pv = vg.pvs().next().expect("there are three").0;
    let mut request = Request::new(Extents(190), 1, 1, AllocationPolicy::Normal);
    request.legs[0] = Leg {
        pvs: BTreeSet::from([pv]),
        behind: vec![(pv, Extents(10))],
    };
    let runs = allocate(&vg, &mut space(&vg), &request).expect("there is space");
    let expected = [
        (3, vec![(0, 10)]),
        (82, vec![(0, 18)]),
        (100, vec![(2, 0)]),
        (5, vec![(1, 60)]),
    ];
    assert_eq!(shown(&runs), expected);
    request.policy = AllocationPolicy::Contiguous;
    let shortage = allocate(&vg, &mut space(&vg), &request).expect_err("3 are free there");
    assert_eq!(shortage.missing, Extents(187));
    request.policy = AllocationPolicy::Cling;
    let shortage = allocate(&vg, &mut space(&vg), &request).expect_err("85 are free there");
    assert_eq!(
        shortage.error("a").context,
        "Insufficient suitable allocatable extents for logical volume a: 105 more required \
         (allocation policy cling)"
    );
}

#[test]
fn stripes_are_spread_even_where_that_takes_care() {
    // Proves: 3 × 10 extents give two stripes of 15, which no two physical volumes could.
    let vg = group(&[(0, 0, 90), (1, 0, 90), (2, 0, 90)]);
    let request = Request::new(Extents(15), 1, 2, AllocationPolicy::Normal);
    let runs = allocate(&vg, &mut space(&vg), &request).expect("there is space");
    let total: u64 = runs.iter().map(|run| run.length.0).sum();
    assert_eq!(total, 15);
}

#[test]
fn tags_hold_physical_volumes_together() {
    // Proves: cling_by_tags goes where a tag is shared, and nowhere else.
    let mut vg = group(&[(0, 0, 100), (1, 0, 50)]);
    let ids: Vec<PvId> = vg.pvs().map(|(id, _)| id).collect();
    vg.pv_mut(ids[0]).tags.push("left".to_owned());
    vg.pv_mut(ids[1]).tags.push("left".to_owned());
    let mut request = Request::new(Extents(10), 1, 1, AllocationPolicy::ClingByTags);
    request.legs[0] = Leg {
        pvs: BTreeSet::from([ids[0]]),
        behind: vec![(ids[0], Extents(100))],
    };
    let runs = allocate(&vg, &mut space(&vg), &request).expect("there is space");
    assert_eq!(shown(&runs), [(10, vec![(1, 50)])]);
    let others = ["@right".to_owned()];
    request.cling_tags = &others;
    allocate(&vg, &mut space(&vg), &request).expect_err("no such tag is shared");
}

#[test]
fn logs_keep_away_from_legs() {
    // Proves: a log goes to a physical volume without a leg, and beside one only where it must.
    let vg = group(&[(2, 0, 99)]);
    let ids: Vec<PvId> = vg.pvs().map(|(id, _)| id).collect();
    let legs = BTreeSet::from([ids[0], ids[1]]);
    let mut space = space(&vg);
    assert_eq!(
        allocate_log(&mut space, Extents(1), &legs),
        Some((ids[2], Extents(99)))
    );
    assert_eq!(
        allocate_log(&mut space, Extents(1), &legs),
        Some((ids[1], Extents::ZERO))
    );
}

/// What every allocation must be, whatever was asked for.
fn assert_obeyed(request: &Request<'_>, before: &FreeSpace, runs: &[Allocated]) {
    let mut taken: BTreeSet<(PvId, u64)> = BTreeSet::new();
    let mut legs: BTreeMap<PvId, BTreeSet<usize>> = BTreeMap::new();
    let mut length = Extents::ZERO;
    let is_strict = request.policy != AllocationPolicy::Anywhere;
    for run in runs {
        length += run.length;
        assert_eq!(run.areas.len(), request.area_count());
        let pvs: BTreeSet<PvId> = run.areas.iter().map(|(pv, _)| *pv).collect();
        assert!(
            !is_strict || pvs.len() == run.areas.len(),
            "areas share a PV: {runs:?}"
        );
        for (area, (pv, start)) in run.areas.iter().enumerate() {
            legs.entry(*pv).or_default().insert(area / request.stripes);
            let place = before.places().iter().find(|place| place.pv == *pv);
            let place = place.expect("it was offered");
            for extent in start.0..start.0 + run.length.0 {
                let is_free = |range: &ExtentRange| range.contains(Extents(extent));
                assert!(place.ranges.iter().any(is_free), "{extent} was not free");
                assert!(taken.insert((*pv, extent)), "{extent} is given twice");
            }
        }
    }
    assert!(
        !is_strict || legs.values().all(|legs| legs.len() == 1),
        "legs share a PV"
    );
    assert!(length <= request.length);
    assert!(request.exactness == Exactness::AtMost || length == request.length);
}

/// Whether it can be had at all: for one leg this is known exactly.
fn is_possible(request: &Request<'_>, space: &FreeSpace) -> Option<bool> {
    let (length, stripes) = (request.length.0, request.stripes as u64);
    let free = |place: &crate::plan::places::Place| -> u64 {
        place.ranges.iter().map(|range| range.length.0).sum()
    };
    let places = space.places().iter();
    match request.policy {
        AllocationPolicy::Anywhere => Some(space.total().0 >= length * request.area_count() as u64),
        AllocationPolicy::Normal if request.legs.len() == 1 => {
            let sum: u64 = places.map(|place| free(place).min(length)).sum();
            Some(sum >= length * stripes)
        }
        AllocationPolicy::Contiguous => {
            let fits = |place: &&crate::plan::places::Place| {
                place.ranges.iter().any(|range| range.length.0 >= length)
            };
            Some(places.filter(fits).count() >= request.area_count())
        }
        _ => None,
    }
}

fn used() -> impl Strategy<Value = Vec<(usize, u64, u64)>> {
    // Each physical volume is cut into tenths, of which some are used, from somewhere in them.
    proptest::collection::btree_set((0..3_usize, 0..10_u64), 0..28).prop_flat_map(|cells| {
        let count = cells.len();
        proptest::collection::vec((0..9_u64, 1..10_u64), count).prop_map(move |cuts| {
            let cell = |((pv, cell), (from, length)): (&(usize, u64), &(u64, u64))| {
                (*pv, cell * 10 + from, (*length).min(10 - from))
            };
            cells.iter().zip(&cuts).map(cell).collect()
        })
    })
}

proptest! {
    #[test]
    fn every_allocation_obeys(
        used in used(),
        length in 1..120_u64,
        legs in 1..4_usize,
        stripes in 1..4_usize,
        policy in proptest::sample::select(AllocationPolicy::ALL.to_vec()),
        is_exact in any::<bool>(),
    ) {
        // Proves: no overlap, distinct where it must be, complete where that is possible, and the
        // same again when asked again.
        let vg = group(&used);
        let mut request = Request::new(Extents(length), legs, stripes, policy);
        if !is_exact {
            request.exactness = Exactness::AtMost;
        }
        let before = space(&vg);
        let mut after = before.clone();
        let result = allocate(&vg, &mut after, &request);
        prop_assert_eq!(&result, &allocate(&vg, &mut before.clone(), &request));
        match &result {
            Ok(runs) => {
                assert_obeyed(&request, &before, runs);
                let taken: u64 = runs.iter().map(|run| run.length.0 * run.areas.len() as u64).sum();
                prop_assert_eq!(after.total().0, before.total().0 - taken);
                if is_exact {
                    prop_assert_ne!(is_possible(&request, &before), Some(false));
                }
            }
            Err(Shortage { missing, available, needed, .. }) => {
                prop_assert_ne!(is_possible(&request, &before), Some(true));
                prop_assert!(*missing > Extents::ZERO && missing <= needed);
                prop_assert_eq!(*available, before.total());
                prop_assert_eq!(after.total(), before.total());
            }
        }
    }
}
