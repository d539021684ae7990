//! How the volumes of a group belong together, seen from below: who uses a volume, and as what.
//!
//! The text says it only from above: a RAID names its images. [`Relations::of`] turns that round
//! once, in time in proportion to the references; after that each question costs what its answer
//! is long. A [`Relations`] belongs to the group as it was then; after a change, build another.
//!
//! ```text
//!     raid1   ─ RaidImage(0) ─>  raid1_rimage_0       used_by: raid1
//!     snapshot0 ─ SnapshotOrigin ─>  origin           snapshots: snap1, through snapshot0
//!               └ SnapshotCow ────>  snap1            people see snap1, not snapshot0
//! ```

use alloc::vec;
use alloc::vec::Vec;

use super::flags::{LvFlag, TypeFlag};
use super::geometry::Part;
use super::ids::LvId;
use super::segment::{SegmentType, Snapshot, SnapshotState};
use super::vg::VolumeGroup;
use crate::Extents;

/// The end of the name of an origin that exists only for its snapshot.
const VIRTUAL_ORIGIN: &str = "_vorigin";
/// The end of the name of the volume kept for repairs of pools.
const SPARE: &str = "_pmspare";

/// One use of a volume by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// The volume that uses it.
    pub by: LvId,
    /// The index of the segment there.
    pub segment: usize,
    /// As what.
    pub part: Part,
}

/// Who uses whom in a volume group.
#[derive(Debug, Clone)]
pub struct Relations {
    /// By the index of the used volume's id, in the order of the text.
    uses: Vec<Vec<Use>>,
    /// For each volume, the use that makes it a part: a pool may have very many others.
    component: Vec<Option<Use>>,
    /// For each volume, its use as a snapshot's store.
    cow: Vec<Option<Use>>,
}

impl Relations {
    /// Collects all references of `vg`.
    pub fn of(vg: &VolumeGroup) -> Self {
        let mut uses = vec![Vec::new(); vg.lv_slots()];
        for (by, lv) in vg.lvs() {
            for (segment, content) in lv.segments.iter().enumerate() {
                content.for_each_reference(|used, part| {
                    uses[used.index()].push(Use { by, segment, part });
                });
            }
        }
        let first = |uses: &Vec<Use>, fits: fn(Part) -> bool| {
            uses.iter().find(|used| fits(used.part)).copied()
        };
        assert_eq!(uses.len(), vg.lv_slots(), "each slot has its list");
        let component = uses
            .iter()
            .map(|uses| first(uses, Part::is_component))
            .collect();
        let cow = uses
            .iter()
            .map(|uses| first(uses, |part| part == Part::SnapshotCow))
            .collect();
        Self {
            uses,
            component,
            cow,
        }
    }

    /// Every use of a volume.
    pub fn used_by(&self, lv: LvId) -> &[Use] {
        &self.uses[lv.index()]
    }

    /// The use that makes a volume a part of another one.
    pub fn component_use(&self, lv: LvId) -> Option<Use> {
        self.component[lv.index()]
    }

    /// The volume of which this one is a part. For the store of a snapshot, that is the segment
    /// holder (`snapshot0`), which people never see.
    pub fn parent(&self, lv: LvId) -> Option<LvId> {
        self.component_use(lv).map(|used| used.by)
    }

