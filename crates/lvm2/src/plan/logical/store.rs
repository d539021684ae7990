//! `lvconvert` of snapshots: a volume becomes the store of a snapshot, a store a volume of its own,
//! and a snapshot starts on its way back into its origin.
//!
//! ```text
//!     join     data, monday            ─>  snapshot0 over both; what monday held is lost
//!     split    snapshot0 over both     ─>  data, monday: the changes, as they lie in the store
//!     merge    cow_store = "monday"    ─>  merging_store = "monday"; data is seen through it
//!     end      merging_store           ─>  data; what monday held is in it
//! ```
//!
//! A store that was split off and joined again unzeroed is the snapshot that it was only as long as
//! nobody has written to the origin in between: nothing tells.
//!
//! The merge itself is for whoever runs the origin: the text only says that it has begun.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::create::prepare_contents;
use super::options::Zeroing;
use super::remove::{Along, remove};
use super::snapshot::{hold, require_chunk_size, require_chunks, require_origin};
use super::{NewVolume, Permission};
use crate::model::{
    LvFlag, LvId, Relations, Role, SegmentType, SnapshotState, VolumeGroup, is_virtual_origin,
};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments};
use crate::plan::size::SizeArgument;
use crate::{Result, Sectors, Uuid};

/// What `lvconvert --snapshot` was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Join<'a> {
    /// The origin's name.
    pub origin: &'a str,
    /// The name of the volume that becomes the store.
    pub store: &'a str,
    /// `-c`.
    pub chunk_size: Sectors,
    /// `-Z`: whether the store begins empty.
    pub head: StoreHead,
}

/// What becomes of the first bytes of a volume that becomes a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreHead {
    /// They are made zero: the snapshot is its origin as it is now.
    Zeroed,
    /// They stay: it holds what was split off before.
    Kept,
}

/// Makes a volume the store of a snapshot.
pub fn join_snapshot(vg: &VolumeGroup, join: &Join<'_>, author: &mut Author<'_>) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    let store = find_lv(vg, join.store)?;
    let name = format!("{}/{}", vg.name, join.store);
    if join.origin == join.store {
        return Err(refused(format!(
            "Unable to use {name} as both snapshot and origin."
        )));
    }
    require_store(vg, store)?;
    require_chunk_size(join.chunk_size).map_err(|error| refused(error.context))?;
    require_chunks(vg, vg.lv(store).extents(), join.chunk_size)?;
    let origin = vg.lv_by_name(join.origin).ok_or_else(|| {
        refused(format!(
            "Couldn't find origin volume {} in Volume group {}.",
            join.origin, vg.name
        ))
    })?;
    require_origin(&mut draft, origin)?;
    draft.warn(format!(
        "Converting logical volume {name} to snapshot exception store.\n\
         THIS WILL DESTROY CONTENT OF LOGICAL VOLUME (filesystem etc.)"
    ));
    if join.head == StoreHead::Kept || !vg.lv(store).is_writable() {
        draft.warn(format!("{name} not zeroed."));
    } else {
        let zeroed = NewVolume {
            zeroing: Zeroing::ZeroOnly,
            permission: Permission::ReadWrite,
            ..NewVolume::linear(SizeArgument::extents(vg.lv(store).extents().0))
        };
        prepare_contents(&mut draft, &zeroed, store)?;
    }
    hold(&mut draft, origin, store, join.chunk_size, author)?;
    draft.note(format!("Logical volume {name} converted to snapshot."));
    draft.finish(author)
}

/// Makes the store of a snapshot a volume of its own.
pub fn split_snapshot(vg: &VolumeGroup, name: &str, author: &mut Author<'_>) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let (store, holder, origin) = require_snapshot(vg, name)?;
    let name = format!("{}/{name}", vg.name);
    if is_virtual_origin(vg, origin) {
        return Err(refused(format!(
            "Unable to split off snapshot {name} with virtual origin."
        )));
    }
    draft.vg.remove_lv(holder);
    draft.vg.lv_mut(store).flags.insert(LvFlag::Visible);
    draft.note(format!("Logical Volume {name} split from its origin."));
    draft.finish(author)
}

/// When a merge begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStart {
    /// At once: its origin runs here.
    Now,
    /// When its origin is used next.
    Later,
}

