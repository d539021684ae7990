//! A move whose targets are given: any extents to any others that are free.
//!
//! ```text
//!     a           |pv0:0 4|pv0:8 4|pv1:0 2|
//!     relocation  pv0:8 4 to pv0:4
//!     under way   a  |pv0:0 4|pvmove0:0 4|pv1:0 2|      pvmove0  |mirror of pv0:8 and pv0:4|
//! ```
//!
//! Who chose them knows why; here they are only held against the group: every extent that leaves
//! belongs to a volume that may be moved, and every target is free and may be allocated.

use alloc::format;
use alloc::vec::Vec;

use super::begin::{REGION_SIZE_DEFAULT, add_mover, fill};
use super::choose::{obstacle, require_no_move};
use super::layer::cut;
use super::list::MoveMode;
use super::pieces::{Piece, is_plain, steps};
use crate::model::{
    Allocation, AllocationMap, Area, ExtentRange, LvFlag, LvId, PvId, Relations, Segment,
    VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, pv_name, refused, require_known_segments, wrong};
use crate::plan::segments::{merge, total};
use crate::{Extents, Result, Uuid};

/// Extents that get another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relocation {
    /// The physical volume that they leave.
    pub pv: PvId,
    /// Which of its extents.
    pub from: ExtentRange,
    /// The physical volume to which they come, and the first extent there.
    pub to: (PvId, Extents),
}

impl Relocation {
    /// The extents that it takes.
    pub fn target(&self) -> ExtentRange {
        ExtentRange {
            start: self.to.1,
            length: self.from.length,
        }
    }
}

/// Begins a move of all of these at once, in pieces of at most `piece_max` extents. Besides, the
/// identity of the volume that has what is moved.
pub fn begin_relocation(
    vg: &VolumeGroup,
    relocations: &[Relocation],
    piece_max: Extents,
    author: &mut Author<'_>,
) -> Result<(Change, Uuid)> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    if piece_max == Extents::ZERO || relocations.is_empty() {
        return Err(wrong("Nothing is to be moved"));
    }
    let chosen = require_movable(vg, relocations)?;
    require_free(vg, relocations)?;
    let mover = add_mover(&mut draft, author)?;
    let mut pieces = Vec::new();
    let mut length = Extents::ZERO;
    for lv in chosen {
        let mut made = parts(vg, lv, relocations, Some(piece_max))?;
        for segment in made.iter_mut().filter(|segment| is_plain(segment)) {
            let part = segment.area_length().unwrap_or_default();
            for area in segment.areas_mut() {
                let Area::Pv { pv, start } = *area else {
                    continue;
                };
                let Some(to) = target(relocations, pv, start) else {
                    continue;
                };
                assert!(part > Extents::ZERO, "a piece has extents");
                pieces.push(Piece {
                    length: part,
                    from: (pv, start),
                    to,
                });
                *area = Area::Lv {
                    lv: mover,
                    start: length,
                };
                length += part;
            }
        }
        let volume = draft.vg.lv_mut(lv);
        assert_eq!(total(&made), volume.extents(), "a volume keeps its length");
        volume.segments = made;
        volume.flags.insert(LvFlag::Locked);
    }
    let mode = MoveMode::Pieces;
    let uuid = fill(
        &mut draft,
        mover,
        &pieces,
        mode,
        REGION_SIZE_DEFAULT,
        author,
    )?;
    Ok((draft.finish(author)?, uuid))
}

/// The group when these have all arrived.
pub(in crate::plan::physical) fn relocated(
    vg: &VolumeGroup,
    relocations: &[Relocation],
) -> Result<VolumeGroup> {
    let mut new = vg.clone();
    for lv in require_movable(vg, relocations)? {
        let mut made = parts(vg, lv, relocations, None)?;
        for segment in made.iter_mut().filter(|segment| is_plain(segment)) {
            for area in segment.areas_mut() {
                if let Area::Pv { pv, start } = *area
                    && let Some((pv, start)) = target(relocations, pv, start)
                {
                    *area = Area::Pv { pv, start };
                }
            }
        }
        merge(&mut made);
        assert_eq!(
            total(&made),
            new.lv(lv).extents(),
            "a volume keeps its length"
        );
        new.lv_mut(lv).segments = made;
    }
    Ok(new)
}

