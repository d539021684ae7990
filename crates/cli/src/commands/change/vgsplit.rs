//! `vgsplit` and `vgmerge`: one group becomes two, two become one.

use ashlar::apply::Request;
use lvm2::model::name::{NameOf, validate};
use lvm2::plan::group::{SplitInto, SplitOff, merge_groups, split_group};

use super::arguments::{ALLOC, CHANGE, METADATA_TYPE, POOL_SPARE, refuse};
use super::groups::{members, plain};
use super::run::run;
use super::vgcreate::{CLUSTERED, COPIES, MAX_LV, MAX_PV};
use super::work::{Work, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, Target, flags, split_target};

const NAME: Flag = Flag::value(
    "name",
    "LV",
    "Move the physical volumes that this volume stands on.",
)
.short('n');
const UNSUPPORTED: &[Flag] = &[MAX_LV, MAX_PV, ALLOC, COPIES, CLUSTERED];
const LIST: Flag = Flag::switch("list", "Accepted for scripts; see vgdisplay.").short('l');

/// `vgsplit`
pub(super) const SPLIT: Command = Command {
    name: "vgsplit",
    summary: "Move physical volumes into another volume group",
    operands: "VG VG [PV ...]",
    description: "Moves physical volumes, with the logical volumes on them, into a new group or \
        one that there is. No volume may stand on both sides. What a new group can have besides \
        its name, vgchange sets afterwards.",
    flags: &[
        &[NAME, METADATA_TYPE, POOL_SPARE],
        UNSUPPORTED,
        CHANGE,
        flags::COMMON,
    ],
    examples: &[Example {
        line: "vgsplit vg0 vg1 /dev/sdc",
        does: "moves a disk into a new group vg1",
    }],
    run,
};

/// `vgmerge`
pub(super) const MERGE: Command = Command {
    name: "vgmerge",
    summary: "Merge a volume group into another",
    operands: "VG VG",
    description: "Moves everything of the second group into the first.",
    flags: &[&[LIST, POOL_SPARE], CHANGE, flags::COMMON],
    examples: &[Example {
        line: "vgmerge vg0 vg1",
        does: "moves all of vg1 into vg0",
    }],
    run,
};

/// Splits.
pub(super) fn split(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    refuse(arguments, UNSUPPORTED)?;
    let [from, to, devices @ ..] = arguments.operands() else {
        return Err(Error::usage(
            "Existing VG, new VG and physical volumes required.",
        ));
    };
    let (from, to) = (plain(from), plain(to));
    let volume = arguments.value(&NAME).map(|name| match split_target(name) {
        Target::Lv(name) => name.lv,
        Target::Vg(name) | Target::Tag(name) => name,
    });
    match (&volume, devices) {
        (None, []) => {
            return Err(Error::usage(
                "Physical volumes, or -n and a volume, required.",
            ));
        }
        (Some(_), [_, ..]) => {
            return Err(Error::usage(
                "A volume and physical volumes cannot both be given.",
            ));
        }
        _ => {}
    }
    if from == to {
        return Err(Error::failed(format!(
            "Duplicate volume group name \"{from}\""
        )));
    }
    validate(to, NameOf::VolumeGroup).map_err(|error| {
        Error::usage(format!(
            "{error}\nNew volume group name \"{to}\" is invalid."
        ))
    })?;
    let mut request = Request {
        changes_pvs: true,
        ..work.request_of(&[from, to])
    };
    let exists = work.scan_for(&request)?.groups_named(to).next().is_some();
    if !exists {
        request.new_group = request.groups.pop();
    }
    let finder = work.finder();
    work.change(&request, |scan, author| {
        let found = scan.find_group(from)?;
        let pvs = members(scan, found, &finder, devices)?;
        let off = match &volume {
            Some(name) => SplitOff::Volume(name),
            None => SplitOff::Pvs(&pvs),
        };
        let into = if exists {
            SplitInto::Existing(&scan.find_group(to)?.model)
        } else {
            SplitInto::named(to)
        };
        planned(split_group(&found.model, into, off, author))
    })?;
    Ok(())
}

/// Merges.
pub(super) fn merge(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [to, others @ ..] = arguments.operands() else {
        return Err(Error::usage(
            "Please enter 2 or more volume groups to merge",
        ));
    };
    if others.is_empty() {
        return Err(Error::usage(
            "Please enter 2 or more volume groups to merge",
        ));
    }
    let to = plain(to);
    for from in others {
        let from = plain(from);
        if from == to {
            return Err(Error::failed(format!(
                "Duplicate volume group name \"{from}\""
            )));
        }
        let request = Request {
            changes_pvs: true,
            ..work.request_of(&[to, from])
        };
        work.change(&request, |scan, author| {
            let (to, from) = (scan.find_group(to)?, scan.find_group(from)?);
            planned(merge_groups(&to.model, &from.model, author))
        })?;
    }
    Ok(())
}
