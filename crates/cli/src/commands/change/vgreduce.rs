//! `vgreduce`: fewer physical volumes for a group.

use std::collections::BTreeSet;

use ashlar::activate::current_images;
use ashlar::apply::{Planned, Request, Tolerated, area_states};
use ashlar::scan::{FoundVg, Restriction, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::model::{PvFlag, PvId};
use lvm2::plan::group::{PartialVolumes, reduce_group, remove_missing, still_partial};
use lvm2::plan::logical::ImageStates;

use super::arguments::{CHANGE, FORCE};
use super::finder::Finder;
use super::groups::{changeable_group, others, plain};
use super::lvconvert::{USE_OUTDATED, image_name, with_consent};
use super::pvresize::{changeable, is_unchosen, skipped_cluster};
use super::run::run;
use super::work::{Work, not_processed, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const ALL: Flag = Flag::switch(
    "all",
    "Remove every physical volume on which nothing stands.",
)
.short('a');
const REMOVE_MISSING: Flag = Flag::switch(
    "removemissing",
    "Remove the physical volumes that are missing and that nothing stands on. With --force also \
     the others: mirrors and RAID volumes go on without the images that stood there, all other \
     volumes that lost extents are removed. plan vgreduce shows which.",
);
const MIRRORS_ONLY: Flag = Flag::switch(
    "mirrorsonly",
    "With --removemissing --force: only let mirrors and RAID volumes go on without lost images; \
     remove no volume.",
);

/// `vgreduce`
pub(super) const COMMAND: Command = Command {
    name: "vgreduce",
    summary: "Remove physical volumes from a volume group",
    operands: "VG [PV ...]",
    description: "Takes physical volumes out of a group on which nothing stands. What \
        lies on a disk leaves it with pvmove PV, while it is used. Each is removed with a commit \
        of its own.",
    flags: &[
        &[ALL, REMOVE_MISSING, MIRRORS_ONLY, FORCE, USE_OUTDATED],
        CHANGE,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "vgreduce vg0 /dev/sdd",
            does: "takes a disk out of the group",
        },
        Example {
            line: "vgreduce --removemissing vg0",
            does: "goes on without lost disks on which nothing stood",
        },
        Example {
            line: "plan vgreduce --removemissing --force vg0",
            does: "shows what would be lost with the others",
        },
    ],
    run,
};

/// Removes them.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [group, devices @ ..] = arguments.operands() else {
        let what = "Please give volume group name and physical volume paths.";
        return Err(Error::lacking(arguments.command(), what));
    };
    let group = plain(group);
    if arguments.has(&REMOVE_MISSING) {
        return missing(arguments, group, work);
    }
    if devices.iter().any(|name| name == "@") {
        return Err(Error::usage("Skipping invalid tag ."));
    }
    let finder = work.finder();
    let scan = work.scan()?;
    let mut devices = there(&finder, &scan, devices, work);
    let found = scan.find_group(group).ok().filter(|_| arguments.has(&ALL));
    if let Some(why) = found.and_then(|found| others(found).or_else(|| skipped(found))) {
        if !why.is_empty() {
            work.error(&why);
        }
        return Ok(());
    }
    if let Err(why) = require_one(&scan, group) {
        if !why.is_empty() {
            work.fail_later(&why);
        }
        for name in &devices {
            work.fail_later(&out_of(group, name, &scan, &finder));
        }
        return Ok(());
    }
    if arguments.has(&ALL) {
        devices = all_devices(group, work)?;
    }
    let request = Request {
        changes_pvs: true,
        ..work.request_of(&[group])
    };
    for name in &devices {
        let scan = work.scan()?;
        let is_member = scan
            .find_group(group)
            .is_ok_and(|found| finder.member(&scan, found, name).is_some());
        if !is_member {
            work.fail_later(&out_of(group, name, &scan, &finder));
            continue;
        }
        let changed = work.change(&request, |scan, author| {
            let found = scan.find_group(group)?;
            let pv = finder.member(scan, found, name).ok_or_else(|| {
                let what = format!("Failed to find physical volume \"{name}\".");
                Failure::new(Kind::NotFound, what)
            })?;
            let areas = area_states(scan, found);
            planned(reduce_group(&found.model, &[pv], &areas, author))
        });
        if let Err(error) = changed {
            work.fail_later(&error.to_string());
        }
    }
    Ok(())
}

