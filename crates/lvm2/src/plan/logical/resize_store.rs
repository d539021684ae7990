//! What the sizes of snapshots' origins and stores may become.
//!
//! An origin may grow: its snapshots keep the size that it had. It does not become smaller, since
//! they show what is behind its new end. A store grows as far as its origin can fill it, and
//! becomes no smaller than what it holds, which only its bytes say.

use alloc::format;

use super::snapshot::require_chunks;
use crate::model::{LvId, Relations, SnapshotState, VolumeGroup};
use crate::plan::display::display_size;
use crate::plan::draft::refused;
use crate::plan::size::Origin;
use crate::{Extents, Result, Sectors};

/// Neither a snapshot that is being merged nor its origin changes its size, nor an origin that
/// nobody sees.
pub(super) fn require_no_merge(vg: &VolumeGroup, id: LvId) -> Result<()> {
    let relations = Relations::of(vg);
    let name = format!("{}/{}", vg.name, vg.lv(id).name());
    if !relations.is_visible(vg, id) {
        return Err(refused(format!(
            "Can't resize internal logical volume {name}."
        )));
    }
    let mut snapshots = relations.snapshots(vg, id);
    if snapshots.any(|snapshot| snapshot.state == SnapshotState::Merging) {
        return Err(refused(format!(
            "Can't resize logical volume {name}: a snapshot is being merged into it; serve it, \
             which ends that"
        )));
    }
    Ok(())
}

/// The origin of the snapshot of which the volume is the store.
pub(super) fn origin_of(vg: &VolumeGroup, store: LvId) -> Option<Origin> {
    let relations = Relations::of(vg);
    let snapshot = relations.snapshot_of_cow(vg, store)?;
    let extents = vg.lv(snapshot.origin).extents();
    Some(Origin::new(extents, snapshot.chunk_size, vg.extent_size))
}

/// An origin keeps what its snapshots show, and a store what it holds.
pub(super) fn require_reducible(
    vg: &VolumeGroup,
    id: LvId,
    new: Extents,
    store_used: Option<Sectors>,
) -> Result<()> {
    let relations = Relations::of(vg);
    if relations.is_origin(id) {
        return Err(refused(
            "Snapshot origin volumes cannot be reduced in size yet.",
        ));
    }
    let Some(snapshot) = relations.snapshot_of_cow(vg, id) else {
        return Ok(());
    };
    require_chunks(vg, new, snapshot.chunk_size)?;
    let name = format!("{}/{}", vg.name, vg.lv(id).name());
    let used = store_used.ok_or_else(|| {
        refused(format!(
            "Snapshot {name} is not reduced: how much of its store is in use is not known"
        ))
    })?;
    if new.to_sectors(vg.extent_size).is_some_and(|new| new < used) {
        return Err(refused(format!(
            "Snapshot {name} is not reduced to {} extents: {} of its store are in use, which are \
             {} extents",
            new.0,
            display_size(used),
            used.0.div_ceil(vg.extent_size.0)
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