/// The volumes with extents that leave, in the order of the text.
fn require_movable(vg: &VolumeGroup, relocations: &[Relocation]) -> Result<Vec<LvId>> {
    let relations = Relations::of(vg);
    let map = AllocationMap::of(vg);
    let mut found = Vec::new();
    for one in relocations {
        let name = pv_name(vg, one.pv);
        let meets = |other: &&Allocation| {
            other.range.start < one.from.end() && one.from.start < other.range.end()
        };
        let mut count = Extents::ZERO;
        for taken in map.allocations(one.pv).iter().filter(meets) {
            if let Some(why) = obstacle(vg, &relations, taken.lv) {
                return Err(refused(why));
            }
            let (from, to) = (taken.range.start, taken.range.end());
            count += to.min(one.from.end()) - from.max(one.from.start);
            if !found.contains(&taken.lv) {
                found.push(taken.lv);
            }
        }
        if count != one.from.length {
            return Err(refused(format!(
                "{name}: not all extents from {} on are in use: nothing is there to be moved",
                one.from.start.0
            )));
        }
        require_no_move(vg, one.pv, &name)?;
    }
    found.sort_unstable_by_key(|lv| lv.index());
    Ok(found)
}

fn require_free(vg: &VolumeGroup, relocations: &[Relocation]) -> Result<()> {
    let map = AllocationMap::of(vg);
    let mut targets: Vec<(PvId, ExtentRange)> = relocations
        .iter()
        .map(|one| (one.to.0, one.target()))
        .collect();
    targets.sort_unstable();
    for pair in targets.windows(2) {
        if pair[0].0 == pair[1].0 && pair[0].1.end() > pair[1].1.start {
            return Err(wrong("Two extents cannot come to the same place"));
        }
    }
    for (pv, range) in targets {
        let mut holes = map.free(pv).into_iter();
        let is_free = holes.any(|hole| hole.start <= range.start && range.end() <= hole.end());
        if !vg.pv(pv).is_allocatable() || !is_free {
            return Err(refused(format!(
                "{}: extents from {} on are not free",
                pv_name(vg, pv),
                range.start.0
            )));
        }
    }
    Ok(())
}

/// The segments of a volume, cut where something else happens to their extents: where a relocation
/// begins or ends, and within it after each `longest`.
fn parts(
    vg: &VolumeGroup,
    lv: LvId,
    relocations: &[Relocation],
    longest: Option<Extents>,
) -> Result<Vec<Segment>> {
    let mut made = Vec::new();
    for segment in &vg.lv(lv).segments {
        if !is_plain(segment) {
            made.push(segment.clone());
            continue;
        }
        let length = segment.area_length().unwrap_or_default();
        let step = longest.map(|longest| steps(vg, segment, longest));
        let mut places = Vec::new();
        for area in segment.areas() {
            let Area::Pv { pv, start } = *area else {
                continue;
            };
            for one in relocations.iter().filter(|one| one.pv == pv) {
                let from = one.from.start.max(start);
                let to = one.from.end().min(start + length);
                if from < to {
                    places.extend([from - start, to - start]);
                }
            }
        }
        places.extend([Extents::ZERO, length]);
        places.sort_unstable();
        places.dedup();
        for pair in places.clone().windows(2) {
            let Some(step) = step.filter(|_| moves_at(segment, pair[0], relocations)) else {
                continue;
            };
            let mut at = pair[0] + step;
            while at < pair[1] {
                places.push(at);
                at += step;
            }
        }
        made.extend(cut(vg, lv, segment, &places)?);
    }
    Ok(made)
}

/// Whether an extent of one of a segment's areas gets another place, so far from its start.
fn moves_at(segment: &Segment, at: Extents, relocations: &[Relocation]) -> bool {
    let mut areas = segment.areas().iter();
    areas.any(|area| match *area {
        Area::Pv { pv, start } => target(relocations, pv, start + at).is_some(),
        Area::Lv { .. } => false,
    })
}

/// Where an extent comes to.
fn target(relocations: &[Relocation], pv: PvId, extent: Extents) -> Option<(PvId, Extents)> {
    let mut all = relocations.iter();
    let one = all.find(|one| one.pv == pv && one.from.contains(extent))?;
    Some((one.to.0, one.to.1 + (extent - one.from.start)))
}
