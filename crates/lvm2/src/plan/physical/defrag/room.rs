//! The end of a physical volume becomes free, so that it can be shortened.
//!
//! ```text
//!     |a a|   |b b|c c|  |d d|         the end that is wanted is in front of d
//!     |a a|d d|b b|c c|                what fits in front of it stays on its physical volume
//! ```
//!
//! The longest runs are placed first, each in the smallest gap that has room for all of it, then
//! what is left in pieces. What does not fit goes to other physical volumes, by the rules of
//! `pvmove`, in a second move; that there is room for it is known before the first one begins.

use alloc::format;
use alloc::vec::Vec;

use super::columns::{Column, movable};
use super::space::{Holes, Space};
use crate::model::{AllocationMap, AllocationPolicy, ExtentRange, PvId, Relations, VolumeGroup};
use crate::ondisk::PvHeader;
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::refused;
use crate::plan::physical::pvmove::{
    MoveMode, MoveRequest, Relocation, begin_move, begin_relocation, obstacle, relocated,
};
use crate::plan::physical::resize::{PvSize, new_count};
use crate::plan::places::Places;
use crate::{Extents, Result, Uuid};

/// How many extents a physical volume has in use behind the end that it gets with a size; `header`
/// is the one from its label.
pub fn room_needed(vg: &VolumeGroup, pv: PvId, header: &PvHeader, size: PvSize) -> Result<Extents> {
    Ok(used_behind(vg, pv, new_count(vg, pv, header, size)?))
}

/// Begins to move what a physical volume has behind the end that it gets with a size. More than one
/// move may be needed, as `room_needed` says then.
pub fn begin_room(
    vg: &VolumeGroup,
    pv: PvId,
    (header, size): (&PvHeader, PvSize),
    piece_max: Extents,
    author: &mut Author<'_>,
) -> Result<(Change, Uuid)> {
    begin(vg, pv, new_count(vg, pv, header, size)?, piece_max, author)
}

/// The same for what lies from `end` on.
pub(super) fn begin(
    vg: &VolumeGroup,
    pv: PvId,
    end: Extents,
    piece_max: Extents,
    author: &mut Author<'_>,
) -> Result<(Change, Uuid)> {
    require_movable(vg, pv, end)?;
    let relocations = within(vg, pv, end);
    if relocations.is_empty() {
        return to_others(vg, pv, end, piece_max, author);
    }
    let after = relocated(vg, &relocations)?;
    if used_behind(&after, pv, end) > Extents::ZERO {
        // Its plan is made again when it is its turn.
        to_others(&after, pv, end, piece_max, author)?;
    }
    begin_relocation(vg, &relocations, piece_max, author)
}

/// How many extents from `end` on are in use.
pub(super) fn used_behind(vg: &VolumeGroup, pv: PvId, end: Extents) -> Extents {
    let map = AllocationMap::of(vg);
    let behind = map.allocations(pv).iter();
    let behind = behind.filter(|taken| taken.range.end() > end);
    behind
        .map(|taken| taken.range.end() - taken.range.start.max(end))
        .sum()
}

fn to_others(
    vg: &VolumeGroup,
    pv: PvId,
    end: Extents,
    piece_max: Extents,
    author: &mut Author<'_>,
) -> Result<(Change, Uuid)> {
    let text = format!("pv:{}-", end.0);
    let source = Places::parse(vg, &[&text], |name| (name == "pv").then_some(pv))?;
    let request = MoveRequest {
        source: &source,
        volume: None,
        targets: None,
        // Anywhere, it might come to where it is.
        policy: Some(match vg.allocation {
            AllocationPolicy::Anywhere => AllocationPolicy::Normal,
            policy => policy,
        }),
        mode: MoveMode::Pieces,
        piece_max,
        region_size: None,
    };
    begin_move(vg, &request, author)
}

/// Refuses where something behind the end must stay there.
fn require_movable(vg: &VolumeGroup, pv: PvId, end: Extents) -> Result<()> {
    let relations = Relations::of(vg);
    let map = AllocationMap::of(vg);
    let behind = map.allocations(pv).iter();
    for taken in behind.filter(|taken| taken.range.end() > end) {
        if let Some(why) = obstacle(vg, &relations, taken.lv) {
            return Err(refused(why));
        }
    }
    Ok(())
}

/// A piece of a column that is to go.
struct Piece {
    from: ExtentRange,
    unit: Extents,
}

/// What fits in front of the end.
fn within(vg: &VolumeGroup, pv: PvId, end: Extents) -> Vec<Relocation> {
    let mut holes = Space::of(vg).on(pv);
    let behind = vg.pv(pv).pe_count.max(end);
    holes.take(ExtentRange::between(end, behind));
    let columns = movable(vg, &Relations::of(vg));
    let mine = columns.iter().filter(|column| column.pv == pv);
    let mut pieces: Vec<Piece> = mine.flat_map(|column| behind_end(column, end)).collect();
    pieces.sort_by_key(|piece| (core::cmp::Reverse(piece.from.length), piece.from.start));
    let mut found = Vec::new();
    let mut rest = Vec::new();
    for piece in pieces {
        match holes.best_fit(piece.from.length) {
            Some(hole) => found.push(move_to(&mut holes, pv, piece.from, hole.start)),
            None => rest.push(piece),
        }
    }
    for Piece { mut from, unit } in rest {
        let all: Vec<ExtentRange> = holes.iter().copied().collect();
        for hole in all {
            let length = hole.length.min(from.length);
            let length = if length == from.length {
                length
            } else {
                length.round_down(unit)
            };
            if length == Extents::ZERO {
                continue;
            }
            let part = ExtentRange {
                start: from.start,
                length,
            };
            found.push(move_to(&mut holes, pv, part, hole.start));
            from = ExtentRange::between(part.end(), from.end());
        }
    }
    let fits = |one: &Relocation| one.target().end() <= end;
    assert!(
        found.iter().all(fits),
        "what moves comes in front of the end"
    );
    found
}

fn move_to(holes: &mut Holes, pv: PvId, from: ExtentRange, to: Extents) -> Relocation {
    let one = Relocation {
        pv,
        from,
        to: (pv, to),
    };
    debug_assert!(holes.has(one.target()), "extents move to free ones");
    holes.take(one.target());
    one
}

/// What of a column's runs lies behind the end; where that cuts a stripe, all of the stripe.
fn behind_end(column: &Column, end: Extents) -> Vec<Piece> {
    let behind = column.runs.iter().filter_map(|run| {
        let inside = end.max(run.start) - run.start;
        let cut = (run.offset + inside).round_down(column.unit);
        let from = run.start + (cut.max(run.offset) - run.offset);
        (run.place().end() > end).then(|| Piece {
            from: ExtentRange::between(from, run.place().end()),
            unit: column.unit,
        })
    });
    behind.collect()
}