/// The devices that are there, those of tags too; the others are told.
fn there(finder: &Finder, scan: &Scan, names: &[String], work: &mut Work<'_>) -> Vec<String> {
    let mut devices = finder.tagged(scan, names);
    devices.retain(|name| {
        if finder.device(scan, name).is_err() {
            work.fail_later(&finder.lack(scan, name));
            return false;
        }
        // Of a copy that is not used it is only said that it is one.
        !finder.pv(scan, name).is_ok_and(|pv| is_unchosen(scan, pv))
    });
    devices
}

/// Fails where a group is not there or cannot be changed; of several of its name stock finds none.
fn require_one(scan: &Scan, group: &str) -> Result<(), String> {
    let found = scan.find_group(group);
    if matches!(&found, Err(error) if error.kind() == Kind::Ambiguous) {
        let second = not_processed(group);
        return Err(format!("Volume group \"{group}\" not found\n{second}"));
    }
    let changeable = changeable_group(scan, group, &[]);
    let skipped = found.ok().and_then(skipped);
    changeable
        .map(drop)
        .map_err(|why| skipped.unwrap_or_else(|| why.to_string()))
}

/// What is said of a group that stock goes by, which may be nothing.
fn skipped(found: &FoundVg) -> Option<String> {
    let mut restrictions = found.restrictions.iter();
    restrictions.find_map(|restriction| match restriction {
        Restriction::Clustered => Some(skipped_cluster(&found.name)),
        Restriction::Exported => Some(String::new()),
        _ => None,
    })
}

/// Why a device is not taken out of a group.
fn out_of(group: &str, name: &str, scan: &Scan, finder: &Finder) -> String {
    let pv = finder.pv(scan, name).ok();
    let own = pv.and_then(|pv| scan.group_of(scan.pv(pv)));
    let is_own = own.is_some_and(|own| own.name == group);
    match changeable(scan, finder, name) {
        Err(why) if is_own || pv.is_none() => why,
        _ => format!("Failed to find physical volume \"{name}\"."),
    }
}

/// The devices that `-a` means: those that are in use are refused one by one.
fn all_devices(group: &str, work: &Work<'_>) -> Result<Vec<String>, Error> {
    let scan = work.scan()?;
    let found = scan
        .find_group(group)
        .map_err(|error| super::work::failed(&error))?;
    let device = |(pv, _)| {
        let index = found.member(pv)?.presence.found()?;
        Some(scan.device(scan.pv(index).device).name.clone())
    };
    Ok(found.model.pvs().filter_map(device).collect())
}

fn missing(arguments: &Arguments, group: &str, work: &mut Work<'_>) -> Result<(), Error> {
    let partial = match (arguments.has(&FORCE), arguments.has(&MIRRORS_ONLY)) {
        (false, _) => PartialVolumes::Keep,
        (true, true) => PartialVolumes::Reduce,
        (true, false) => PartialVolumes::Remove,
    };
    let outdated: Vec<String> = arguments.values(&USE_OUTDATED).map(image_name).collect();
    if !outdated.is_empty() && partial == PartialVolumes::Keep {
        return Err(Error::usage(
            "--useoutdated changes a mirror for good: it needs --force.",
        ));
    }
    let request = Request {
        tolerated: vec![Tolerated::Missing],
        changes_pvs: true,
        ..work.request_of(&[group])
    };
    let host = work.host().clone();
    let mut is_consistent = false;
    let made = work.change(&request, |scan, author| {
        let found = scan.find_group(group)?;
        let gone = gone(found);
        let is_flagged = |found: &FoundVg| {
            let mut pvs = found.model.pvs();
            pvs.any(|(_, pv)| pv.flags.has(PvFlag::Missing))
        };
        if gone.is_empty() && !is_flagged(found) {
            is_consistent = true;
            return Ok(Planned::default());
        }
        let areas = area_states(scan, found);
        let states = ImageStates {
            current: current_images(scan, &host, found),
            outdated: outdated.clone(),
        };
        let vg = &found.model;
        let change = remove_missing(vg, &gone, partial, &states, &areas, author);
        planned(change).map(|planned| with_consent(planned, &found.name, &outdated))
    })?;
    if is_consistent {
        work.note(&format!("Volume group \"{group}\" is already consistent."));
    }
    let left = made.and_then(|made| made.groups.first().and_then(still_partial));
    match left {
        Some(text) if partial == PartialVolumes::Keep => work.fail_later(&text),
        Some(text) => work.warn(&text),
        None => {}
    }
    Ok(())
}

fn gone(found: &FoundVg) -> BTreeSet<PvId> {
    let gone = found
        .members
        .iter()
        .filter(|member| member.presence.usable().is_none());
    gone.map(|member| member.id).collect()
}
