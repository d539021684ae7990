//! What may be changed: the rules of `docs`, and of stock, in one place.
//!
//! The plans refuse what a group's own text forbids; here is what the machine knows besides: whose
//! the group is, what is missing, what the kernel has active.

use lvm2::Uuid;
use lvm2::plan::{Change, VolumeChange, require_known_segments};

use super::request::Tolerated;
use crate::host::Host;
use crate::scan::{FoundVg, Restriction, foreign};
use crate::{Error, Kind, Result};

/// When a restriction matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matters {
    /// Whatever is asked.
    Always,
    /// Where the metadata is written, and not before: what else is wrong with a request is said
    /// first.
    ForWriting,
}

impl Matters {
    fn of(restriction: &Restriction) -> Self {
        match restriction {
            Restriction::DuplicatePvs | Restriction::Disagreement => Self::ForWriting,
            _ => Self::Always,
        }
    }
}

/// Fails where `group` may not be changed, whatever is asked.
///
/// # Errors
///
/// `Missing` where devices are, `Refused`.
pub fn permit(group: &FoundVg, tolerated: &[Tolerated]) -> Result<()> {
    refuse_first(group, Matters::Always, tolerated)?;
    if !tolerated.contains(&Tolerated::UnknownSegments) {
        require_known_segments(&group.model)?;
    }
    Ok(())
}

/// Fails where the metadata of `group` may not be written as it is found.
pub(super) fn permit_write(group: &FoundVg, tolerated: &[Tolerated]) -> Result<()> {
    refuse_first(group, Matters::ForWriting, tolerated)
}

/// Fails with the first restriction of a group that matters then and is not tolerated.
fn refuse_first(group: &FoundVg, when: Matters, tolerated: &[Tolerated]) -> Result<()> {
    for restriction in &group.restrictions {
        if Matters::of(restriction) != when || tolerates(tolerated, restriction) {
            continue;
        }
        let kind = match restriction {
            Restriction::Partial => Kind::Missing,
            _ => Kind::Refused,
        };
        return Err(Error::new(kind, sentence(&group.name, restriction)));
    }
    Ok(())
}

fn tolerates(tolerated: &[Tolerated], restriction: &Restriction) -> bool {
    if *restriction == Restriction::Partial && tolerated.contains(&Tolerated::Absent) {
        return true;
    }
    let needed = match restriction {
        Restriction::Partial => Tolerated::Missing,
        Restriction::Exported => Tolerated::Exported,
        Restriction::ReadOnly => Tolerated::ReadOnly,
        Restriction::Disagreement => Tolerated::Disagreement,
        Restriction::Unsound(_) => Tolerated::Unsound,
        // Who got so far has named one of them by its UUID, or means this machine's own.
        // Of one with a clone's VGID the members alone are opened and written.
        Restriction::AmbiguousName | Restriction::DuplicateVgid => return true,
        Restriction::Foreign { .. }
        | Restriction::Shared { .. }
        | Restriction::Clustered
        | Restriction::DuplicatePvs => return false,
    };
    tolerated.contains(&needed)
}

fn sentence(name: &str, restriction: &Restriction) -> String {
    match restriction {
        Restriction::Foreign { system_id, own } => format!(
            "{}: it belongs to that host; local/extra_system_ids takes it over",
            foreign(name, system_id, own.as_deref())
        ),
        Restriction::Shared { lock_type } => format!(
            "Cannot access VG {name} with lock type {lock_type} that requires lvmlockd: change it \
             on a host that runs the lock manager"
        ),
        Restriction::Clustered => format!(
            "Cannot access clustered VG {name}.\nSee lvmlockd(8) for changing a clvm/clustered VG \
             to a shared VG."
        ),
        Restriction::Exported => {
            format!("Volume group {name} is exported; vgimport takes it in")
        }
        Restriction::ReadOnly => {
            format!("Volume group {name} is read-only by the permission in its metadata")
        }
        Restriction::Unsound(problem) => format!(
            "Volume group {name} is damaged and is not changed: {problem}; see vgck {name}, and \
             undo or vgcfgrestore for an older version"
        ),
        Restriction::Disagreement => format!(
            "Volume group {name} is not changed: its areas hold different texts with the same \
             sequence number; vgck --updatemetadata {name} makes one of them count"
        ),
        Restriction::DuplicateVgid => {
            format!("Another volume group has the VGID of {name}; see vgchange --uuid")
        }
        Restriction::AmbiguousName => {
            format!("More than one volume group has the name {name}; rename one by its UUID")
        }
        Restriction::Partial => format!(
            "Cannot change VG {name} while PVs are missing.\nSee vgreduce --removemissing and \
             vgextend --restoremissing; plan vgreduce --removemissing --force {name} shows what \
             would be lost."
        ),
        Restriction::DuplicatePvs => format!(
            "Cannot update volume group {name} with duplicate PV devices: leave out the device \
             that is the copy"
        ),
    }
}

/// Fails where the change touches volumes that the kernel has active.
pub(super) fn permit_active(group: &str, uuid: Uuid, change: &Change, host: &Host) -> Result<()> {
    if change.volumes.is_empty() {
        return Ok(());
    }
    let active = host.sysfs.kernel_lvs();
    for volume in &change.volumes {
        let (lv, name) = match volume {
            VolumeChange::Activate { .. } => continue,
            VolumeChange::Deactivate { lv, name } | VolumeChange::Reload { lv, name } => (lv, name),
            VolumeChange::Rename { lv, from, .. } => (lv, from),
        };
        let held = active
            .iter()
            .find(|active| active.group == uuid && active.volume == *lv);
        if let Some(active) = held {
            let what = format!(
                "Logical volume {group}/{name} in use: the kernel has it active as {}; deactivate \
                 it with lvchange -an of the program that activated it",
                active.kernel_name
            );
            return Err(Error::new(Kind::Refused, what));
        }
    }
    Ok(())
}
