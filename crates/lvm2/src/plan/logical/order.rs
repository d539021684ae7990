//! Which copy of a mirror comes first.
//!
//! The text names a mirror's copies in an order, and whoever starts the mirror believes the first
//! one wherever they may differ: so the kernel does, and so does everybody where the log is in
//! memory. A mirror that goes on without its first copy is therefore written down with another one
//! in front. Nothing is removed: when the lost copy is back, it is one to be copied to.
//!
//! A mirror that was never synchronised (`--nosync`) and has its log in memory says that all
//! copies are the same; from then on it does not.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use crate::model::{Area, LvFlag, LvId, SegmentType, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused};
use crate::{Result, Uuid};

/// Whether the mirror `volume` begins with the copy `first`, and promises nothing of the others.
pub fn has_first_image(vg: &VolumeGroup, volume: Uuid, first: Uuid) -> bool {
    let Some(id) = vg.lv_by_uuid(&volume) else {
        return false;
    };
    let lv = vg.lv(id);
    lv.segments.iter().all(|segment| match &segment.kind {
        SegmentType::Mirror(mirror) => {
            let is_first = mirror.images.first().and_then(|area| image(vg, area)) == Some(first);
            is_first && (mirror.log.is_some() || !lv.flags.has(LvFlag::NotSynced))
        }
        _ => true,
    })
}

/// Puts the copies of the mirror `volume` into the order of `images`; others come behind them.
pub fn order_images(
    vg: &VolumeGroup,
    volume: Uuid,
    images: &[Uuid],
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = vg.lv_by_uuid(&volume).ok_or_else(|| {
        refused(format!(
            "The mirror {volume} is not in volume group {} any more",
            vg.name
        ))
    })?;
    sort(&mut draft.vg, id, images);
    let lv = draft.vg.lv(id);
    let name = lv.name().to_owned();
    let first = images.iter().find_map(|uuid| vg.lv_by_uuid(uuid));
    let first = first.map_or("another copy", |id| vg.lv(id).name());
    draft.note(format!(
        "Mirror {}/{name} has {first} as its first copy from now on.",
        vg.name
    ));
    draft.finish(author)
}

/// Mirrors of `vg`, which is to replace `current`, keep the order that they have there: an older
/// text may have a copy first that was lost since.
pub(in crate::plan) fn keep_orders(current: &VolumeGroup, vg: &mut VolumeGroup) {
    for (_, lv) in current.lvs() {
        let areas = lv
            .segments
            .iter()
            .filter_map(|segment| match &segment.kind {
                SegmentType::Mirror(mirror) => Some(&mirror.images),
                _ => None,
            });
        let images: Vec<Uuid> = areas
            .flatten()
            .filter_map(|area| image(current, area))
            .collect();
        let was_assumed = lv.flags.has(LvFlag::NotSynced);
        if let Some(id) = vg.lv_by_uuid(&lv.uuid).filter(|_| !images.is_empty()) {
            let is_assumed = vg.lv(id).flags.has(LvFlag::NotSynced);
            sort(vg, id, &images);
            if was_assumed && is_assumed {
                vg.lv_mut(id).flags.insert(LvFlag::NotSynced);
            }
        }
    }
}

/// Puts a mirror's copies into an order. With a log in memory, all but the first are unknown.
fn sort(vg: &mut VolumeGroup, id: LvId, images: &[Uuid]) {
    let mut segments = core::mem::take(&mut vg.lv_mut(id).segments);
    let mut logs_in_memory = false;
    for segment in &mut segments {
        if let SegmentType::Mirror(mirror) = &mut segment.kind {
            mirror.images.sort_by_key(|area| {
                let image = image(vg, area);
                let place = images.iter().position(|one| Some(*one) == image);
                place.unwrap_or(images.len())
            });
            logs_in_memory |= mirror.log.is_none();
        }
    }
    let lv = vg.lv_mut(id);
    lv.segments = segments;
    if logs_in_memory {
        lv.flags.remove(LvFlag::NotSynced);
    }
}

fn image(vg: &VolumeGroup, area: &Area) -> Option<Uuid> {
    match area {
        Area::Lv { lv, .. } => Some(vg.lv(*lv).uuid),
        Area::Pv { .. } => None,
    }
}
