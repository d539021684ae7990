//! Whose extents segments stand on: inside the physical or logical volume, and no extent twice.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::{Checker, Place};
use crate::Extents;
use crate::model::allocation::{Allocation, AllocationMap, Certainty, ExtentRange};
use crate::model::segment::{Area, SegmentType};

pub(super) fn check(checker: &mut Checker<'_>) {
    on_physical_volumes(checker);
    on_logical_volumes(checker);
}

fn on_physical_volumes(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    let map = AllocationMap::of(vg);
    for (id, pv) in vg.pvs() {
        let known = |allocation: &&Allocation| allocation.certainty == Certainty::Known;
        let taken = map.allocations(id).iter().filter(known);
        let places = taken.map(|taken| (taken.range, (taken.lv, taken.segment)));
        runs(
            checker,
            places,
            pv.pe_count,
            pv.device.as_deref().unwrap_or(&pv.key),
        );
    }
}

/// Volumes that stand on parts of other volumes: a move in progress, or stacks of old.
fn on_logical_volumes(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    let mut places: Vec<Vec<(ExtentRange, Place)>> = vec![Vec::new(); vg.lv_slots()];
    for (lv, volume) in vg.lvs() {
        for (index, segment) in volume.segments.iter().enumerate() {
            // Images of a mirror are checked as such.
            if !matches!(segment.kind, SegmentType::Striped(_)) {
                continue;
            }
            let Some(length) = segment.area_length() else {
                continue;
            };
            for area in segment.areas() {
                if let Area::Lv { lv: used, start } = *area {
                    places[used.index()].push((ExtentRange { start, length }, (lv, index)));
                }
            }
        }
    }
    for (id, volume) in vg.lvs() {
        let mut taken = core::mem::take(&mut places[id.index()]);
        taken.sort_by_key(|(range, _)| *range);
        runs(checker, taken.into_iter(), volume.extents(), volume.name());
    }
}

/// `taken` in the order of extents: none beyond `count`, and none that begins in another.
fn runs(
    checker: &mut Checker<'_>,
    taken: impl Iterator<Item = (ExtentRange, Place)>,
    count: Extents,
    on: &str,
) {
    // The run that reaches furthest so far: a new one can only meet others where it meets that.
    let mut furthest: Option<(ExtentRange, Place)> = None;
    for (range, place) in taken {
        if checker.is_full() {
            return;
        }
        let in_order = furthest.is_none_or(|(other, _)| other.start <= range.start);
        debug_assert!(in_order, "places come in the order of extents");
        if range.end() > count {
            let problem = format!(
                "its area on {on} ends at extent {}, of {}",
                range.end().0,
                count.0
            );
            checker.segment_error(place, problem);
        }
        if let Some((other, owner)) = furthest.filter(|(other, _)| other.end() > range.start) {
            let until = other.end().min(range.end());
            let problem = format!(
                "its extents {} to {} on {on} belong to {} too",
                range.start.0,
                until.0.saturating_sub(1),
                checker.name(owner.0),
            );
            if range.length != Extents::ZERO {
                checker.segment_error(place, problem);
            }
        }
        if furthest.is_none_or(|(other, _)| range.end() > other.end()) {
            furthest = Some((range, place));
        }
    }
}
