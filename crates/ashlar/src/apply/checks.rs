//! What is looked at before and after the commits of a change.

use lvm2::Uuid;
use lvm2::model::VolumeGroup;
use lvm2::ondisk::{AreaUse, PvUse};
use lvm2::plan::{Change, GroupChange, HeaderEdit};

use super::request::NewLabel;
use crate::commit::OpenPv;
use crate::{Error, Kind, Result};

/// Fails where a group that is to be committed has no area to be written to. Of several commits
/// none may turn out to be impossible when the first one is made.
pub(super) fn require_areas(pvs: &[OpenPv], new: &[NewLabel], change: &Change) -> Result<()> {
    for group in &change.groups {
        let GroupChange::Commit(vg) = group else {
            continue;
        };
        let is_member = |uuid: Uuid| vg.pv_by_uuid(&uuid).is_some();
        let found = pvs.iter().any(|pv| {
            let mut areas = pv.areas().iter().enumerate();
            is_member(pv.uuid_in_text())
                && areas.any(|(index, area)| {
                    let mut changes = change.areas.iter();
                    let change = changes.find(|c| c.pv == pv.uuid() && c.area == index);
                    change.map_or(area.usage(), |change| change.usage) == AreaUse::Used
                })
        });
        let made = new.iter().any(|new| {
            let mut areas = new.layout.areas.iter();
            is_member(new.layout.label.pv.uuid) && areas.any(|area| area.usage == AreaUse::Used)
        });
        if !found && !made {
            let what = format!(
                "Nowhere to store metadata for volume group {}: none of its physical volumes has \
                 a metadata area that is used; pvchange --metadataignore n uses one, pvcreate \
                 makes one",
                vg.name
            );
            return Err(Error::new(Kind::Missing, what));
        }
    }
    Ok(())
}

/// What labels of `erased` physical volumes, which no group of `groups` lists, say too much: one
/// whose outdated text could not be read at first was cleared without a plan for its label.
pub(super) fn label_releases(
    pvs: &[OpenPv],
    groups: &[&VolumeGroup],
    erased: &[Uuid],
) -> Vec<(Uuid, HeaderEdit)> {
    let is_free = |pv: &&OpenPv| {
        let mut groups = groups.iter();
        let extension = pv.label().pv.extension.as_ref();
        erased.contains(&pv.uuid())
            && extension.is_none_or(|extension| extension.version <= 2)
            && pv.label().pv.usage() == PvUse::Used
            && groups.all(|vg| vg.pv_by_uuid(&pv.uuid_in_text()).is_none())
    };
    let free = pvs.iter().filter(is_free);
    free.map(|pv| (pv.uuid(), HeaderEdit::Usage(PvUse::Free)))
        .collect()
}

/// What labels of members lack, and any commit sets, as stock does: the use flag. Headers of later
/// versions cannot be written, and are left as they are.
pub(super) fn label_repairs(pvs: &[OpenPv], groups: &[&VolumeGroup]) -> Vec<(Uuid, HeaderEdit)> {
    let mut edits = Vec::new();
    for pv in pvs {
        let header = &pv.label().pv;
        let extension = header.extension.as_ref();
        if extension.is_some_and(|extension| extension.version > 2) {
            continue;
        }
        let in_group = |vg: &&VolumeGroup| vg.pv_by_uuid(&pv.uuid_in_text()).is_some();
        if groups.iter().any(in_group) && header.usage() != PvUse::Used {
            edits.push((pv.uuid(), HeaderEdit::Usage(PvUse::Used)));
        }
    }
    edits
}
