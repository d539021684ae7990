//! Moves under way: what stands on the volume of a move does so until the move ends.
//!
//! Commands refuse volumes that are locked. Parts can still be reached through what they belong to:
//! a mirror that loses its copies would take over the segments of one that is being moved.

use alloc::collections::BTreeSet;
use alloc::format;

use super::draft::refused;
use crate::model::{Area, LvFlag, LvId, Segment, VolumeGroup};
use crate::{Extents, Result, Uuid};

/// An area on the volume of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stand {
    /// Whose it is, and where it is in that.
    user: Uuid,
    segment: Extents,
    area: usize,
    /// Where it begins on the volume of the move, and how long it is.
    start: Extents,
    length: Extents,
}

/// Refuses a change that leaves a move of `old` under way and what stands on it not as it was.
pub(super) fn require_undisturbed(old: &VolumeGroup, new: &VolumeGroup) -> Result<()> {
    for (id, lv) in old.lvs().filter(|(_, lv)| lv.flags.has(LvFlag::Pvmove)) {
        let Some(same) = new.lv_by_uuid(&lv.uuid) else {
            continue;
        };
        let (was, is) = (stands(old, id), stands(new, same));
        if let Some(stand) = was.difference(&is).chain(is.difference(&was)).next() {
            let user = old
                .lv_by_uuid(&stand.user)
                .map_or("a volume", |id| old.lv(id).name());
            return Err(refused(format!(
                "Extents of {user} are being moved in volume group {}: wait for the end of the \
                 move, or run pvmove --abort",
                old.name
            )));
        }
    }
    Ok(())
}

fn stands(vg: &VolumeGroup, mover: LvId) -> BTreeSet<Stand> {
    let mut found = BTreeSet::new();
    for (_, lv) in vg.lvs() {
        for segment in &lv.segments {
            let length = segment.area_length().unwrap_or(segment.length);
            found.extend(on(segment, mover).map(|(area, start)| Stand {
                user: lv.uuid,
                segment: segment.start,
                area,
                start,
                length,
            }));
        }
    }
    found
}

/// The areas of a segment on the volume of a move, by their index.
fn on(segment: &Segment, mover: LvId) -> impl Iterator<Item = (usize, Extents)> {
    let areas = segment.areas().iter().enumerate();
    areas.filter_map(move |(index, area)| match *area {
        Area::Lv { lv, start } if lv == mover => Some((index, start)),
        _ => None,
    })
}
