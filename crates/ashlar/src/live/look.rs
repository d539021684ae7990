//! Which disks a change of a group has to look at again.
//!
//! ```text
//!   change:  look ─▸ plan ─▸ permit ─▸ locks, headers read again ─▸ suspend ─▸ publish ─▸ end
//!            all disks, once,                                  those that       those that
//!            by whoever plans                                  come             were written
//! ```
//!
//! A plan is made from a look at the disks, and is carried out only if their headers, read again
//! under the commit locks, are what that look found. So where it found the members that this
//! process holds, where it holds them, of the size that they have, and in the version that is
//! known, another look would find nothing else, and what is known with the new version in it is
//! what there is afterwards. That is enough for a change of volumes. Whoever changes the group may
//! have named other devices than this process was given: what it found besides the members is not
//! taken over.
//!
//! A change of members, or of who may use the group, needs to know more: labels and sizes as they
//! are now, and a judgement of them. What it may have changed is what it opened to write: the
//! members, whose areas all have the new text, and those that come and go. These are looked at
//! again, before the tables are made only those that are no members yet, or all of them where the
//! change has committed once before. Of the others is believed what the plan was made from, where
//! this process was given them, too. What is not believed is what was known before the change:
//! another group may have left a disk since, and a text from back then would claim it.
//!
//! All disks are looked at anew where this says too little: members that vanished or moved; a
//! commit of which nobody knows how far it came, or that is not found; what could not be held; and
//! what has been said against the group already, unless it is that members are missing.

use std::collections::BTreeSet;
use std::sync::Arc;

use lvm2::Uuid;
use lvm2::model::VolumeGroup;

use super::bench::Job;
use super::owner::Facts;
use crate::Result;
use crate::apply::Disks;
use crate::host::{Location, Place};
use crate::scan::{FoundVg, Restriction, Scan};

/// What there is to look at when a change is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    /// Nothing: what is known is enough.
    Enough,
    /// The disks that the change may have written.
    Written,
    /// All of them.
    All,
}

/// What a change was planned from.
pub(super) struct Basis {
    scan: Scan,
    /// Where the disks are that it has opened to write.
    pub(super) written: Vec<Place>,
}

impl Basis {
    /// That of a change of which nothing was opened yet.
    pub(super) fn new(scan: &Scan) -> Self {
        Self {
            scan: scan.clone(),
            written: Vec::new(),
        }
    }

    /// Where the disks are that it may write, and that are no members of the group with this UUID.
    fn strangers(&self, group: Uuid) -> Vec<&Place> {
        let group = self.scan.group(group);
        let members = group.into_iter().flat_map(|group| &group.members);
        let places = members.filter_map(|member| {
            let pv = self.scan.pv(member.presence.found()?);
            Some(&self.scan.device(pv.device).location.place)
        });
        let places: Vec<&Place> = places.collect();
        let written = self.written.iter();
        written.filter(|place| !places.contains(place)).collect()
    }
}

impl Job<'_> {
    /// What the disks are for a change to `vg` with this `basis`; and what is to be looked at
    /// afterwards.
    pub(super) fn look(
        &self,
        facts: &Facts,
        basis: Option<&Basis>,
        vg: &VolumeGroup,
    ) -> Result<(Arc<Scan>, Look)> {
        let all = || Ok((Arc::new(self.disks.scan(&self.host)?), Look::All));
        assert_eq!(vg.uuid, facts.uuid, "it is our group that changes");
        let group = facts.group()?;
        let Some(basis) = basis else {
            return all();
        };
        let later;
        let mut planned = &basis.scan;
        if planned
            .group(facts.uuid)
            .is_some_and(|found| found.seqno < group.seqno)
        {
            // There was a commit of the same change.
            later = self.look_again(basis)?;
            planned = &later;
        }
        let Some(found) = planned.group(facts.uuid) else {
            return all();
        };
        let (known, standing) = (members(&facts.scan, group), members(planned, found));
        if !has_all(&standing, &known) {
            return all();
        }
        let said = || group.restrictions.iter().chain(&found.restrictions);
        let after = if said().any(|said| *said != Restriction::Partial) {
            Look::All
        } else if said().next().is_some() || !is_about_volumes(&group.model, vg) {
            Look::Written
        } else {
            Look::Enough
        };
        let before: BTreeSet<Uuid> = group.model.pvs().map(|(_, pv)| pv.uuid).collect();
        let comes = vg.pvs().any(|(_, pv)| !before.contains(&pv.uuid));
        if standing == known && !comes {
            return Ok((Arc::clone(&facts.scan), after));
        }
        if after == Look::All {
            return all();
        }
        let coming = basis.strangers(facts.uuid);
        let scan = self.disks.scan_again(&self.host, planned, &coming)?;
        Ok((Arc::new(scan), Look::Written))
    }

    /// What the disks are after a commit of a change with this `basis`, if nobody else wrote.
    fn look_again(&self, basis: &Basis) -> Result<Scan> {
        let written: Vec<&Place> = basis.written.iter().collect();
        self.disks.scan_again(&self.host, &basis.scan, &written)
    }

    /// Looks at what a change with this `basis` has written, or at all disks, and holds what
    /// belongs to the group now.
    pub(super) fn refresh_after(&mut self, basis: Option<&Basis>) -> Result<()> {
        let Some(basis) = basis else {
            return self.refresh();
        };
        let scan = self.look_again(basis)?;
        let facts = self.facts();
        let is_found = facts.group().is_ok_and(|group| {
            let found = scan.group(facts.uuid);
            let known = members(&facts.scan, group);
            found.is_some_and(|found| has_all(&members(&scan, found), &known))
        });
        // Where it is not what was committed, somebody else had a hand in it.
        if is_found {
            self.settle(scan)
        } else {
            self.refresh()
        }
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

/// Whether the group is of the version that is known, and each member is where it is known to be,
/// and counts if it did. What was not known to be there may be.
fn has_all(found: &(u32, Vec<Standing<'_>>), known: &(u32, Vec<Standing<'_>>)) -> bool {
    let is_same = |(found, known): (&Standing<'_>, &Standing<'_>)| {
        let at = |place: &Location| found.2.is_some_and(|(found, _)| found == place);
        let is_there = known.2.is_none_or(|(place, _)| at(place));
        found.0 == known.0 && (found.1 || !known.1) && is_there
    };
    let (now, before) = (&found.1, &known.1);
    found.0 == known.0 && now.len() == before.len() && now.iter().zip(before).all(is_same)
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
