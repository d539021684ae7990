//! What a volume stands on, compared between two versions of its group.
//!
//! Each version counts its volumes and disks anew, so they are compared by their UUIDs.

use lvm2::model::{
    AllocationMap, Area, LvFlag, LvId, Relations, Segment, SegmentType, SnapshotState, VolumeGroup,
};
use lvm2::{Extents, Sectors, Uuid};

use crate::activate::{NodeId, NodeKind, is_moved, shared_stack, together};

/// A version of a group, and how its volumes belong together.
pub(super) struct Version<'a> {
    vg: &'a VolumeGroup,
    relations: Relations,
}

impl<'a> Version<'a> {
    pub(super) fn of(vg: &'a VolumeGroup) -> Self {
        let relations = Relations::of(vg);
        Self { vg, relations }
    }

    /// All that a volume stands on, and what is written with it.
    pub(super) fn stack(&self, lv: LvId) -> Vec<LvId> {
        shared_stack(self.vg, &self.relations, lv)
    }

    /// Whether a volume is an origin or a snapshot.
    pub(super) fn is_shared(&self, lv: LvId) -> bool {
        !together(self.vg, &self.relations, lv).is_empty()
    }

    /// Whether a volume, or one that it stands on, has a state of its own.
    pub(super) fn has_state(&self, lv: LvId) -> bool {
        let is_mirror = |segment: &Segment| matches!(segment.kind, SegmentType::Mirror(_));
        let has_mirror = |lv: LvId| self.vg.lv(lv).segments.iter().any(is_mirror);
        self.is_shared(lv) || self.stack(lv).into_iter().any(has_mirror)
    }

    /// Whether `other` puts the same bytes of the volume with this UUID into the same places, and
    /// keeps them alike: every volume that the one stands on is in the other, and stands on the
    /// same. `None`: one of the two does not have it.
    pub(super) fn has_same(&self, uuid: &Uuid, other: &Self) -> Option<bool> {
        let (before, after) = (self.vg.lv_by_uuid(uuid)?, other.vg.lv_by_uuid(uuid)?);
        let is_there = |lv: LvId| {
            let there = other.vg.lv_by_uuid(&self.vg.lv(lv).uuid);
            there.is_some_and(|there| same((self.vg, lv), (other.vg, there)))
        };
        let is_same = self.snapshots(before) == other.snapshots(after)
            && self.stack(before).into_iter().all(is_there);
        Some(is_same)
    }

    /// The pieces of moves that are on their targets in `after`, and are not yet.
    pub(super) fn moved(&self, after: &Self) -> Vec<NodeId> {
        let volumes = self.vg.lvs().filter(|(_, lv)| lv.flags.has(LvFlag::Pvmove));
        let pieces = volumes.flat_map(|(_, volume)| {
            let left = volume.segments.iter().filter(|one| !is_moved(one));
            left.map(|one| NodeId {
                lv: volume.uuid,
                start: one.start,
                kind: NodeKind::Move,
            })
        });
        pieces
            .filter(|piece| self.is_moved_by(*piece, after))
            .collect()
    }

    /// Whether the piece of a move is on its target in `after`.
    pub(super) fn is_moved_by(&self, piece: NodeId, after: &Self) -> bool {
        let segment_of = |version: &Self| {
            let lv = version.vg.lv_by_uuid(&piece.lv)?;
            let mut segments = version.vg.lv(lv).segments.iter();
            segments
                .find(|segment| segment.start == piece.start)
                .cloned()
        };
        let mirror = segment_of(self).and_then(|segment| match segment.kind {
            SegmentType::Mirror(mirror) if piece.kind == NodeKind::Move => Some(mirror),
            _ => None,
        });
        let Some(mirror) = mirror else { return false };
        if after.vg.lv_by_uuid(&piece.lv).is_some() {
            return segment_of(after).is_some_and(|segment| is_moved(&segment));
        }
        // The move is over: whose extents somebody has, that is where the volumes are.
        let place = mirror.images.get(1).and_then(|area| match *area {
            Area::Pv { pv, start } => Some((pv, start)),
            Area::Lv { lv, .. } => {
                let mut areas = self.vg.lv(lv).segments.first()?.areas().iter();
                areas.find_map(|area| match *area {
                    Area::Pv { pv, start } => Some((pv, start)),
                    Area::Lv { .. } => None,
                })
            }
        });
        place.is_some_and(|(pv, start)| {
            let pv = after.vg.pv_by_uuid(&self.vg.pv(pv).uuid);
            pv.is_some_and(|pv| AllocationMap::of(after.vg).owner(pv, start).is_some())
        })
    }

    /// What an origin and its snapshots are to each other, of which a volume is one.
    fn snapshots(&self, lv: LvId) -> Vec<(Uuid, Option<Extents>, Option<Standing>)> {
        let mut all = Vec::new();
        for lv in together(self.vg, &self.relations, lv) {
            let snapshot = self.relations.snapshot_of_cow(self.vg, lv);
            let snapshot = snapshot.map(|snapshot| {
                let origin = self.vg.lv(snapshot.origin).uuid;
                (origin, snapshot.chunk_size, snapshot.state)
            });
            let size = self.relations.snapshot_length(self.vg, lv);
            all.push((self.vg.lv(lv).uuid, size, snapshot));
        }
        all.sort_by_key(|(uuid, ..)| *uuid);
        all
    }
}

/// The origin of a snapshot, the size of its chunks, and what it is doing.
type Standing = (Uuid, Sectors, SnapshotState);

/// Whether a volume has the same segments, over volumes and disks of the same UUIDs.
fn same((old_vg, old): (&VolumeGroup, LvId), (new_vg, new): (&VolumeGroup, LvId)) -> bool {
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
