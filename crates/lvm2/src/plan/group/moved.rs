//! What moved since a version of a group: extents of a volume that have other places now.
//!
//! ```text
//!     then   data   |pv0:0      |pv0:4   |           going back shows what pv0 had when
//!     now    data   |pv0:0      |pv2:9   |           the extents were moved, or whose it is now
//! ```
//!
//! Of what is being moved, a piece is on its target as soon as the text says that it is moved. Only
//! places are compared, so it is no move where a volume lost extents and got others instead; which
//! contents are wanted then only its owner knows, and he has to say so, too.
//!
//! Costs: the runs of both versions in memory, and one pass over those of each volume.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::model::{Area, LvFlag, LvId, Segment, SegmentType, VolumeGroup};
use crate::{Extents, Uuid};

/// Extents of a volume that have other places now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) name: String,
    pub(super) extents: Extents,
}

/// Neighbours of one area of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    /// How many areas take turns, which of them it is, and where in a row their segment begins.
    stripes: u64,
    area: usize,
    offset: u64,
    /// Where it begins in that area, were the volume all like that.
    at: u64,
    length: u64,
    pv: Uuid,
    start: u64,
}

/// The volumes of `then` of which extents are elsewhere in `now`.
pub(super) fn moved_since(then: &VolumeGroup, now: &VolumeGroup) -> Vec<Moved> {
    let mut found = Vec::new();
    for (id, lv) in then.lvs() {
        let Some(same) = now.lv_by_uuid(&lv.uuid) else {
            continue;
        };
        let extents = elsewhere(&runs(then, id), &runs(now, same));
        if extents > 0 {
            found.push(Moved {
                name: lv.name().to_string(),
                extents: Extents(extents),
            });
        }
    }
    found
}

/// How many extents of some runs have other places in others; both are sorted.
fn elsewhere(then: &[Run], now: &[Run]) -> u64 {
    let mut found = 0;
    let (mut a, mut b) = (then.iter().peekable(), now.iter().peekable());
    while let (Some(one), Some(other)) = (a.peek(), b.peek()) {
        let column_of = |run: &Run| (run.stripes, run.area, run.offset);
        let (column, other_column) = (column_of(one), column_of(other));
        let (end, other_end) = (one.at + one.length, other.at + other.length);
        if column == other_column {
            let start = one.at.max(other.at);
            let shared = end.min(other_end).saturating_sub(start);
            let place = |run: &Run| (run.pv, run.start + start.saturating_sub(run.at));
            if place(one) != place(other) {
                found += shared;
            }
        }
        if (column, end) <= (other_column, other_end) {
            a.next();
        } else {
            b.next();
        }
    }
    found
}

/// Where the extents of a volume lie, those that are being moved too; not those of its parts.
fn runs(vg: &VolumeGroup, lv: LvId) -> Vec<Run> {
    let mut found = Vec::new();
    for segment in &vg.lv(lv).segments {
        if !matches!(segment.kind, SegmentType::Striped(_)) {
            continue;
        }
        let stripes = segment.areas().len().max(1) as u64;
        let length = segment.area_length().unwrap_or(segment.length).0;
        for (area, place) in segment.areas().iter().enumerate() {
            let found_there = Run {
                stripes,
                area,
                offset: segment.start.0 % stripes,
                at: segment.start.0 / stripes,
                length,
                pv: vg.uuid,
                start: 0,
            };
            put(vg, found_there, *place, Of::Volume, &mut found);
        }
    }
    found.sort_unstable();
    found
}

/// Whose area it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Volume,
    Move,
}

/// Notes where a run lies, through the volume of a move.
fn put(vg: &VolumeGroup, run: Run, place: Area, of: Of, found: &mut Vec<Run>) {
    let (lv, start) = match place {
        Area::Pv { pv, start } => {
            let (pv, start) = (vg.pv(pv).uuid, start.0);
            return found.push(Run { pv, start, ..run });
        }
        Area::Lv { lv, start } => (lv, start.0),
    };
    if of == Of::Volume && !vg.lv(lv).flags.has(LvFlag::Pvmove) {
        // It is a volume with places of its own.
        return;
    }
    for piece in &vg.lv(lv).segments {
        let from = start.max(piece.start.0);
        let to = (start + run.length).min(piece.end().0);
        let Some(mut area) = right(piece).filter(|_| from < to) else {
            continue;
        };
        match &mut area {
            Area::Pv { start, .. } | Area::Lv { start, .. } => {
                *start += Extents(from - piece.start.0);
            }
        }
        let part = Run {
            at: run.at + (from - start),
            length: to - from,
            ..run
        };
        put(vg, part, area, Of::Move, found);
    }
}

/// The area of a piece of a move that has what the text says.
fn right(piece: &Segment) -> Option<Area> {
    let areas = piece.areas();
    let is_moved = match &piece.kind {
        SegmentType::Mirror(mirror) => mirror.extents_moved == Some(piece.length),
        _ => false,
    };
    // Of an atomic move nothing counts before all does.
    match (is_moved, areas.last()) {
        (true, Some(target @ Area::Pv { .. })) => Some(*target),
        _ => areas.first().copied(),
    }
}
