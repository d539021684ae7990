//! Whether a change of a group has to look at the disks again.
//!
//! ```text
//!   change:  look ─▸ plan ─▸ permit ─▸ locks, headers read again ─▸ suspend ─▸ publish ─▸ end
//!             one look, by whoever plans         what is known of the disks is enough, or is not
//! ```
//!
//! A plan is made from a look at the disks, and is carried out only if their headers, read again
//! under the commit locks, are what that look found. So where it found the members that this
//! process holds, where it holds them, of the size that they have, and in the version that is
//! known, another look would find nothing else, and what is known with the new version in it is
//! what there is afterwards. Whoever changes the group may have named other devices than this
//! process was given: what it found besides the members is not taken over.
//!
//! Everything else is looked at anew: members that came, went or moved; a commit of which nobody
//! knows how far it came; the second of two in one change; and whatever says who may use the group,
//! or has been said against it already.

use std::collections::BTreeSet;
use std::sync::Arc;

use lvm2::Uuid;
use lvm2::model::VolumeGroup;

use super::bench::Job;
use super::owner::Facts;
use crate::Result;
use crate::apply::Disks;
use crate::host::Location;
use crate::scan::{FoundVg, Scan};

/// Whether there is something to look for when a change is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// What is known is enough.
    Enough,
    /// The disks are looked at.
    Again,
}

impl Look {
    /// What two commits need together.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Enough, Self::Enough) => Self::Enough,
            _ => Self::Again,
        }
    }
}

impl Job<'_> {
    /// What the disks are for a change to `vg` that was planned from `planned`; and whether they
    /// are to be looked at afterwards.
    pub(super) fn look(
        &self,
        facts: &Facts,
        planned: Option<&Scan>,
        vg: &VolumeGroup,
    ) -> Result<(Arc<Scan>, Look)> {
        let fresh = || Ok((Arc::new(self.disks.scan(&self.host)?), Look::Again));
        assert_eq!(vg.uuid, facts.uuid, "it is our group that changes");
        let group = facts.group()?;
        let Some(planned) = planned.filter(|planned| {
            let found = planned.group(facts.uuid);
            found.is_some_and(|found| members(planned, found) == members(&facts.scan, group))
        }) else {
            return fresh();
        };
        let before: BTreeSet<Uuid> = group.model.pvs().map(|(_, pv)| pv.uuid).collect();
        let mut coming = vg.pvs().filter(|(_, pv)| !before.contains(&pv.uuid));
        if coming.next().is_some() {
            return fresh();
        }
        let judged = planned.group(facts.uuid).map(|found| &found.restrictions);
        let is_free = group.restrictions.is_empty() && judged.is_some_and(Vec::is_empty);
        let look = if is_free && is_about_volumes(&group.model, vg) {
            Look::Enough
        } else {
            Look::Again
        };
        Ok((Arc::clone(&facts.scan), look))
    }
}

/// A physical volume of a group: whether what it holds counts, where it is, and its size.
type Standing<'s> = (Uuid, bool, Option<(&'s Location, u64)>);

/// The version of a group that was found, and where.
fn members<'s>(scan: &'s Scan, group: &FoundVg) -> (u32, Vec<Standing<'s>>) {
    let members = group.members.iter().map(|member| {
        let place = member.presence.found().map(|pv| {
            let device = scan.device(scan.pv(pv).device);
            (&device.location, device.size.0)
        });
        (member.uuid, member.presence.usable().is_some(), place)
    });
    (group.seqno, members.collect())
}

/// Whether nothing but logical volumes differs that matters to who uses the group, or to what.
fn is_about_volumes(before: &VolumeGroup, after: &VolumeGroup) -> bool {
    let identity = |vg: &VolumeGroup| {
        let pvs = vg.pvs().map(|(_, pv)| (pv.uuid, pv.flags.clone()));
        (
            (vg.name.clone(), vg.uuid, vg.flags.clone()),
            (vg.system_id.clone(), vg.lock_type.clone()),
            (vg.extent_size, vg.is_writable()),
            pvs.collect::<Vec<_>>(),
        )
    };
    identity(before) == identity(after)
}

#[cfg(test)]
mod tests;
