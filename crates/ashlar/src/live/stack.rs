//! What a volume stands on, compared between two versions of its group.
//!
//! Each version counts its volumes and disks anew, so they are compared by their UUIDs.

use dm::table::DEPTH_MAX;
use lvm2::model::{Area, LvId, Relations, Segment, SegmentType, VolumeGroup};

/// A volume of a version of a group.
pub(super) type Standing<'a> = (&'a VolumeGroup, LvId);

/// Whether two versions put the same bytes of a volume into the same places, and keep them alike.
pub(super) fn is_same(one: Standing<'_>, other: Standing<'_>) -> bool {
    let seen = |(vg, lv): Standing<'_>| {
        let snapshot = Relations::of(vg).seen_through(vg, lv);
        snapshot.map(|snapshot| [snapshot.origin, snapshot.cow])
    };
    let through = match (seen(one), seen(other)) {
        (None, None) => true,
        (Some(before), Some(after)) => before.into_iter().zip(after).all(|(before, after)| {
            one.0.lv(before).uuid == other.0.lv(after).uuid
                && same((one.0, before), (other.0, after), 0)
        }),
        _ => false,
    };
    through && same(one, other, 0)
}

/// Whether the volume, or one that it stands on, is a mirror.
pub(super) fn has_mirror(vg: &VolumeGroup, lv: LvId) -> bool {
    mirrored(vg, lv, 0)
}

fn same((old_vg, old): Standing<'_>, (new_vg, new): Standing<'_>, depth: u32) -> bool {
    let (before, after) = (&old_vg.lv(old).segments, &new_vg.lv(new).segments);
    // Deeper ones are not activated.
    depth > DEPTH_MAX
        || (before.len() == after.len()
            && before
                .iter()
                .zip(after)
                .all(|(before, after)| same_segment((old_vg, before), (new_vg, after), depth)))
}

fn same_segment(
    (old_vg, before): (&VolumeGroup, &Segment),
    (new_vg, after): (&VolumeGroup, &Segment),
    depth: u32,
) -> bool {
    if (before.start, before.length) != (after.start, after.length) {
        return false;
    }
    let below = |old: LvId, new: LvId| {
        old_vg.lv(old).uuid == new_vg.lv(new).uuid && same((old_vg, old), (new_vg, new), depth + 1)
    };
    let areas = |before: &[Area], after: &[Area]| {
        let place = |(before, after): (&Area, &Area)| match (*before, *after) {
            (Area::Pv { pv: old, start }, Area::Pv { pv: new, start: at }) => {
                start == at && old_vg.pv(old).uuid == new_vg.pv(new).uuid
            }
            (Area::Lv { lv: old, start }, Area::Lv { lv: new, start: at }) => {
                start == at && below(old, new)
            }
            _ => false,
        };
        before.len() == after.len() && before.iter().zip(after).all(place)
    };
    match (&before.kind, &after.kind) {
        (SegmentType::Striped(before), SegmentType::Striped(after)) => {
            before.stripe_size == after.stripe_size && areas(&before.areas, &after.areas)
        }
        (SegmentType::Mirror(before), SegmentType::Mirror(after)) => {
            let log = match (before.log, after.log) {
                (None, None) => true,
                (Some(before), Some(after)) => below(before, after),
                _ => false,
            };
            log && before.region_size == after.region_size
                && before.extents_moved == after.extents_moved
                && areas(&before.images, &after.images)
        }
        (SegmentType::Zero, SegmentType::Zero) | (SegmentType::Error, SegmentType::Error) => true,
        // Of what is not served nobody knows: better one exchange too many.
        _ => false,
    }
}

fn mirrored(vg: &VolumeGroup, lv: LvId, depth: u32) -> bool {
    let below = |area: &Area| match area {
        Area::Lv { lv, .. } => mirrored(vg, *lv, depth + 1),
        Area::Pv { .. } => false,
    };
    let mut segments = vg.lv(lv).segments.iter();
    depth <= DEPTH_MAX
        && segments.any(|segment| match &segment.kind {
            SegmentType::Mirror(_) => true,
            SegmentType::Striped(striped) => striped.areas.iter().any(below),
            _ => false,
        })
}

#[cfg(test)]
mod tests;
