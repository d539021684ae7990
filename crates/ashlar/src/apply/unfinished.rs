//! Ending what an interrupted command began: done by the next one that names the group.
//!
//! A mark in the text says what was under way (see [`lvm2::plan::unfinished`]). The rest of it is a
//! change like any other, with the locks, the order and the flushes of any change, so that it may
//! be interrupted as well.

use std::collections::BTreeSet;

use lvm2::Uuid;
use lvm2::plan::{Author, unfinished};

use super::request::{Planned, Request, TestMode, Tolerated};
use crate::scan::{FoundVg, Presence, Scan};
use crate::{Error, Kind, Result};

/// A group that a command left half done.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// What is asked for to end it.
    pub(super) request: Request,
    group: Uuid,
}

/// The first group that `request` is about and that was left half done.
pub(super) fn find_unfinished(scan: &Scan, request: &Request) -> Result<Option<Unfinished>> {
    let names = request.groups.iter().chain(&request.new_group);
    let mut named: BTreeSet<Uuid> = BTreeSet::new();
    for name in names {
        let plain = name.strip_prefix("/dev/").unwrap_or(name);
        named.extend(scan.groups_named(plain).map(|group| group.uuid));
        named.extend(plain.parse::<Uuid>().ok());
    }
    let concerns = |group: &&FoundVg| {
        let mark = unfinished::split_from(&group.model);
        let is_named = |uuid: Uuid| named.contains(&uuid);
        unfinished::is_unfinished(&group.model)
            && (is_named(group.uuid) || mark.is_some_and(|mark| is_named(mark.group)))
    };
    let Some(group) = scan.groups.iter().find(concerns) else {
        return Ok(None);
    };
    if request.test == TestMode::On {
        let what = format!(
            "VG {} was left half changed by a command that was interrupted, and test mode changes \
             nothing; run the command without -t",
            group.name
        );
        return Err(Error::new(Kind::Refused, what));
    }
    let origin = origin(scan, group);
    require_all(group, origin)?;
    let mut groups = vec![reference(scan, group)];
    groups.extend(origin.map(|other| reference(scan, other)));
    let request = Request {
        groups,
        changes_pvs: true,
        tolerated: vec![
            Tolerated::Exported,
            Tolerated::Missing,
            Tolerated::UnknownSegments,
        ],
        ownership: request.ownership.clone(),
        command: request.command.clone(),
        ..Request::default()
    };
    Ok(Some(Unfinished {
        request,
        group: group.uuid,
    }))
}

impl Unfinished {
    /// What is left to be done.
    pub(super) fn plan(&self, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
        let gone = || {
            let what = "the group that was half changed is gone; run the command again";
            Error::new(Kind::NotFound, what)
        };
        let group = scan.group(self.group).ok_or_else(gone)?;
        if !unfinished::is_unfinished(&group.model) {
            // Somebody else was faster.
            return Ok(Planned::default());
        }
        let other = origin(scan, group).map(|other| &*other.model);
        Ok(Planned::from(unfinished::finish(
            &group.model,
            other,
            author,
        )?))
    }
}

/// The group from which it is being split off, where that is still there.
fn origin<'s>(scan: &'s Scan, group: &FoundVg) -> Option<&'s FoundVg> {
    unfinished::split_from(&group.model).and_then(|mark| scan.group(mark.group))
}

/// What is not there cannot be written to: the other text would come back with it.
fn require_all(group: &FoundVg, origin: Option<&FoundVg>) -> Result<()> {
    for found in [Some(group), origin].into_iter().flatten() {
        let mut missing = found.members.iter().filter(|member| {
            let is_taken = found.uuid != group.uuid
                && group.members.iter().any(|other| other.uuid == member.uuid);
            member.presence == Presence::Missing && !is_taken
        });
        if let Some(member) = missing.next() {
            let what = format!(
                "VG {} was left half changed by a command that was interrupted, and PV {} of VG {} \
                 is missing, so that it cannot be ended; name its device too",
                group.name, member.uuid, found.name
            );
            return Err(Error::new(Kind::Missing, what));
        }
    }
    Ok(())
}

/// How the group is named without doubt.
fn reference(scan: &Scan, group: &FoundVg) -> String {
    match scan.groups_named(&group.name).count() {
        1 => group.name.clone(),
        _ => group.uuid.to_string(),
    }
}
