//! A move goes on: a piece has arrived, the last one ends it, or it is aborted.
//!
//! ```text
//!     pieces          0        4        9       12
//!     extents_moved   |4       |0       |0       |
//!     piece 4 moved   |4       |5       |0       |         a text
//!     piece 9 moved   gone: volumes on the targets         a text, the last one
//!     aborted instead gone: volumes on the target of what was moved, on the source of the rest
//! ```

use alloc::format;

use super::layer::{self, Keep};
use super::list::{Move, MoveMode, is_moved, moves, whole_copies};
use crate::model::{Area, LvFlag, LvId, Segment, SegmentType, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused};
use crate::{Extents, Result, Uuid};

/// The piece of a move that begins at `start`, in extents of its volume, is on its target, whole
/// and durable. The last one ends the move; of an atomic move there is only the whole.
pub fn piece_moved(
    vg: &VolumeGroup,
    mover: &Uuid,
    start: Extents,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let found = find(vg, mover)?;
    let pieces = &mut draft.vg.lv_mut(found.lv).segments;
    let piece = pieces.iter_mut().find(|piece| {
        piece.start == start && matches!(piece.kind, SegmentType::Mirror(_)) && !is_moved(piece)
    });
    let Some(piece) = piece else {
        return Err(refused(format!(
            "{}/{} has no piece to be moved at extent {}",
            vg.name, found.name, start.0
        )));
    };
    if found.mode == MoveMode::Atomic {
        return end(draft, &found, Keep::Target, author);
    }
    let length = piece.length;
    if let SegmentType::Mirror(mirror) = &mut piece.kind {
        assert!(length > Extents::ZERO, "a piece has extents");
        mirror.extents_moved = Some(length);
    }
    if pieces.iter().all(is_moved) {
        return end(draft, &found, Keep::Moved, author);
    }
    draft.finish(author)
}

/// Ends a move now. What was moved stays on its target, unless the move is atomic; the rest stays
/// where it was.
pub fn abort_move(vg: &VolumeGroup, mover: &Uuid, author: &mut Author<'_>) -> Result<Change> {
    let draft = Draft::begin(vg)?;
    let found = find(vg, mover)?;
    end(draft, &found, Keep::Moved, author)
}

fn find(vg: &VolumeGroup, mover: &Uuid) -> Result<Move> {
    let all = moves(vg);
    all.into_iter()
        .find(|one| one.uuid == *mover)
        .ok_or_else(|| {
            refused(format!(
                "No pvmove in progress in volume group {} - already finished or aborted.",
                vg.name
            ))
        })
}

/// Takes the layer away and the volume of the move with it.
fn end(mut draft: Draft, found: &Move, keep: Keep, author: &Author<'_>) -> Result<Change> {
    let vg = &mut draft.vg;
    let copies = whole_copies(&vg.lv(found.lv).segments);
    let users = if let Some((from, to)) = copies {
        let kept = if keep == Keep::Target { to } else { from };
        let segments = core::mem::take(&mut vg.lv_mut(kept).segments);
        vg.lv_mut(found.lv).segments = segments;
        let users = layer::remove(vg, found.lv, Keep::Source)?;
        vg.remove_lv(from);
        vg.remove_lv(to);
        users
    } else {
        layer::remove(vg, found.lv, keep)?
    };
    vg.remove_lv(found.lv);
    for lv in users {
        if !stands_on_a_move(vg, lv) {
            vg.lv_mut(lv).flags.remove(LvFlag::Locked);
        }
    }
    draft.finish(author)
}

/// Whether another move has extents of a volume.
fn stands_on_a_move(vg: &VolumeGroup, lv: LvId) -> bool {
    let mut areas = vg.lv(lv).segments.iter().flat_map(Segment::areas);
    areas.any(|area| matches!(area, Area::Lv { lv, .. } if vg.lv(*lv).flags.has(LvFlag::Pvmove)))
}
