//! `vgextend`: more physical volumes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::copies::{AreaState, MetadataCopies, balance};
use crate::model::{VgFlag, VolumeGroup};
use crate::ondisk::{AreaUse, PvHeader, PvUse};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused, require_not_exported};
use crate::plan::initialise::described;
use crate::{Result, Sectors};

/// A physical volume that joins a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its header, from its label.
    pub header: PvHeader,
    /// Its device's name.
    pub device: String,
    /// What kind of name `device_id` is.
    pub device_id_type: Option<String>,
    /// A name of the device that survives a restart.
    pub device_id: Option<String>,
    /// The size that its extents may fill.
    pub size: Sectors,
    /// Its metadata areas, in the order of the header.
    pub areas: Vec<AreaUse>,
}

/// Adds physical volumes to a group. `areas` are those of the group as it is.
pub fn extend_group(
    vg: &VolumeGroup,
    members: &[Member],
    areas: &[AreaState],
    author: &mut Author<'_>,
) -> Result<Change> {
    require_not_exported(vg)?;
    let mut draft = Draft::begin(vg)?;
    require_resizeable(vg)?;
    add_members(&mut draft.vg, members)?;
    assert_eq!(
        draft.vg.pv_count(),
        vg.pv_count() + members.len(),
        "each joins"
    );
    for member in members {
        draft.set_usage(member.header.uuid, PvUse::Used);
    }
    let mut states = areas.to_vec();
    states.extend(area_states(members));
    draft.areas = balance(&states, MetadataCopies::from_number(vg.metadata_copies));
    draft.note(format!(
        "Volume group \"{}\" successfully extended",
        vg.name
    ));
    draft.finish(author)
}

pub(super) fn require_resizeable(vg: &VolumeGroup) -> Result<()> {
    if vg.flags.has(VgFlag::Resizeable) {
        return Ok(());
    }
    Err(refused(format!(
        "Volume group {} is not resizeable.",
        vg.name
    )))
}

/// Adds physical volumes at the end of the list.
pub(super) fn add_members(vg: &mut VolumeGroup, members: &[Member]) -> Result<()> {
    for member in members {
        if vg.pv_by_uuid(&member.header.uuid).is_some() {
            return Err(refused(format!(
                "Physical volume '{}' is already in volume group '{}'",
                member.device, vg.name
            )));
        }
        if member.header.usage() == PvUse::Used {
            return Err(refused(format!(
                "PV {} is used by a VG but its metadata is missing: repair that group, or \
                 initialise the PV again with pvcreate -ff",
                member.device
            )));
        }
        if vg.max_pv != 0 && vg.pv_count() as u64 >= u64::from(vg.max_pv) {
            return Err(refused(format!(
                "No space for '{}' - volume group '{}' holds max {} physical volume(s).",
                member.device, vg.name, vg.max_pv
            )));
        }
        let device = Some(member.device.clone());
        let mut pv = described(&member.header, device, member.size, vg.extent_size)?;
        pv.device_id_type.clone_from(&member.device_id_type);
        pv.device_id.clone_from(&member.device_id);
        vg.add_pv(pv);
    }
    Ok(())
}

/// The metadata areas that members bring.
pub(super) fn area_states(members: &[Member]) -> Vec<AreaState> {
    let states = members.iter().flat_map(|member| {
        let uses = member.areas.iter().enumerate();
        uses.map(|(area, usage)| AreaState {
            pv: member.header.uuid,
            area,
            usage: *usage,
        })
    });
    states.collect()
}

/// A group needs a metadata area at least.
pub(super) fn require_areas(states: &[AreaState]) -> Result<()> {
    if states.is_empty() {
        return Err(refused(
            "Cannot create volume group without metadata areas: none of the physical volumes has \
             one",
        ));
    }
    Ok(())
}
