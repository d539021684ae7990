//! Random groups: whatever is moved, every volume keeps what it has.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{Strategy, any, prop, proptest};

use super::{end, group, moved};
use crate::model::{Area, LogicalVolume, LvFlag, PvId, VolumeGroup};
use crate::plan::physical::defrag::columns::columns;
use crate::plan::physical::defrag::plan::{Defrag, DefragScope, plan_defrag};
use crate::plan::samples::{id, uuid};
use crate::plan::segments::{merge, segment, striped};
use crate::{Extents, Sectors};

/// An extent of a physical volume.
type Extent = (PvId, u64);

/// A part of a volume: which, on how many stripes from which physical volume on, how long, how far
/// behind what was placed there, and in which order.
type Part = (usize, usize, u64, u64, u8);

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let part = (0..5_usize, 0..3_usize, 1..9_u64, 0..6_u64, any::<u8>());
    prop::collection::vec(part, 1..16)
}

/// Volumes of these parts; the last two have two stripes.
fn made(parts: &[Part]) -> VolumeGroup {
    let mut vg = group(&[]);
    let pvs: Vec<PvId> = vg.pvs().map(|(pv, _)| pv).collect();
    let mut next = [0; 3];
    let mut volumes: BTreeMap<usize, Vec<(u8, Vec<Extent>, u64)>> = BTreeMap::new();
    for (lv, pv, length, gap, order) in parts {
        let count = if *lv < 3 { 1 } else { 2 };
        let on: Vec<usize> = (0..count).map(|stripe| (pv + stripe) % 3).collect();
        if on.iter().any(|pv| next[*pv] + gap + length > 100) {
            continue;
        }
        let mut areas = Vec::new();
        for pv in on {
            areas.push((pvs[pv], next[pv] + gap));
            next[pv] += gap + length;
        }
        let all = volumes.entry(*lv).or_default();
        all.push((*order, areas, *length));
    }
    for (number, mut all) in volumes {
        all.sort_by_key(|(order, ..)| *order);
        let mut lv = LogicalVolume::new(format!("v{number}"), uuid(900_000_000 + number as u64));
        for flag in [LvFlag::Read, LvFlag::Write, LvFlag::Visible] {
            lv.flags.insert(flag);
        }
        let mut start = Extents::ZERO;
        for (_, areas, length) in all {
            let areas: Vec<(PvId, Extents)> =
                areas.iter().map(|(pv, at)| (*pv, Extents(*at))).collect();
            let whole = Extents(length * areas.len() as u64);
            let kind = striped(&areas, Sectors(128));
            lv.segments.push(segment(start, whole, kind));
            start += whole;
        }
        merge(&mut lv.segments);
        vg.add_lv(lv).expect("it is new");
    }
    vg
}

/// The extents of all volumes, in the order of their rows of stripes.
fn contents(vg: &VolumeGroup) -> BTreeMap<(String, u64), Extent> {
    let mut found = BTreeMap::new();
    for (_, lv) in vg.lvs() {
        for segment in &lv.segments {
            let count = segment.areas().len() as u64;
            for (stripe, area) in segment.areas().iter().enumerate() {
                let Area::Pv { pv, start } = *area else {
                    panic!("there is a layer");
                };
                for row in 0..segment.length.0 / count {
                    let at = segment.start.0 + row * count + stripe as u64;
                    found.insert((lv.name().to_owned(), at), (pv, start.0 + row));
                }
            }
        }
    }
    let distinct: BTreeSet<Extent> = found.values().copied().collect();
    assert_eq!(distinct.len(), found.len(), "two share an extent");
    found
}

/// Carries a plan out on disks that know what is on them; how often the busiest extent moved.
fn carried_out(before: &VolumeGroup, plan: &Defrag, piece_max: u64) -> (VolumeGroup, u64) {
    let mut disks: BTreeMap<Extent, (String, u64)> = BTreeMap::new();
    for (key, extent) in contents(before) {
        disks.insert(extent, key);
    }
    let mut counts: BTreeMap<(String, u64), u64> = BTreeMap::new();
    let mut now = before.clone();
    for pass in &plan.passes {
        let was = contents(&now);
        let taken: BTreeSet<Extent> = was.values().copied().collect();
        for one in pass {
            for offset in 0..one.from.length.0 {
                let from = (one.pv, one.from.start.0 + offset);
                let to = (one.to.0, one.to.1.0 + offset);
                assert!(!taken.contains(&to), "a target is not free");
                let content = disks.get(&from).expect("it has something").clone();
                *counts.entry(content.clone()).or_default() += 1;
                disks.insert(to, content);
            }
        }
        now = moved(&now, pass, piece_max);
        for (key, extent) in contents(&now) {
            assert_eq!(disks.get(&extent), Some(&key));
        }
    }
    assert_eq!(
        contents(before).keys().collect::<Vec<_>>(),
        contents(&now).keys().collect::<Vec<_>>()
    );
    (now, counts.into_values().max().unwrap_or(0))
}

