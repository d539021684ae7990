//! `lvcreate --snapshot`: a snapshot of a volume, with a store for what changes.
//!
//! ```text
//!     snapshot0 ─ origin ─────>  data     what people go on using
//!               └ cow_store ──>  monday   its extents keep what data had; people see data in it,
//!                                         as it was
//! ```
//!
//! The store's head is made zero before the commit: whoever runs the snapshot first takes it for
//! one that is empty, whatever its extents held. A store is made no larger than what its origin can
//! fill.
//!
//! Does not: make an origin of its own (`--virtualsize`), or thin snapshots.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec;

use super::create::{
    NewVolume, add_striped, checked_stripes, free_space, new_name, new_size, numbered_name,
    prepare_contents, require_room,
};
use super::mirror::hidden;
use super::options::{NewKind, Skip, Start, Zeroing};
use crate::model::{LvFlag, LvId, Relations, SegmentType, Snapshot, SnapshotState, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::checksums::require_no_checksums;
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, refused, require_known_segments, wrong};
use crate::plan::segments;
use crate::plan::size::Origin;
use crate::{Extents, Result, Sectors};

/// The unit of copying where nothing is said.
pub const CHUNK_SIZE_DEFAULT: Sectors = Sectors(8);
const CHUNK_SIZE_MIN: Sectors = Sectors(8);
const CHUNK_SIZE_MAX: Sectors = Sectors(1024);
/// The header, an area of entries, and something to keep.
const CHUNKS_MIN: u64 = 3;

/// What `lvcreate --snapshot` was asked for.
#[derive(Debug, Clone)]
pub struct NewSnapshot<'a> {
    /// The origin's name.
    pub origin: &'a str,
    /// `-c`: a power of two from 4 to 512 KiB.
    pub chunk_size: Sectors,
    /// The store, which has the snapshot's name. It is zeroed whatever it says.
    pub store: NewVolume<'a>,
}

/// Creates a snapshot of a volume.
pub fn create_snapshot(
    vg: &VolumeGroup,
    new: &NewSnapshot<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    let store = NewVolume {
        zeroing: Zeroing::ZeroOnly,
        ..new.store.clone()
    };
    if !matches!(store.kind, NewKind::Striped(_)) {
        return Err(wrong("The store of a snapshot is linear or striped"));
    }
    require_chunk_size(new.chunk_size)?;
    let name = new_name(vg, store.name)?;
    let origin = vg.lv_by_name(new.origin).ok_or_else(|| {
        refused(format!(
            "Snapshot origin LV {} not found in Volume group {}.",
            new.origin, vg.name
        ))
    })?;
    require_origin(&mut draft, origin)?;
    require_room(vg)?;
    let stripes = checked_stripes(&mut draft, store.kind)?;
    let mut space = free_space(&mut draft, store.places)?;
    let of = Origin::new(vg.lv(origin).extents(), new.chunk_size, vg.extent_size);
    let size = new_size(&mut draft, &store, stripes, &space, Some(of))?;
    require_chunks(vg, size.extents, new.chunk_size)?;
    let id = add_striped(
        &mut draft,
        &name,
        &store,
        (size, stripes),
        &mut space,
        author,
    )?;
    // Less than what was asked for may have been found.
    require_chunks(vg, draft.vg.lv(id).extents(), new.chunk_size)?;
    prepare_contents(&mut draft, &store, id)?;
    if store.start == Start::Active && store.skip == Skip::No {
        draft.activate.push(id);
    }
    hold(&mut draft, origin, id, new.chunk_size, author)?;
    draft.note(format!("Logical volume \"{name}\" created."));
    draft.finish(author)
}

