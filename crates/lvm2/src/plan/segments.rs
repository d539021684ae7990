//! Lists of segments: made from runs, put together, cut off.
//!
//! Neighbours that go on in each other become one segment, as in stock's texts, so a volume that
//! grew ten times in a row still has one.

use alloc::format;
use alloc::vec::Vec;

use super::allocate::Allocated;
use super::draft::refused;
use crate::model::{Area, Extras, LvId, Mirror, PvId, Segment, SegmentType, Striped};
use crate::{Extents, Result, Sectors};

/// A segment without anything special.
pub(super) fn segment(start: Extents, length: Extents, kind: SegmentType) -> Segment {
    Segment {
        start,
        length,
        reshape: Extents::ZERO,
        tags: Vec::new(),
        kind,
        type_flags: Vec::new(),
        extra: Extras::default(),
    }
}

/// The segments of one leg of an allocation, from `start` on.
pub(super) fn of_runs(
    runs: &[Allocated],
    leg: usize,
    stripes: usize,
    stripe_size: Sectors,
    start: Extents,
) -> Vec<Segment> {
    let mut next = start;
    let segments = runs.iter().map(|run| {
        assert!(
            (leg + 1) * stripes <= run.areas.len(),
            "the leg is one of the run"
        );
        let areas = &run.areas[leg * stripes..(leg + 1) * stripes];
        let length = run.length * stripes as u64;
        let kind = striped(areas, stripe_size);
        let made = segment(next, length, kind);
        next += length;
        made
    });
    segments.collect()
}

/// Extents of physical volumes, in stripes where there are several.
pub(super) fn striped(areas: &[(PvId, Extents)], stripe_size: Sectors) -> SegmentType {
    assert!(!areas.is_empty(), "a segment stands on something");
    let area = |(pv, start): &(PvId, Extents)| Area::Pv {
        pv: *pv,
        start: *start,
    };
    SegmentType::Striped(Striped {
        stripe_size: if areas.len() > 1 {
            stripe_size
        } else {
            Sectors::ZERO
        },
        areas: areas.iter().map(area).collect(),
    })
}

/// A mirror of whole volumes.
pub(super) fn mirror_of(images: &[LvId], log: Option<LvId>, region_size: Sectors) -> SegmentType {
    assert!(!images.is_empty(), "a mirror has images");
    let area = |lv: &LvId| Area::Lv {
        lv: *lv,
        start: Extents::ZERO,
    };
    SegmentType::Mirror(Mirror {
        extents_moved: None,
        log,
        region_size,
        images: images.iter().map(area).collect(),
    })
}

/// Adds segments at the end, and joins neighbours that go on in each other.
pub(super) fn append(segments: &mut Vec<Segment>, more: Vec<Segment>) {
    for next in more {
        match segments.last_mut() {
            Some(last) if goes_on(last, &next) => last.length += next.length,
            _ => segments.push(next),
        }
    }
}

/// The extents of all of them.
pub(super) fn total(segments: &[Segment]) -> Extents {
    segments.iter().map(|segment| segment.length).sum()
}

/// Joins all neighbours that go on in each other.
pub(super) fn merge(segments: &mut Vec<Segment>) {
    let all = core::mem::take(segments);
    let length = total(&all);
    append(segments, all);
    debug_assert_eq!(total(segments), length, "no extent is lost");
}

fn goes_on(one: &Segment, next: &Segment) -> bool {
    if !are_alike(one, next) {
        return false;
    }
    let Some(length) = one.area_length() else {
        return one.areas().is_empty();
    };
    let follows = |(a, b): (&Area, &Area)| match (a, b) {
        (Area::Pv { start, .. }, Area::Pv { start: at, .. })
        | (Area::Lv { start, .. }, Area::Lv { start: at, .. }) => *start + length == *at,
        _ => false,
    };
    one.areas().iter().zip(next.areas()).all(follows)
}

/// Whether `next` is behind `one` and would become one segment with it if its extents were in the
/// right places, on what they are on.
pub(super) fn are_alike(one: &Segment, next: &Segment) -> bool {
    let is_plain = |segment: &Segment| {
        segment.reshape == Extents::ZERO
            && segment.type_flags.is_empty()
            && segment.extra.is_empty()
    };
    if one.end() != next.start || one.tags != next.tags || !is_plain(one) || !is_plain(next) {
        return false;
    }
    match (&one.kind, &next.kind) {
        (SegmentType::Zero, SegmentType::Zero) | (SegmentType::Error, SegmentType::Error) => true,
        (SegmentType::Striped(a), SegmentType::Striped(b)) => {
            let is_below = |(a, b): (&Area, &Area)| match (a, b) {
                (Area::Pv { pv, .. }, Area::Pv { pv: on, .. }) => pv == on,
                (Area::Lv { lv, .. }, Area::Lv { lv: on, .. }) => lv == on,
                _ => false,
            };
            a.areas.len() == b.areas.len()
                && (a.areas.len() == 1 || a.stripe_size == b.stripe_size)
                && a.areas.iter().zip(&b.areas).all(is_below)
        }
        _ => false,
    }
}

/// Cuts everything behind `extents` off. A cut through a striped segment must be even.
pub(super) fn truncate(segments: &mut Vec<Segment>, extents: Extents) -> Result<()> {
    segments.retain(|segment| segment.start < extents);
    let Some(last) = segments.last_mut() else {
        return Ok(());
    };
    if last.end() <= extents {
        return Ok(());
    }
    let length = extents - last.start;
    match &last.kind {
        SegmentType::Striped(striped)
            if length.0.is_multiple_of(striped.areas.len().max(1) as u64) => {}
        SegmentType::Zero | SegmentType::Error | SegmentType::Mirror(_) => {}
        kind => {
            return Err(refused(format!(
                "A segment of type {} cannot be cut at extent {}",
                kind.name(),
                extents.0
            )));
        }
    }
    last.length = length;
    debug_assert_eq!(last.end(), extents, "it ends there");
    Ok(())
}

/// The number of stripes and their size that all segments share; `None` where they differ.
pub(super) fn common_stripes(segments: &[Segment]) -> Option<usize> {
    let mut counts = segments.iter().filter_map(|segment| match &segment.kind {
        SegmentType::Striped(striped) => Some(striped.areas.len()),
        _ => None,
    });
    let first = counts.next().unwrap_or(1);
    counts.all(|count| count == first).then_some(first)
}
