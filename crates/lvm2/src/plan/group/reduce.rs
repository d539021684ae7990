//! `vgreduce`: physical volumes leave that nothing stands on.

use alloc::format;
use alloc::vec::Vec;

use super::copies::{AreaState, MetadataCopies, balance};
use super::extend::require_resizeable;
use crate::Result;
use crate::model::{AllocationMap, PvId, VolumeGroup};
use crate::ondisk::PvUse;
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, pv_name, refused, require_known_segments};

/// Removes physical volumes. `areas` are those of the group as it is.
pub fn reduce_group(
    vg: &VolumeGroup,
    pvs: &[PvId],
    areas: &[AreaState],
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    require_resizeable(vg)?;
    let map = AllocationMap::of(vg);
    for pv in pvs {
        let name = pv_name(vg, *pv);
        if !map.allocations(*pv).is_empty() {
            return Err(refused(format!(
                "Physical volume \"{name}\" still in use: move what lies on it to other physical \
                 volumes of the group first (ashlar pvmove {name})"
            )));
        }
        if draft.vg.pv_count() == 1 {
            return Err(refused(format!(
                "Can't remove final physical volume \"{name}\" from volume group \"{}\"",
                vg.name
            )));
        }
        draft.note(format!(
            "Removed \"{name}\" from volume group \"{}\"",
            vg.name
        ));
        release(&mut draft, *pv);
    }
    keep_areas(&mut draft, areas).map_err(|error| match pvs.last() {
        None => error,
        Some(last) => refused(format!(
            "Cannot remove final metadata area on \"{}\" from \"{}\"",
            pv_name(vg, *last),
            vg.name
        )),
    })?;
    draft.finish(author)
}

pub(super) fn release(draft: &mut Draft, pv: PvId) {
    let gone = draft.vg.remove_pv(pv);
    assert_eq!(
        draft.vg.pv_by_uuid(&gone.uuid),
        None,
        "it is out of the group"
    );
    draft.set_usage(gone.uuid, PvUse::Free);
}

/// Sees to it that what is left has its metadata somewhere.
pub(super) fn keep_areas(draft: &mut Draft, areas: &[AreaState]) -> Result<()> {
    let left: Vec<AreaState> = areas
        .iter()
        .filter(|area| draft.vg.pv_by_uuid(&area.pv).is_some())
        .copied()
        .collect();
    if left.is_empty() {
        return Err(refused(format!(
            "Cannot remove all metadata areas from volume group {}: the physical volumes that are \
             left have none",
            draft.vg.name
        )));
    }
    let copies = MetadataCopies::from_number(draft.vg.metadata_copies);
    draft.areas = balance(&left, copies);
    Ok(())
}
