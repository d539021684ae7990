//! The layer below the volumes that are moved: segments are cut where pieces begin, refer to the
//! volume of the move instead of their extents, and afterwards to extents again.
//!
//! ```text
//!     areas    |a0                  |a1                  |      a stripe is not cut, a segment is
//!     pieces   |0     |1            |2           |3      |
//!     cut      |a0 a1 |a0 a1 |a0 a1 |                           at all of them, through all areas
//! ```
//!
//! Stock takes the layer away only where each area stands on exactly one piece. So the pieces of
//! all areas of a segment are cut in the same places.

use alloc::format;
use alloc::vec::Vec;

use super::list::is_moved;
use crate::model::{Area, LvId, Segment, SegmentType, VolumeGroup};
use crate::plan::draft::refused;
use crate::plan::segments::merge;
use crate::{Extents, Result, Sectors};

/// Cuts a segment at places given as extents of each of its areas; of `lv`, for messages.
pub(super) fn cut(
    vg: &VolumeGroup,
    lv: LvId,
    segment: &Segment,
    places: &[Extents],
) -> Result<Vec<Segment>> {
    let all = segment.area_length().unwrap_or_default();
    let mut places: Vec<Extents> = places
        .iter()
        .copied()
        .filter(|place| Extents::ZERO < *place && *place < all)
        .collect();
    places.sort_unstable();
    places.dedup();
    if places.is_empty() {
        return Ok(alloc::vec![segment.clone()]);
    }
    let stripe = match &segment.kind {
        SegmentType::Striped(striped) if striped.areas.len() > 1 => striped.stripe_size,
        SegmentType::Striped(_) => Sectors(1),
        kind => {
            return Err(refused(format!(
                "Segments of type {} of logical volume {} cannot be cut where extents are moved; \
                 move all of it, or none",
                kind.name(),
                vg.lv(lv).name()
            )));
        }
    };
    places.push(all);
    let stripes = segment.areas().len() as u64;
    let mut made = Vec::new();
    let mut from = Extents::ZERO;
    for to in places {
        let is_whole = from
            .to_sectors(vg.extent_size)
            .is_some_and(|at| at % stripe == Sectors::ZERO);
        if !is_whole {
            return Err(refused(format!(
                "The stripes of logical volume {} are longer than an extent and cannot be cut; \
                 move all of its extents in one piece",
                vg.lv(lv).name()
            )));
        }
        let mut part = segment.clone();
        part.start = segment.start + from * stripes;
        part.length = (to - from) * stripes;
        for area in part.areas_mut() {
            match area {
                Area::Pv { start, .. } | Area::Lv { start, .. } => *start += from,
            }
        }
        made.push(part);
        from = to;
    }
    let length: Extents = made.iter().map(|part| part.length).sum();
    assert_eq!(length, segment.length, "the parts are all of the segment");
    Ok(made)
}

/// Which copy of a piece its volumes get when the layer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The target of what is moved, the source of the rest.
    Moved,
    /// The source of all.
    Source,
    /// The target of all.
    Target,
}

/// Volumes that stand on `mover` get the extents below it, and neighbours are joined. `mover` has
/// mirrors of extents, or extents themselves. Says which volumes these are.
pub(super) fn remove(vg: &mut VolumeGroup, mover: LvId, keep: Keep) -> Result<Vec<LvId>> {
    let pieces = vg.lv(mover).segments.clone();
    let mut users = Vec::new();
    for (lv, volume) in vg.lvs() {
        let mut areas = volume.segments.iter().flat_map(Segment::areas);
        if areas.any(|area| is_on(area, mover)) {
            users.push(lv);
        }
    }
    for lv in &users {
        let mut segments = Vec::new();
        for segment in &vg.lv(*lv).segments {
            let places = boundaries(segment, mover, &pieces);
            for mut part in cut(vg, *lv, segment, &places)? {
                for area in part.areas_mut() {
                    if is_on(area, mover) {
                        *area = below(area, &pieces, keep);
                    }
                }
                segments.push(part);
            }
        }
        merge(&mut segments);
        let length: Extents = segments.iter().map(|part| part.length).sum();
        assert_eq!(length, vg.lv(*lv).extents(), "a volume keeps its length");
        vg.lv_mut(*lv).segments = segments;
    }
    Ok(users)
}

fn is_on(area: &Area, mover: LvId) -> bool {
    matches!(area, Area::Lv { lv, .. } if *lv == mover)
}

/// Where pieces begin inside the areas of a segment that stand on the volume of a move.
fn boundaries(segment: &Segment, mover: LvId, pieces: &[Segment]) -> Vec<Extents> {
    let mut places = Vec::new();
    for area in segment.areas() {
        if let Area::Lv { lv, start } = area
            && *lv == mover
        {
            let behind = pieces.iter().filter(|piece| piece.start > *start);
            places.extend(behind.map(|piece| piece.start - *start));
        }
    }
    places
}

/// The extents on which an area stands through the piece that it is in.
fn below(area: &Area, pieces: &[Segment], keep: Keep) -> Area {
    let Area::Lv { start, .. } = *area else {
        return *area;
    };
    let piece = pieces
        .iter()
        .rev()
        .find(|piece| piece.start <= start)
        .expect("a checked group has areas only where there are extents");
    let copies = piece.areas();
    let is_target = match keep {
        Keep::Moved => is_moved(piece),
        Keep::Source => false,
        Keep::Target => true,
    };
    let copy = if is_target {
        copies.last()
    } else {
        copies.first()
    };
    let mut found = *copy.expect("a piece stands on something");
    match &mut found {
        Area::Pv { start: first, .. } | Area::Lv { start: first, .. } => {
            *first += start - piece.start;
        }
    }
    found
}