    /// The snapshot of which `lv` is the store.
    pub fn snapshot_of_cow<'a>(&self, vg: &'a VolumeGroup, lv: LvId) -> Option<&'a Snapshot> {
        let used = self.cow[lv.index()]?;
        match &vg.lv(used.by).segments[used.segment].kind {
            SegmentType::Snapshot(snapshot) => Some(snapshot),
            _ => None,
        }
    }

    /// The snapshot through which a volume is seen: the one whose store it is, or the one that is
    /// being merged into it.
    ///
    /// What people see of such a volume is the origin, with what the store holds in front of it. A
    /// snapshot keeps the size that its segment has when its origin grows.
    pub fn seen_through<'a>(&self, vg: &'a VolumeGroup, lv: LvId) -> Option<&'a Snapshot> {
        let own = self.snapshot_of_cow(vg, lv);
        let merging = || {
            let mut snapshots = self.snapshots(vg, lv);
            snapshots.find(|snapshot| snapshot.state == SnapshotState::Merging)
        };
        own.or_else(merging)
    }

    /// The extents of the snapshot of which `lv` is the store: those that its origin had when it
    /// was taken.
    pub fn snapshot_length(&self, vg: &VolumeGroup, lv: LvId) -> Option<Extents> {
        let used = self.cow[lv.index()]?;
        Some(vg.lv(used.by).segments[used.segment].length)
    }

    /// The snapshots of a volume, old or new kind apart: only those with a store of their own.
    pub fn snapshots<'a>(
        &self,
        vg: &'a VolumeGroup,
        origin: LvId,
    ) -> impl Iterator<Item = &'a Snapshot> {
        let uses = self.used_by(origin).iter();
        uses.filter(|used| used.part == Part::SnapshotOrigin)
            .filter_map(|used| match &vg.lv(used.by).segments[used.segment].kind {
                SegmentType::Snapshot(snapshot) => Some(snapshot),
                _ => None,
            })
    }

    /// Whether a volume has a snapshot with a store of its own.
    pub fn is_origin(&self, lv: LvId) -> bool {
        self.is_used_as(lv, Part::SnapshotOrigin)
    }

    /// Whether a volume is the store of a snapshot.
    pub fn is_cow(&self, lv: LvId) -> bool {
        self.cow[lv.index()].is_some()
    }

    /// Whether a volume is used as this part, whoever uses it.
    pub fn is_used_as(&self, lv: LvId, part: Part) -> bool {
        self.used_by(lv).iter().any(|used| used.part == part)
    }

    /// Whether people see a volume.
    ///
    /// The store of a snapshot is as visible as its origin, whatever its flags say, until it is
    /// merged; the holder of the snapshot's segment never is.
    pub fn is_visible(&self, vg: &VolumeGroup, lv: LvId) -> bool {
        let mut lv = lv;
        // A loop of origins is damage; it ends after as many steps as there are volumes.
        for _ in 0..self.uses.len() {
            if is_snapshot_holder(vg, lv) {
                return false;
            }
            match self.snapshot_of_cow(vg, lv) {
                None => return vg.lv(lv).flags.has(LvFlag::Visible),
                Some(snapshot) if is_virtual_origin(vg, snapshot.origin) => return true,
                Some(snapshot) if snapshot.state == SnapshotState::Merging => return false,
                Some(snapshot) => lv = snapshot.origin,
            }
        }
        false
    }

    /// The part of a volume that it plays in another, if any.
    pub fn role(&self, vg: &VolumeGroup, lv: LvId) -> Role {
        if is_snapshot_holder(vg, lv) {
            return Role::SnapshotHolder;
        }
        let volume = vg.lv(lv);
        if volume.flags.has(LvFlag::Pvmove) {
            return Role::Pvmove;
        }
        match self.component_use(lv) {
            Some(used) => Role::Part(used.part),
            None if volume.name().ends_with(SPARE) => Role::Spare,
            None => Role::Whole,
        }
    }

    /// The volume of people's knowledge to which `lv` belongs: itself, or what it is a part of.
    pub fn top(&self, vg: &VolumeGroup, lv: LvId) -> LvId {
        let mut lv = lv;
        for _ in 0..self.uses.len() {
            if self.is_visible(vg, lv) {
                return lv;
            }
            match self.parent(lv) {
                Some(parent) => lv = parent,
                None => return lv,
            }
        }
        lv
    }
}

/// What a volume is in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nobody's part.
    Whole,
    /// A part of another volume.
    Part(Part),
    /// Kept for repairs of pools.
    Spare,
    /// The temporary volume of a move.
    Pvmove,
    /// Holds the segment that joins a snapshot's origin and store.
    SnapshotHolder,
}

/// Whether a volume only holds the segment that joins a snapshot's origin and store.
pub fn is_snapshot_holder(vg: &VolumeGroup, lv: LvId) -> bool {
    matches!(vg.lv(lv).first(), Some(SegmentType::Snapshot(_)))
}

/// Whether a volume holds the data and the metadata of a cache.
pub fn is_cachevol(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> bool {
    vg.lv(lv).flags.has(LvFlag::CacheVol)
        || relations.component_use(lv).is_some_and(|used| {
            let user = &vg.lv(used.by).segments[used.segment];
            used.part == Part::CachePool && user.type_flags.contains(&TypeFlag::CacheUsesCachevol)
        })
}

/// Whether a volume is an origin that exists only for its snapshot.
pub fn is_virtual_origin(vg: &VolumeGroup, lv: LvId) -> bool {
    vg.lv(lv).name().ends_with(VIRTUAL_ORIGIN)
}

#[cfg(test)]
mod tests;
