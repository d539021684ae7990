//! The map of extents against a naive one that looks at every extent.

use proptest::collection::vec;
use proptest::prelude::{Strategy, proptest};

use super::{AllocationMap, Certainty, ExtentRange, Run};
use crate::Extents;
use crate::model::samples;
use crate::model::{Area, VolumeGroup};

/// For each extent of each physical volume, how many areas stand on it.
fn naive(vg: &VolumeGroup) -> Vec<Vec<usize>> {
    let mut counts: Vec<_> = vg
        .pvs()
        .map(|(_, pv)| vec![0; pv.pe_count.0 as usize])
        .collect();
    for (_, lv) in vg.lvs() {
        for segment in &lv.segments {
            let length = segment.area_length().unwrap_or_default().0;
            for area in segment.areas() {
                if let Area::Pv { pv, start } = *area {
                    (start.0..start.0 + length)
                        .for_each(|extent| counts[pv.index()][extent as usize] += 1);
                }
            }
        }
    }
    counts
}

fn assert_as_naive(vg: &VolumeGroup) {
    let map = AllocationMap::of(vg);
    for (counts, (id, pv)) in naive(vg).iter().zip(vg.pvs()) {
        let free = map.free(id);
        for (extent, count) in counts.iter().enumerate() {
            let extent = Extents(extent as u64);
            let is_free = free.iter().any(|range| range.contains(extent));
            assert_eq!(is_free, *count == 0, "extent {}", extent.0);
            assert_eq!(
                map.owner(id, extent).is_some(),
                *count > 0,
                "extent {}",
                extent.0
            );
        }
        let free_count = counts.iter().filter(|count| **count == 0).count() as u64;
        assert_eq!(map.free_count(id), Extents(free_count));
        assert_eq!(map.used_count(id) + map.free_count(id), pv.pe_count);
        assert!(
            free.windows(2).all(|pair| pair[0].end() < pair[1].start),
            "runs are whole"
        );
        let covered: u64 = map.runs(id).iter().map(|run| length(*run)).sum();
        assert_eq!(covered, pv.pe_count.0, "runs cover the volume");
    }
}

fn length(run: Run<'_>) -> u64 {
    match run {
        Run::Used(allocation) => allocation.range.length.0,
        Run::Free(range) => range.length.0,
    }
}

#[test]
fn golden_extents() {
    // Proves: counts and owners on the golden disks are those that stock reports.
    assert_as_naive(&samples::golden());
    let vg = samples::every_type();
    let map = AllocationMap::of(&vg);
    let pvs: Vec<_> = vg.pvs().map(|(id, _)| id).collect();
    assert_eq!(map.used_count(pvs[0]), Extents(58));
    assert_eq!(map.used_count(pvs[1]), Extents(48));
}

#[test]
fn unknown_types_keep_their_extents() {
    // Proves: extents that an unknown segment may stand on are not free.
    let fields = "depth { colours = [\"red\", \"pv2\", 40, 7] } stripes = [\"pv1\", 99]";
    let vg = samples::read(&samples::text(&[samples::lv("un", 3, "future", fields)]));
    let map = AllocationMap::of(&vg);
    let used: Vec<_> = vg.pvs().map(|(id, _)| map.used_count(id).0).collect();
    assert_eq!(used, [0, 1, 3]);
    let (id, _) = vg.pvs().nth(2).expect("three physical volumes");
    assert_eq!(
        map.owner(id, Extents(42)).map(|owner| owner.certainty),
        Some(Certainty::Possible)
    );
    assert!(map.owner(id, Extents(43)).is_none());
}

#[test]
fn areas_beyond_the_end_are_no_free_space() {
    // Proves: a damaged text does not make the map count below zero.
    let vg = samples::read(&samples::text(&[
        samples::linear("a", 0, 90, 20),
        samples::linear("b", 0, 200, 5),
    ]));
    let map = AllocationMap::of(&vg);
    let (id, _) = vg.pvs().next().expect("a physical volume");
    assert_eq!(
        map.free(id),
        [ExtentRange {
            start: Extents(0),
            length: Extents(90)
        }]
    );
    assert_eq!(map.used_count(id), Extents(10));
}

/// Volumes one behind the other, with gaps.
fn layouts() -> impl Strategy<Value = Vec<(usize, u64, u64)>> {
    vec((0..3_usize, 0..4_u64, 1..5_u64), 0..24)
}

proptest! {
    #[test]
    fn random_maps(layout in layouts()) {
        // Proves: whatever the layout, the map says what looking at each extent says.
        let mut next = [0; 3];
        let mut lvs = Vec::new();
        for (index, (pv, gap, length)) in layout.into_iter().enumerate() {
            let start = next[pv] + gap;
            if start + length <= samples::PE_COUNT {
                lvs.push(samples::linear(&format!("lv{index}"), pv, start, length));
                next[pv] = start + length;
            }
        }
        assert_as_naive(&samples::read(&samples::text(&lvs)));
    }
}