fn is_apart(vg: &VolumeGroup) -> bool {
    vg.lvs().flat_map(|(_, lv)| &lv.segments).all(|segment| {
        let areas = segment.areas().iter();
        let pvs: BTreeSet<PvId> = areas
            .filter_map(|area| match area {
                Area::Pv { pv, .. } => Some(*pv),
                Area::Lv { .. } => None,
            })
            .collect();
        pvs.len() == segment.areas().len()
    })
}

proptest! {
    #[test]
    fn one_volume_becomes_contiguous(parts in parts(), piece_max in 1..9_u64) {
        // Proves: no more extents are moved than its columns in pieces have, though one may have to
        // get out of the way first, and if all has to leave its physical volume, at most twice as
        // many as it has; none of another volume; it is contiguous then, unless the plan names it;
        // stripes stay apart; another plan finds nothing to do.
        let vg = made(&parts);
        for (lv, volume) in vg.lvs() {
            let plan = plan_defrag(&vg, DefragScope::Volume(lv)).expect("it is planned");
            let (now, most) = carried_out(&vg, &plan, piece_max);
            assert!(most <= 2, "moved {most} times");
            let open = columns(&vg).into_iter();
            let open = open.filter(|one| one.lv == lv && !one.is_joined());
            let whole: Extents = open.map(|one| one.length).sum();
            let mut moves = plan.passes.iter().flatten();
            let stays = moves.all(|one| one.pv == one.to.0);
            let bound = if stays { whole } else { volume.extents() * 2 };
            assert!(plan.extents <= bound, "{} of {bound}", plan.extents);
            assert!(plan.passes.len() <= 16 * volume.segments.len());
            let (was, is) = (contents(&vg), contents(&now));
            let moved = was.iter().filter(|(key, extent)| is.get(*key) != Some(*extent));
            let mut moved_count = 0;
            for ((name, _), _) in moved {
                assert_eq!(name, volume.name());
                moved_count += 1;
            }
            assert!(plan.extents.0 >= moved_count);
            assert!(plan.extents.0 == moved_count || most > 1);
            let same = id(&now, volume.name());
            let open = columns(&now).iter().any(|one| one.lv == same && !one.is_joined());
            assert_eq!(open, plan.left.contains(&lv));
            assert!(plan.segments.1 <= plan.segments.0);
            assert!(is_apart(&now));
            let again = plan_defrag(&now, DefragScope::Volume(same)).expect("it is planned");
            assert!(again.passes.is_empty());
        }
    }

    #[test]
    fn groups_are_packed(parts in parts(), piece_max in 1..9_u64) {
        // Proves: with room to move in everything is contiguous, in front, and no extent was moved
        // more often than five times: together, out of the way and back, for itself and for others.
        let vg = made(&parts);
        let plan = plan_defrag(&vg, DefragScope::GroupToStart).expect("it is planned");
        assert!(plan.passes.len() <= 100, "{} passes", plan.passes.len());
        let (now, most) = carried_out(&vg, &plan, piece_max);
        assert!(most <= 5, "moved {most} times");
        assert!(is_apart(&now));
        let again = plan_defrag(&now, DefragScope::GroupToStart).expect("it is planned");
        assert!(again.passes.is_empty());
        let used = |pv: usize| {
            let pv = now.pvs().nth(pv).expect("it is there").0;
            contents(&now).values().filter(|(on, _)| *on == pv).count() as u64
        };
        for pv in 0..3 {
            if end(&vg, pv) <= 50 && plan.left.is_empty() {
                assert_eq!(end(&now, pv), used(pv), "there are gaps");
            }
        }
        if (0..3).all(|pv| end(&vg, pv) <= 50) {
            assert!(plan.left.is_empty());
        }
    }
}
