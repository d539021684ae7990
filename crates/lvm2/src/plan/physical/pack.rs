//! Extents move to the front of their physical volume, so that its end is free.
//!
//! ```text
//!     before   |a a|   |b b|   |m|     |c c|
//!     after    |a a|c c|b b|   |m|               m stays: a part of a mirror
//! ```
//!
//! What lies behind the end that can be reached goes into what is free in front of it, in order, so
//! that nothing is moved twice and no place is both read and written: what a volume had stays as it
//! was until the commit counts, and whatever cuts this off leaves the old volumes or the new ones.
//!
//! Only whole volumes move: those that nobody stands on, that stand on nothing but extents, and
//! whose policy is not *contiguous*; and of these only linear segments. All others stay where they
//! are, and people are told which: parts of mirrors, RAIDs, snapshots and pools, stripes.
//!
//! Does not: make room by moving to other physical volumes, or join what lies apart.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::model::{
    Allocation, AllocationMap, AllocationPolicy, Area, ExtentRange, LvFlag, LvId, PvId, Relations,
    Role, Segment, SegmentType, Striped, VolumeGroup,
};
use crate::ondisk::PvHeader;
use crate::plan::author::Author;
use crate::plan::change::{Before, Change};
use crate::plan::draft::{Draft, piece, pv_name, refused, require_known_segments};
use crate::plan::physical::shorten::require_apart;
use crate::plan::segments::{merge, segment};
use crate::{Extents, Result};

/// Extents of a volume that get another place.
#[derive(Debug, Clone, Copy)]
struct Move {
    lv: LvId,
    from: ExtentRange,
    to: Extents,
}

/// Moves extents of a physical volume to its front; `header` is the one from its label. A change
/// without a group: there is nothing to move. Besides, the volumes that should move and cannot.
pub fn pack_pv(
    vg: &VolumeGroup,
    pv: PvId,
    header: &PvHeader,
    author: &mut Author<'_>,
) -> Result<(Change, Vec<LvId>)> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    require_apart(vg, pv, header)?;
    let name = pv_name(vg, pv);
    let packing = Packing::of(vg, pv).ok_or_else(|| {
        let what = format!("{name}: two volumes have the same extent; nothing is moved");
        refused(what)
    })?;
    if packing.moves.is_empty() {
        return Ok((Change::default(), packing.fixed));
    }
    for one in &packing.moves {
        let target = ExtentRange {
            start: one.to,
            length: one.from.length,
        };
        let place = |range| {
            let found = piece(vg, pv, range);
            found.ok_or_else(|| refused(format!("{name}: an extent cannot be counted")))
        };
        draft.before.push(Before::Copy {
            from: place(one.from)?,
            to: place(target)?,
        });
    }
    let mut moved: Vec<LvId> = packing.moves.iter().map(|one| one.lv).collect();
    moved.sort_unstable_by_key(|lv| lv.index());
    moved.dedup();
    for lv in moved {
        let mine = packing.moves.iter().filter(|one| one.lv == lv);
        let mine: Vec<Move> = mine.copied().collect();
        let old = &vg.lv(lv).segments;
        let mut segments = old.iter().flat_map(|old| places(old, pv, &mine)).collect();
        merge(&mut segments);
        draft.vg.lv_mut(lv).segments = segments;
    }
    let count: Extents = packing.moves.iter().map(|one| one.from.length).sum();
    draft.note(format!("{} extents of {name} moved to its front.", count.0));
    Ok((draft.finish(author)?, packing.fixed))
}

/// The volumes with extents on a physical volume that nobody stands on and that are linear.
pub fn movable_volumes(vg: &VolumeGroup, pv: PvId) -> Vec<LvId> {
    let relations = Relations::of(vg);
    let is_on = |segment: &Segment| {
        let mut areas = segment.areas().iter();
        areas.any(|area| matches!(area, Area::Pv { pv: on, .. } if *on == pv))
    };
    let found = vg.lvs().filter(|(lv, volume)| {
        is_free_to_move(vg, &relations, *lv)
            && volume.segments.iter().all(is_linear)
            && volume.segments.iter().any(is_on)
    });
    found.map(|(lv, _)| lv).collect()
}

/// What moves, and what would have to and cannot.
struct Packing {
    moves: Vec<Move>,
    fixed: Vec<LvId>,
}

