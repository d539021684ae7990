//! `vgextend`: more physical volumes for a group.

use std::collections::BTreeSet;

use ashlar::apply::{Planned, Request, Tolerated, area_states};
use ashlar::scan::{FoundVg, Scan};
use lvm2::model::PvFlag;
use lvm2::plan::group::{extend_group, restore_missing};
use lvm2::plan::{Author, Message};

use super::arguments::{CHANGE, FORCE, NEW_PV, new_pv};
use super::finder::Finder;
use super::groups::plain;
use super::run::run;
use super::vgcreate::{joining, mixes_blocks, require_joinable};
use super::work::{Lists, Work, failed, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const RESTORE_MISSING: Flag = Flag::switch(
    "restoremissing",
    "Take physical volumes back that were missing and are there again, if their content is known \
     to be good.",
);

/// `vgextend`
pub(super) const COMMAND: Command = Command {
    name: "vgextend",
    summary: "Add physical volumes to a volume group",
    operands: "VG PV ...",
    description: "Adds devices to a group. Those that are no physical volumes become some first, \
        as pvcreate would make them.",
    flags: &[&[RESTORE_MISSING], NEW_PV, CHANGE, flags::COMMON],
    examples: &[Example {
        line: "vgextend vg0 /dev/sdd",
        does: "adds a disk to the group",
    }],
    run,
};

/// Adds them with one commit.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [group, devices @ ..] = arguments.operands() else {
        let what = "Please enter volume group name and physical volume(s)";
        return Err(Error::lacking(arguments.command(), what));
    };
    if devices.is_empty() {
        let what = "Please enter physical volume(s)";
        return Err(Error::lacking(arguments.command(), what));
    }
    let group = plain(group);
    let finder = work.finder();
    let new_pv = new_pv(arguments, work)?;
    if arguments.has(&RESTORE_MISSING) {
        let request = Request {
            tolerated: vec![Tolerated::Missing],
            ..work.request_of(&[group])
        };
        work.change(&request, |scan, author| {
            let found = scan.find_group(group)?;
            restored(scan, found, &finder, devices, author)
        })?;
        return Ok(());
    }
    work.keep_devices_file(Lists::More)?;
    // What belongs to a group is not taken, however often that is said.
    let force = arguments.count(&FORCE).min(1);
    let request = Request {
        changes_pvs: true,
        tolerated: vec![Tolerated::Absent],
        ..work.request_of(&[group])
    };
    let mixes_blocks = mixes_blocks(work);
    // What is wrong with a device is said before anything of the group.
    let joinable = require_joinable(&*work.scan()?, &finder, devices, (&new_pv, force));
    joinable.map_err(|error| {
        work.look_into_no_group();
        failed(&error)
    })?;
    work.change(&request, |scan, author| {
        let found = scan.find_group(group)?;
        let joining = joining(scan, &finder, devices, (&new_pv, force), author)?;
        if !mixes_blocks {
            joining.require_equal_blocks(scan, Some(found))?;
        }
        let areas = area_states(scan, found);
        let change = extend_group(&found.model, &joining.members, &areas, author);
        Ok(Planned {
            questions: joining.questions,
            new: joining.new,
            listed: joining.listed,
            ..planned(change)?
        })
    })?;
    Ok(())
}

/// Takes back those of the devices that were missing; what is wrong with the others is said.
fn restored(
    scan: &Scan,
    found: &FoundVg,
    finder: &Finder,
    devices: &[String],
    author: &mut Author<'_>,
) -> ashlar::Result<Planned> {
    let (vg, mut pvs, mut others) = (&found.model, BTreeSet::new(), Vec::new());
    for name in devices {
        match finder.member(scan, found, name) {
            Some(pv) if vg.pv(pv).flags.has(PvFlag::Missing) => drop(pvs.insert(pv)),
            Some(_) => others.push(format!("PV {name} was not missing in VG {}", vg.name)),
            None => others.push(format!("PV {name} not found in VG {}", vg.name)),
        }
    }
    if pvs.is_empty() {
        let warnings = others.iter().map(|why| format!("WARNING: {why}\n"));
        let what = format!("{}No PV has been restored.", warnings.collect::<String>());
        return Err(ashlar::Error::new(ashlar::Kind::Request, what));
    }
    let mut restored = planned(restore_missing(vg, &pvs, author))?;
    let warnings = others.iter().map(Message::warning);
    restored.change.messages.splice(0..0, warnings);
    Ok(restored)
}