/// Joins an origin and a store, under the next name for that.
pub(super) fn hold(
    draft: &mut Draft,
    origin: LvId,
    store: LvId,
    chunk_size: Sectors,
    author: &mut Author<'_>,
) -> Result<LvId> {
    assert_ne!(origin, store, "a snapshot has a store beside its origin");
    assert!(
        chunk_size.0.is_power_of_two(),
        "its chunk size was looked at"
    );
    let name = numbered_name(&draft.vg, "snapshot");
    let kind = SegmentType::Snapshot(Snapshot {
        chunk_size,
        origin,
        cow: store,
        state: SnapshotState::Apart,
    });
    let length = draft.vg.lv(origin).extents();
    let list = vec![segments::segment(Extents::ZERO, length, kind)];
    let mut holder = hidden(name, author, list);
    // The text calls it visible; nobody sees it.
    holder.flags.insert(LvFlag::Visible);
    draft.vg.lv_mut(store).flags.remove(LvFlag::Visible);
    draft.vg.add_lv(holder)
}

/// Refuses chunks that no snapshot has, in stock's words.
pub fn require_chunk_size(size: Sectors) -> Result<()> {
    if (CHUNK_SIZE_MIN..=CHUNK_SIZE_MAX).contains(&size) && size.0.is_power_of_two() {
        return Ok(());
    }
    Err(wrong(
        "Chunk size must be a power of 2 in the range 4K to 512K.",
    ))
}

/// Refuses a store in which nothing can be kept, in stock's words.
pub(super) fn require_chunks(vg: &VolumeGroup, store: Extents, chunk_size: Sectors) -> Result<()> {
    let least = Sectors(chunk_size.0 * CHUNKS_MIN);
    let size = store.to_sectors(vg.extent_size).unwrap_or(least);
    if size >= least {
        return Ok(());
    }
    Err(refused(format!(
        "Snapshot volume cannot be smaller than {CHUNKS_MIN} chunks ({} extents, {}).",
        least.0.div_ceil(vg.extent_size.0),
        display_size(least)
    )))
}

/// Refuses volumes of which there are no snapshots, in stock's words; warns as stock does.
pub(super) fn require_origin(draft: &mut Draft, origin: LvId) -> Result<()> {
    let vg = &draft.vg;
    let relations = Relations::of(vg);
    let lv = vg.lv(origin);
    let is_merging = relations
        .snapshots(vg, origin)
        .any(|snapshot| snapshot.state == SnapshotState::Merging);
    let other = lv
        .segments
        .iter()
        .find(|segment| !is_possible(&segment.kind));
    let what = match () {
        () if relations.is_cow(origin) => "snapshots",
        () if lv.flags.has(LvFlag::Locked) => "locked volumes",
        () if lv.flags.has(LvFlag::Pvmove) => "pvmoved volumes",
        () if !relations.is_visible(vg, origin) => "hidden volumes",
        () if is_merging => "an origin that has a merging snapshot",
        () => match other.map(|segment| (&segment.kind, segment.type_name())) {
            None => "",
            Some((SegmentType::CachePool(_), _)) => "cache type volumes",
            Some((SegmentType::ThinPool(_), _)) => "thin pool type volumes",
            Some((_, name)) => {
                return Err(refused(format!(
                    "Snapshots of {}/{} are not made: it has a segment of type {name}",
                    vg.name,
                    lv.name()
                )));
            }
        },
    };
    if !what.is_empty() {
        return Err(refused(format!("Snapshots of {what} are not supported.")));
    }
    require_no_checksums(vg, origin)?;
    if matches!(lv.first(), Some(SegmentType::Mirror(_))) {
        for text in [
            "Snapshots of mirrors can deadlock under rare device failures.",
            "Consider using the raid1 mirror type to avoid this.",
            "See global/mirror_segtype_default in lvm.conf.",
        ] {
            draft.warn(text.to_owned());
        }
    }
    Ok(())
}

/// Whether stock takes snapshots of volumes of this type.
fn is_possible(kind: &SegmentType) -> bool {
    matches!(
        kind,
        SegmentType::Striped(_)
            | SegmentType::Zero
            | SegmentType::Error
            | SegmentType::Mirror(_)
            | SegmentType::Raid(_)
            | SegmentType::Thin(_)
            | SegmentType::Cache(_)
    )
}

#[cfg(test)]
mod tests;