/// Lets a snapshot be merged into its origin by whoever runs that.
pub fn start_merge(
    vg: &VolumeGroup,
    name: &str,
    start: MergeStart,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let (store, holder, origin) = require_snapshot(vg, name)?;
    let full = |id: LvId| format!("{}/{}", vg.name, vg.lv(id).name());
    let relations = Relations::of(vg);
    let mut others = relations.snapshots(vg, origin);
    let other = others.find(|other| other.state == SnapshotState::Merging);
    if let Some(other) = other {
        return Err(refused(format!(
            "Cannot merge snapshot {}/{name} into the origin {} with merging snapshot {}.",
            vg.name,
            full(origin),
            full(other.cow)
        )));
    }
    if is_virtual_origin(vg, origin) {
        return Err(refused(format!(
            "Cannot merge snapshot {}/{name}: it has a virtual origin.",
            vg.name
        )));
    }
    if !vg.lv(origin).is_writable() {
        return Err(refused(format!(
            "Cannot merge snapshot {}/{name} into the read-only origin {}. (Use lvchange -p rw).",
            vg.name,
            full(origin)
        )));
    }
    let origin_name = full(origin);
    let holder = draft.vg.lv_mut(holder);
    holder.flags.remove(LvFlag::Visible);
    for segment in &mut holder.segments {
        if let SegmentType::Snapshot(snapshot) = &mut segment.kind {
            snapshot.state = SnapshotState::Merging;
        }
    }
    draft.note(match start {
        MergeStart::Now => format!("Merging of volume {}/{name} started.", vg.name),
        MergeStart::Later => format!(
            "Merging of snapshot {}/{name} will occur on next activation of {origin_name}.",
            vg.name
        ),
    });
    let deferred = match start {
        MergeStart::Now => Vec::new(),
        MergeStart::Later => vec![vg.lv(store).uuid],
    };
    Ok(Change {
        deferred,
        ..draft.finish(author)?
    })
}

/// A snapshot, of which this is the store, is merged into its origin, all of it: it goes.
///
/// # Errors
///
/// It is not being merged, or not there.
pub fn end_merge(vg: &VolumeGroup, store: &Uuid, author: &mut Author<'_>) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let lv = vg.lv_by_uuid(store);
    let merging = lv.and_then(|lv| {
        let relations = Relations::of(vg);
        let snapshot = relations.snapshot_of_cow(vg, lv)?;
        (snapshot.state == SnapshotState::Merging).then_some((lv, snapshot.origin))
    });
    let Some((lv, origin)) = merging else {
        return Err(refused(format!(
            "volume group {} has no snapshot {store} that is being merged",
            vg.name
        )));
    };
    draft.note(format!(
        "Merge of snapshot into logical volume {}/{} has finished.",
        vg.name,
        vg.lv(origin).name()
    ));
    remove(&mut draft, lv, Along::Nothing)?;
    draft.finish(author)
}

/// The store of this name, the holder and the origin of a snapshot that stands beside its origin.
fn require_snapshot(vg: &VolumeGroup, name: &str) -> Result<(LvId, LvId, LvId)> {
    require_known_segments(vg)?;
    let store = find_lv(vg, name)?;
    let relations = Relations::of(vg);
    let Some(snapshot) = relations.snapshot_of_cow(vg, store) else {
        return Err(not_permitted(vg, store));
    };
    if snapshot.state == SnapshotState::Merging {
        return Err(refused(format!(
            "Snapshot {}/{name} is being merged into its origin {}/{}: serve that, which ends \
             it",
            vg.name,
            vg.name,
            vg.lv(snapshot.origin).name()
        )));
    }
    if vg.lv(store).flags.has(LvFlag::Locked) {
        return Err(refused(format!(
            "Cannot convert locked logical volume {}/{name}: its extents are being moved",
            vg.name
        )));
    }
    let holder = relations.parent(store).expect("a store has a holder");
    Ok((store, holder, snapshot.origin))
}

/// Refuses volumes that cannot be a store.
fn require_store(vg: &VolumeGroup, store: LvId) -> Result<()> {
    let relations = Relations::of(vg);
    let lv = vg.lv(store);
    let name = || format!("{}/{}", vg.name, lv.name());
    let is_plain = |kind: &SegmentType| matches!(kind, SegmentType::Striped(_));
    if relations.is_cow(store) || !lv.segments.iter().all(|segment| is_plain(&segment.kind)) {
        return Err(not_permitted(vg, store));
    }
    if lv.flags.has(LvFlag::Locked) || lv.flags.has(LvFlag::Pvmove) {
        return Err(refused(format!(
            "Cannot convert locked logical volume {}: its extents are being moved",
            name()
        )));
    }
    if relations.role(vg, store) != Role::Whole || !relations.is_visible(vg, store) {
        return Err(refused(format!(
            "Operation not permitted on hidden LV {}.",
            name()
        )));
    }
    // Stock lets it: the snapshots of a store are then snapshots of a hidden volume.
    if let Some(used) = relations.used_by(store).first() {
        let what = if relations.is_origin(store) {
            "it has snapshots of its own".to_owned()
        } else {
            format!("{} uses it", vg.lv(used.by).name())
        };
        return Err(refused(format!(
            "Logical volume {} cannot be the store of a snapshot: {what}",
            name()
        )));
    }
    Ok(())
}

/// Stock's sentences about a volume of the wrong type.
fn not_permitted(vg: &VolumeGroup, lv: LvId) -> crate::Error {
    let name = format!("{}/{}", vg.name, vg.lv(lv).name());
    let kind = if Relations::of(vg).is_cow(lv) {
        "snapshot".to_owned()
    } else {
        let first = vg.lv(lv).segments.first();
        first.map_or_else(String::new, |segment| segment.type_name().to_owned())
    };
    refused(format!(
        "Command on LV {name} does not accept LV type {kind}.\nCommand not permitted on LV {name}."
    ))
}

#[cfg(test)]
mod tests;
