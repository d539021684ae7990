//! `vgextend`: more physical volumes for a group.

use ashlar::apply::{Planned, Request, Tolerated, area_states};
use lvm2::plan::group::{extend_group, restore_missing};

use super::arguments::{CHANGE, FORCE, NEW_PV, new_pv};
use super::groups::{members, plain};
use super::run::run;
use super::vgcreate::joining;
use super::work::{Lists, Work, planned};
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
    if arguments.has(&RESTORE_MISSING) {
        let request = Request {
            tolerated: vec![Tolerated::Missing],
            ..work.request_of(&[group])
        };
        work.change(&request, |scan, author| {
            let found = scan.find_group(group)?;
            let pvs = members(scan, found, &finder, devices)?;
            planned(restore_missing(&found.model, &pvs, author))
        })?;
        return Ok(());
    }
    let new_pv = new_pv(arguments, work)?;
    work.keep_devices_file(Lists::More)?;
    let force = arguments.count(&FORCE);
    let request = Request {
        changes_pvs: true,
        tolerated: vec![Tolerated::Absent],
        ..work.request_of(&[group])
    };
    work.change(&request, |scan, author| {
        let found = scan.find_group(group)?;
        let joining = joining(scan, &finder, devices, (&new_pv, force), author)?;
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
