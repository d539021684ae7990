//! Physical volumes that a group has gone on without, and that are back with an older version.
//!
//! What they hold may be all that is left of something: no change touches it. Two commands are
//! asked for by name to clear it, as in stock: `vgck --updatemetadata`, which makes them free, and
//! `vgremove`, after which the old version would be a group again. A change that gives the group
//! another identity has to come after that, for the same reason.

use lvm2::ondisk::PvUse;
use lvm2::plan::{Change, GroupChange, HeaderChange, HeaderEdit, Message, When};

use super::request::Planned;
use crate::scan::{Duplicate, FoundPv, FoundVg, Scan};
use crate::{Error, Kind, Result};

/// The plan, with the outdated physical volumes of `group` cleared and free afterwards.
pub fn clearing_outdated(scan: &Scan, group: &FoundVg, mut planned: Planned) -> Planned {
    for pv in outdated(scan, group) {
        let name = &scan.device(pv.device).name;
        let change = &mut planned.change;
        // Before its areas are cleared: a cut in between leaves an outdated one that is not used.
        change.headers.push(HeaderChange {
            pv: pv.uuid,
            when: When::BeforeCommit,
            edit: HeaderEdit::Usage(PvUse::Free),
        });
        change.released.push(pv.uuid);
        let text = format!("wiping mda on outdated PV {name}");
        change.messages.push(Message::warning(text));
    }
    planned
}

/// Fails where a group is to be known by another UUID while older versions under the present one
/// are about.
pub(super) fn require_none(scan: &Scan, groups: &[&FoundVg], change: &Change) -> Result<()> {
    let commits = change.groups.iter().filter_map(|group| match group {
        GroupChange::Commit(vg) => Some(vg.uuid),
        GroupChange::Erase(_) => None,
    });
    let kept: Vec<_> = commits.collect();
    if kept.is_empty() {
        return Ok(());
    }
    for group in groups.iter().filter(|group| !kept.contains(&group.uuid)) {
        if let Some(pv) = outdated(scan, group).next() {
            let what = format!(
                "Physical volume {} holds an older version of volume group {}, which would become \
                 a group of its own; vgck --updatemetadata {} clears it, or leave its device out",
                scan.device(pv.device).name,
                group.name,
                group.name
            );
            return Err(Error::new(Kind::Refused, what));
        }
    }
    Ok(())
}

fn outdated<'s>(scan: &'s Scan, group: &FoundVg) -> impl Iterator<Item = &'s FoundPv> + use<'s> {
    let uuid = group.uuid;
    // Of two groups with one UUID it is not known whose it is.
    let is_alone = scan.groups_of_uuid(uuid).count() == 1;
    let pvs = scan.physical_volumes.iter();
    pvs.filter(move |pv| {
        is_alone && pv.outdated == Some(uuid) && pv.duplicate != Duplicate::Unchosen
    })
}
