//! What a volume stands on, compared between two versions of its group.
//!
//! Each version counts its volumes and disks anew, so they are compared by their UUIDs.

use lvm2::model::{
    AllocationMap, Area, LogicalVolume, LvFlag, LvId, PvFlag, Raid, RaidFamily, RaidImage,
    Relations, Segment, SegmentType, SnapshotState, VolumeGroup,
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
        let has = |segment: &Segment| match &segment.kind {
            SegmentType::Mirror(_) => true,
            SegmentType::Raid(raid) => raid.level.family() != RaidFamily::Raid0,
            _ => false,
        };
        let has_state = |lv: LvId| self.vg.lv(lv).segments.iter().any(has);
        self.is_shared(lv) || self.stack(lv).into_iter().any(has_state)
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
        let movers = self.vg.lvs().filter(|(_, lv)| lv.flags.has(LvFlag::Pvmove));
        let mut movers = movers.peekable();
        let mut found = Vec::new();
        if movers.peek().is_none() {
            return found;
        }
        let taken = AllocationMap::of(after.vg);
        for (_, mover) in movers {
            let there = after.vg.lv_by_uuid(&mover.uuid);
            let left = mover.segments.iter().filter(|piece| !is_moved(piece));
            for piece in left {
                let is_over = match there {
                    Some(there) => {
                        let mut pieces = after.vg.lv(there).segments.iter();
                        let now = pieces.find(|now| now.start == piece.start);
                        now.is_some_and(is_moved)
                    }
                    // The move is over: whose extents somebody has, that is where volumes are.
                    None => self.target(piece).is_some_and(|(pv, extent)| {
                        let pv = after.vg.pv_by_uuid(pv);
                        pv.is_some_and(|pv| taken.owner(pv, extent).is_some())
                    }),
                };
                if is_over {
                    found.push(NodeId {
                        lv: mover.uuid,
                        start: piece.start,
                        kind: NodeKind::Move,
                    });
                }
            }
        }
        for (place, piece) in found.iter().enumerate() {
            assert!(!found[..place].contains(piece), "a piece moves once");
        }
        found
    }

    /// The first extent of where a piece moves to.
    fn target(&self, piece: &Segment) -> Option<(&Uuid, Extents)> {
        let SegmentType::Mirror(mirror) = &piece.kind else {
            return None;
        };
        let place = |area: &Area| match *area {
            Area::Pv { pv, start } => Some((&self.vg.pv(pv).uuid, start)),
            Area::Lv { .. } => None,
        };
        match mirror.images.get(1)? {
            Area::Lv { lv, .. } => {
                let first = self.vg.lv(*lv).segments.first()?;
                first.areas().iter().find_map(place)
            }
            area @ Area::Pv { .. } => place(area),
        }
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
                let (was, is) = (old_vg.pv(old), new_vg.pv(new));
                let is_back = was.flags.has(PvFlag::Missing) && !is.flags.has(PvFlag::Missing);
                start == at && was.uuid == is.uuid && !is_back
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
        (SegmentType::Raid(before), SegmentType::Raid(after)) => {
            let image = |(before, after): (&RaidImage, &RaidImage)| {
                let meta = match (before.meta, after.meta) {
                    (None, None) => true,
                    (Some(before), Some(after)) => below(before, after),
                    _ => false,
                };
                // Whoever has it at work is told that one is set aside, or to be filled; that one
                // is filled it told itself.
                let (was, is) = (old_vg.lv(before.data), new_vg.lv(after.data));
                let is_to_be_filled = |lv: &LogicalVolume| lv.flags.has(LvFlag::Rebuild);
                let is_told = was.is_set_aside() != is.is_set_aside()
                    || is_to_be_filled(is) && !is_to_be_filled(was);
                meta && below(before.data, after.data) && !is_told
            };
            let shape = |raid: &Raid| (raid.level, raid.stripe_size, raid.region_size);
            shape(before) == shape(after)
                && before.images.len() == after.images.len()
                && before.images.iter().zip(&after.images).all(image)
        }
        (SegmentType::Integrity(was), SegmentType::Integrity(is)) => {
            let checksums = match (was.metadata, is.metadata) {
                (Some(was), Some(is)) => below(was, is),
                _ => false,
            };
            // How they are kept is among what else it says.
            checksums && below(was.origin, is.origin) && before.extra == after.extra
        }
        (SegmentType::Zero, SegmentType::Zero) | (SegmentType::Error, SegmentType::Error) => true,
        // Of what is not served nobody knows: better one exchange too many.
        _ => false,
    }
}

#[cfg(test)]
mod tests;
