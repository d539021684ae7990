//! What is under way: moves as the text shows them.
//!
//! Whoever began a move may have left it in any state: pieces moved in whatever order, an area of
//! which a part is noted as moved, nothing left but the empty volume. A piece counts as moved when
//! all of it is, as in stock.

use alloc::string::String;
use alloc::vec::Vec;

use crate::model::{
    Area, LvFlag, LvId, Mirror, PvId, Relations, Segment, SegmentType, VolumeGroup,
};
use crate::{Extents, Uuid};

/// A move that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The volume that has what is moved.
    pub lv: LvId,
    /// Its identity.
    pub uuid: Uuid,
    /// Its name, `pvmove0`.
    pub name: String,
    /// The physical volumes from which extents are moved.
    pub sources: Vec<PvId>,
    /// Those to which they are moved.
    pub targets: Vec<PvId>,
    /// How many extents are moved in all.
    pub extents: Extents,
    /// How many of them are on their target.
    pub moved: Extents,
    /// What is to be copied next; without it nothing is left to do, and `abort_move` ends the move.
    pub running: Option<MovePiece>,
    /// How it goes on from piece to piece.
    pub mode: MoveMode,
}

/// How a move goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveMode {
    /// Piece by piece: what has arrived stays when the move is aborted.
    Pieces,
    /// All at once: an aborted move leaves everything where it was.
    Atomic,
}

/// A piece of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovePiece {
    /// Its first extent in the volume of the move.
    pub start: Extents,
    /// How many it has.
    pub length: Extents,
    /// The volumes that stand on it.
    pub volumes: Vec<LvId>,
}

/// The moves that are under way in a group, in the order of the text.
pub fn moves(vg: &VolumeGroup) -> Vec<Move> {
    let relations = Relations::of(vg);
    let found = vg.lvs().filter(|(_, lv)| lv.flags.has(LvFlag::Pvmove));
    found.map(|(id, _)| describe(vg, &relations, id)).collect()
}

/// Whether all of a piece is on its target.
pub(super) fn is_moved(segment: &Segment) -> bool {
    let SegmentType::Mirror(mirror) = &segment.kind else {
        return false;
    };
    mirror.extents_moved == Some(segment.length)
}

/// The two copies of an atomic move: the volumes of what is moved, and of where it goes.
pub(super) fn whole_copies(lv: &[Segment]) -> Option<(LvId, LvId)> {
    let [segment] = lv else { return None };
    let SegmentType::Mirror(Mirror { images, .. }) = &segment.kind else {
        return None;
    };
    match images[..] {
        [Area::Lv { lv: from, .. }, Area::Lv { lv: to, .. }] => Some((from, to)),
        _ => None,
    }
}

fn describe(vg: &VolumeGroup, relations: &Relations, id: LvId) -> Move {
    let lv = vg.lv(id);
    let whole = whole_copies(&lv.segments);
    let mut found = Move {
        lv: id,
        uuid: lv.uuid,
        name: lv.name().into(),
        sources: Vec::new(),
        targets: Vec::new(),
        extents: Extents::ZERO,
        moved: Extents::ZERO,
        running: None,
        mode: MoveMode::Pieces,
    };
    if let Some((from, to)) = whole {
        found.mode = MoveMode::Atomic;
        found.sources = pvs_of(&vg.lv(from).segments, |_| true);
        found.targets = pvs_of(&vg.lv(to).segments, |_| true);
    } else {
        found.sources = pvs_of(&lv.segments, |area| area == 0);
        found.targets = pvs_of(&lv.segments, |area| area > 0);
    }
    for segment in &lv.segments {
        if !matches!(segment.kind, SegmentType::Mirror(_)) {
            continue;
        }
        found.extents += segment.length;
        if whole.is_none() && is_moved(segment) {
            found.moved += segment.length;
        } else if found.running.is_none() {
            found.running = Some(MovePiece {
                start: segment.start,
                length: segment.length,
                volumes: users(vg, relations, id, segment),
            });
        }
    }
    assert!(
        found.moved <= found.extents,
        "no more is moved than there is"
    );
    found
}

/// The volumes that stand on a piece.
fn users(vg: &VolumeGroup, relations: &Relations, mover: LvId, piece: &Segment) -> Vec<LvId> {
    let mut found = Vec::new();
    for used in relations.used_by(mover) {
        let segment = &vg.lv(used.by).segments[used.segment];
        let length = segment.area_length().unwrap_or(segment.length);
        let meets = segment.areas().iter().any(|area| {
            matches!(area, Area::Lv { lv, start } if *lv == mover
                && *start < piece.end() && piece.start < *start + length)
        });
        if meets && !found.contains(&used.by) {
            found.push(used.by);
        }
    }
    found
}

/// The physical volumes of those areas of each segment that are wanted by their index.
fn pvs_of(segments: &[Segment], is_wanted: impl Fn(usize) -> bool) -> Vec<PvId> {
    let mut found = Vec::new();
    for segment in segments {
        for (index, area) in segment.areas().iter().enumerate() {
            if let Area::Pv { pv, .. } = area
                && is_wanted(index)
                && !found.contains(pv)
            {
                found.push(*pv);
            }
        }
    }
    found
}
