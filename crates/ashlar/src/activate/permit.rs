//! What the machine knows against writing a volume; what the volume's own metadata says is in
//! `access`. Both are in the table of `docs/format.md`.
//!
//! | found | read | write |
//! |---|---|---|
//! | another host's, shared, clustered or exported group | yes | no |
//! | a group whose metadata is read-only, contradicts itself or disagrees | yes | no |
//! | a physical volume on two devices | yes | no |
//! | a volume, or part of one, that the kernel has active | yes; no snapshots, no RAID | no |

use dm::volume::Access;
use lvm2::model::{LvId, RaidFamily, Relations, Segment, SegmentType};

use super::access::shared_stack;
use crate::host::Host;
use crate::scan::{FoundVg, Restriction};
use crate::{Error, Kind, Result};

/// Fails where `access` to the volume is not allowed.
pub(super) fn permit(group: &FoundVg, lv: LvId, access: Access, host: &Host) -> Result<()> {
    let name = format!("{}/{}", group.name, group.model.lv(lv).name());
    let relations = Relations::of(&group.model);
    if access == Access::ReadOnly {
        let Some(changing) = changing(group, &relations, lv) else {
            return Ok(());
        };
        let active = active_part(group, &relations, lv, host);
        return active.map_or(Ok(()), |kernel_name| {
            let what = format!(
                "{name} is not read here: {changing} changes while the kernel has {kernel_name} \
                 active; read /dev/{name}, or deactivate it"
            );
            Err(Error::new(Kind::Refused, what))
        });
    }
    let refuse = |why: String| {
        let what = format!("{name} is not opened for writing: {why}; it can be read");
        Err(Error::new(Kind::Refused, what))
    };
    if let Some(why) = group.restrictions.iter().find_map(reason) {
        return refuse(why);
    }
    match active_part(group, &relations, lv, host) {
        Some(kernel_name) => refuse(format!("the kernel has it active as {kernel_name}")),
        None => Ok(()),
    }
}

/// What has to stay as it was when a volume was opened for reading, so that it can be read.
fn changing(group: &FoundVg, relations: &Relations, lv: LvId) -> Option<&'static str> {
    if relations.seen_through(&group.model, lv).is_some() {
        return Some("what differs between it and its origin");
    }
    let is_array = |segment: &Segment| match &segment.kind {
        SegmentType::Raid(raid) => raid.level.family() != RaidFamily::Raid0,
        _ => false,
    };
    let stack = shared_stack(&group.model, relations, lv);
    let mut segments = stack.iter().flat_map(|id| &group.model.lv(*id).segments);
    segments
        .any(is_array)
        .then_some("what goes together in a RAID")
}

/// What the kernel calls the volume, or one that it stands on, if it has it active.
fn active_part(group: &FoundVg, relations: &Relations, lv: LvId, host: &Host) -> Option<String> {
    let active = host.sysfs.kernel_lvs();
    let needed = shared_stack(&group.model, relations, lv);
    let held = active.into_iter().find(|active| {
        let mut volumes = needed.iter().map(|id| group.model.lv(*id).uuid);
        active.group == group.uuid && volumes.any(|uuid| uuid == active.volume)
    });
    held.map(|active| active.kernel_name)
}

/// Why a restriction forbids writing, if it does.
fn reason(restriction: &Restriction) -> Option<String> {
    Some(match restriction {
        Restriction::Foreign { system_id, .. } => {
            format!("its group belongs to the host with system ID {system_id}")
        }
        Restriction::Shared { lock_type } => {
            format!("its group is shared by several hosts through {lock_type}")
        }
        Restriction::Clustered => "its group is clustered".to_owned(),
        Restriction::Exported => "its group is exported (vgimport takes it in)".to_owned(),
        Restriction::ReadOnly => "its group is read-only".to_owned(),
        Restriction::Unsound(problem) => format!("its group's metadata is not sound: {problem}"),
        Restriction::Disagreement => {
            "its group's metadata areas disagree (vgck --updatemetadata)".to_owned()
        }
        Restriction::DuplicatePvs => {
            "a physical volume of its group is on more than one device".to_owned()
        }
        Restriction::DuplicateVgid => {
            "another group has the same VGID, as of a clone (vgchange --uuid)".to_owned()
        }
        Restriction::AmbiguousName | Restriction::Partial => return None,
    })
}
