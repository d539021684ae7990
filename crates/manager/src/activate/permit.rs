//! What may be done with a volume: the rules of `docs` and of stock, in one place.
//!
//! | found | read | write |
//! |---|---|---|
//! | another host's, shared, clustered or exported group | yes | no |
//! | a group whose metadata is read-only, disagrees, or uses something unknown | yes | no |
//! | a physical volume on two devices | yes | no |
//! | a volume, or part of one, that the kernel has active | yes | no |
//! | a volume without the permission to write | yes | no |
//! | the origin of a snapshot, or a part of another volume | yes | no |

use lvm::model::{LvFlag, LvId, Part, Relations, Role};
use target::volume::Access;

use crate::host::Host;
use crate::scan::{FoundVg, Restriction};
use crate::{Error, Kind, Result};

/// Fails where `access` to the volume is not allowed.
pub(super) fn permit(group: &FoundVg, lv: LvId, access: Access, host: &Host) -> Result<()> {
    if access == Access::ReadOnly {
        return Ok(());
    }
    let name = format!("{}/{}", group.name, group.model.lv(lv).name());
    let refuse = |why: String| {
        let what = format!("{name} is not opened for writing: {why}; it can be read");
        Err(Error::new(Kind::Refused, what))
    };
    if let Some(why) = group.restrictions.iter().find_map(reason) {
        return refuse(why);
    }
    let volume = group.model.lv(lv);
    if !volume.flags.has(LvFlag::Write) {
        return refuse("its permission is read-only (lvchange -prw changes that)".to_owned());
    }
    let relations = Relations::of(&group.model);
    if relations.is_used_as(lv, Part::SnapshotOrigin) {
        return refuse("it has snapshots, which are not served yet".to_owned());
    }
    if relations.role(&group.model, lv) != Role::Whole {
        return refuse("it is a part of another volume".to_owned());
    }
    let active = host.sysfs.kernel_lvs();
    let needed = stack(group, lv);
    let held = active.iter().find(|active| {
        let volumes = needed.iter().map(|id| group.model.lv(*id).uuid);
        active.group == group.uuid && volumes.into_iter().any(|uuid| uuid == active.volume)
    });
    match held {
        Some(active) => refuse(format!(
            "the kernel has it active as {}",
            active.kernel_name
        )),
        None => Ok(()),
    }
}

/// The volume and everything that it stands on.
fn stack(group: &FoundVg, lv: LvId) -> Vec<LvId> {
    let mut seen = vec![false; group.model.lv_slots()];
    let mut open = vec![lv];
    let mut all = Vec::new();
    while let Some(lv) = open.pop() {
        if !std::mem::replace(&mut seen[lv.index()], true) {
            all.push(lv);
            for segment in &group.model.lv(lv).segments {
                segment.for_each_reference(|below, _| open.push(below));
            }
        }
    }
    all
}

/// Why a restriction forbids writing, if it does.
fn reason(restriction: &Restriction) -> Option<String> {
    Some(match restriction {
        Restriction::Foreign { system_id } => {
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
        Restriction::AmbiguousName | Restriction::Partial => return None,
    })
}
