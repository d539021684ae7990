//! What a volume stands on, compared between two versions of its group.
//!
//! Each version counts its volumes and disks anew, so they are compared by their UUIDs.

use lvm2::model::{Area, LvId, Relations, Segment, SegmentType, VolumeGroup};

use crate::activate::{shared_stack, together};

/// A volume of a version of a group.
pub(super) type Standing<'a> = (&'a VolumeGroup, LvId);

/// Whether two versions put the same bytes of a volume into the same places, and keep them alike:
/// every volume that the one stands on is in the other, and stands on the same.
pub(super) fn is_same(one: Standing<'_>, other: Standing<'_>) -> bool {
    let (before, after) = (Relations::of(one.0), Relations::of(other.0));
    let snapshots = |(vg, lv): Standing<'_>, relations: &Relations| {
        let mut all = Vec::new();
        for lv in together(vg, relations, lv) {
            let snapshot = relations.snapshot_of_cow(vg, lv).map(|snapshot| {
                let origin = vg.lv(snapshot.origin).uuid;
                (origin, snapshot.chunk_size, snapshot.state)
            });
            let size = relations.snapshot_length(vg, lv);
            all.push((vg.lv(lv).uuid, size, snapshot));
        }
        all.sort_by_key(|(uuid, ..)| *uuid);
        all
    };
    let is_there = |lv: LvId| {
        let there = other.0.lv_by_uuid(&one.0.lv(lv).uuid);
        there.is_some_and(|there| same((one.0, lv), (other.0, there)))
    };
    snapshots(one, &before) == snapshots(other, &after)
        && shared_stack(one.0, &before, one.1)
            .into_iter()
            .all(is_there)
}

/// Whether the volume, or one that it stands on, has a state of its own.
pub(super) fn has_state(vg: &VolumeGroup, lv: LvId) -> bool {
    let is_mirror = |segment: &Segment| matches!(segment.kind, SegmentType::Mirror(_));
    let all = shared_stack(vg, &Relations::of(vg), lv);
    !together(vg, &Relations::of(vg), lv).is_empty()
        || all
            .into_iter()
            .any(|lv| vg.lv(lv).segments.iter().any(is_mirror))
}

/// Whether a volume has the same segments, over volumes and disks of the same UUIDs.
fn same((old_vg, old): Standing<'_>, (new_vg, new): Standing<'_>) -> bool {
    let (before, after) = (&old_vg.lv(old).segments, &new_vg.lv(new).segments);
    before.len() == after.len()
        && before
            .iter()
            .zip(after)
            .all(|(before, after)| same_segment((old_vg, before), (new_vg, after)))
}

fn same_segment(
    (old_vg, before): (&VolumeGroup, &Segment),
    (new_vg, after): (&VolumeGroup, &Segment),
) -> bool {
    if (before.start, before.length) != (after.start, after.length) {
        return false;
    }
    let below = |old: LvId, new: LvId| old_vg.lv(old).uuid == new_vg.lv(new).uuid;
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

#[cfg(test)]
mod tests;