impl Packing {
    /// `None` where volumes overlap.
    fn of(vg: &VolumeGroup, pv: PvId) -> Option<Self> {
        let relations = Relations::of(vg);
        let map = AllocationMap::of(vg);
        let taken = map.allocations(pv);
        let is_movable = |lv: LvId, segment: usize| {
            is_free_to_move(vg, &relations, lv) && is_linear(&vg.lv(lv).segments[segment])
        };
        let movable = |one: &Allocation| is_movable(one.lv, one.segment);
        let used: Extents = taken.iter().map(|one| one.range.length).sum();
        let fixed_end = taken.iter().filter(|one| !movable(one));
        let fixed_end = fixed_end.map(|one| one.range.end()).max();
        // All that is free in front of it is enough for what lies behind it.
        let end = used.max(fixed_end.unwrap_or_default());
        let free = map.free(pv).into_iter().map(|hole| {
            // What lies behind the end stays free.
            ExtentRange::between(hole.start.min(end), hole.end().min(end))
        });
        let mut holes = free.filter(|hole| hole.length > Extents::ZERO);
        let mut hole = holes.next();
        let mut moves = Vec::new();
        for one in taken.iter().filter(|one| one.range.end() > end) {
            let mut from = one.range.start.max(end);
            while from < one.range.end() {
                let room = hole?;
                let length = room.length.min(one.range.end() - from);
                moves.push(Move {
                    lv: one.lv,
                    from: ExtentRange {
                        start: from,
                        length,
                    },
                    to: room.start,
                });
                from += length;
                let rest = ExtentRange::between(room.start + length, room.end());
                hole = Some(rest).filter(|rest| rest.length > Extents::ZERO);
                hole = hole.or_else(|| holes.next());
            }
        }
        let mut fixed: Vec<LvId> = Vec::new();
        for one in taken.iter().filter(|one| !movable(one)) {
            if one.range.end() > used && !fixed.contains(&one.lv) {
                fixed.push(one.lv);
            }
        }
        let goes_forward = |one: &Move| one.to + one.from.length <= end && end <= one.from.start;
        assert!(
            moves.iter().all(goes_forward),
            "extents move from behind the end to its front"
        );
        Some(Self { moves, fixed })
    }
}

/// Whether a volume is nobody's part, stands on extents alone, and may lie anywhere.
fn is_free_to_move(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> bool {
    let volume = vg.lv(lv);
    let policy = volume.allocation.unwrap_or(vg.allocation);
    relations.role(vg, lv) == Role::Whole
        && relations.used_by(lv).is_empty()
        && policy != AllocationPolicy::Contiguous
        && !volume.flags.has(LvFlag::Locked)
        && volume.segments.iter().all(|segment| {
            let areas = segment.areas().iter();
            let is_plain = matches!(
                segment.kind,
                SegmentType::Striped(_) | SegmentType::Zero | SegmentType::Error
            );
            is_plain
                && areas
                    .into_iter()
                    .all(|area| matches!(area, Area::Pv { .. }))
        })
}

fn is_linear(segment: &Segment) -> bool {
    matches!(&segment.kind, SegmentType::Striped(striped) if striped.areas.len() == 1)
        && segment.reshape == Extents::ZERO
}

/// A segment, cut where some of it moves.
fn places(old: &Segment, on: PvId, moves: &[Move]) -> Vec<Segment> {
    let SegmentType::Striped(Striped { areas, .. }) = &old.kind else {
        return vec![old.clone()];
    };
    let [Area::Pv { pv, start }] = areas[..] else {
        return vec![old.clone()];
    };
    if pv != on {
        return vec![old.clone()];
    }
    let mut made = Vec::new();
    let (mut at, end) = (start, start + old.length);
    while at < end {
        let within = moves.iter().find(|one| one.from.contains(at));
        let (to, length) = if let Some(one) = within {
            (one.to + (at - one.from.start), one.from.end().min(end) - at)
        } else {
            let next = moves.iter().map(|one| one.from.start);
            let next = next.filter(|next| *next > at).min();
            (at, next.unwrap_or(end).min(end) - at)
        };
        let area = Area::Pv { pv, start: to };
        let kind = SegmentType::Striped(Striped {
            stripe_size: crate::Sectors::ZERO,
            areas: vec![area],
        });
        made.push(Segment {
            tags: old.tags.clone(),
            type_flags: old.type_flags.clone(),
            extra: old.extra.clone(),
            ..segment(old.start + (at - start), length, kind)
        });
        at += length;
    }
    let sum: Extents = made.iter().map(|part| part.length).sum();
    assert_eq!(sum, old.length, "no extent is lost");
    made
}

#[cfg(test)]
mod tests;
