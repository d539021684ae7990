//! `vgsplit` and `vgmerge`: one group becomes two, two become one.

use ashlar::apply::{Request, area_states, permit};
use ashlar::scan::Scan;
use lvm2::model::VolumeGroup;
use lvm2::model::name::wrongness;
use lvm2::plan::group::{NewGroupSettings, SplitInto, SplitOff, merge_groups, split_group};

use super::arguments::{ALLOC, CHANGE, METADATA_TYPE, POOL_SPARE, number};
use super::groups::{members, plain, require_free_path};
use super::run::run;
use super::vgcreate::{COPIES, MAX_LV, MAX_PV, allocation, copies};
use super::work::{Work, failed, missing, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, Kind, Target, flags, split_target};

const NAME: Flag = Flag::value(
    "name",
    "LV",
    "Move the physical volumes that this volume stands on.",
)
.short('n');
/// What a new group can have besides its name.
const NEW_GROUP: &[Flag] = &[MAX_LV, MAX_PV, ALLOC, COPIES];
const LIST: Flag = Flag::switch("list", "Accepted for scripts; see vgdisplay.").short('l');

/// `vgsplit`
pub(super) const SPLIT: Command = Command {
    name: "vgsplit",
    summary: "Move physical volumes into another volume group",
    operands: "VG VG [PV ...]",
    description: "Moves physical volumes, with the logical volumes on them, into a new group or \
        one that there is. No volume may stand on both sides. What else is asked for is of a new \
        group.",
    flags: &[
        &[NAME, METADATA_TYPE, POOL_SPARE],
        NEW_GROUP,
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
    let [from, to, devices @ ..] = arguments.operands() else {
        let what = "Existing VG, new VG and physical volumes required.";
        return Err(Error::lacking(arguments.command(), what));
    };
    let (from, to) = (plain(from), plain(to));
    let volume = arguments.value(&NAME);
    let asked = NewGroupSettings {
        max_lv: number(arguments, &MAX_LV)?,
        max_pv: number(arguments, &MAX_PV)?,
        allocation: allocation(arguments)?,
        copies: copies(arguments)?,
    };
    if from == to {
        return Err(Error::failed(format!(
            "Duplicate volume group name \"{from}\""
        )));
    }
    if wrongness(to).is_some() {
        work.scan()?;
        work.look_into_no_group();
        return Err(Error::failed(format!("Invalid vg name {to}.")));
    }
    let mut request = Request {
        changes_pvs: true,
        ..work.request_of(&[from, to])
    };
    let scan = work.scan_for(&request)?;
    let exists = scan.groups_named(to).next().is_some();
    // As in stock, the other group comes first, where it is known which one that is.
    let is_known = scan.groups_named(to).count() == 1;
    let names = if is_known { [to, from] } else { [from, to] };
    require_read(&scan, &names[..=usize::from(exists)], to)?;
    if arguments.value(&ALLOC) == Some("inherit") {
        let what = "Volume Group allocation policy cannot inherit from anything";
        return Err(Error::usage(what));
    }
    if !exists {
        require_free_path(to, work).map_err(Error::usage)?;
        request.new_group = request.groups.pop();
    } else if NEW_GROUP.iter().any(|flag| arguments.has(flag)) {
        return Err(Error::failed(format!(
            "Volume group \"{to}\" exists, but new VG option specified"
        )));
    }
    let finder = work.finder();
    work.change(&request, |scan, author| {
        let found = scan.find_group(from)?;
        let pvs = members(scan, found, &finder, devices)?;
        let off = match volume {
            Some(word) => SplitOff::Volume(volume_of(&found.model, word)?),
            None => SplitOff::Pvs(&pvs),
        };
        let mut areas = area_states(scan, found);
        let into = if exists {
            let other = scan.find_group(to)?;
            areas.extend(area_states(scan, other));
            SplitInto::Existing(&other.model)
        } else {
            SplitInto::New(to, asked)
        };
        planned(split_group(&found.model, into, off, &areas, author))
    })?;
    Ok(())
}

/// The name of the volume that a word means, in whichever group it says that it is.
fn volume_of<'m>(group: &'m VolumeGroup, word: &str) -> ashlar::Result<&'m str> {
    let name = match split_target(word) {
        Target::Lv(name) => name.lv,
        Target::Vg(name) | Target::Tag(name) => name,
    };
    let found = group.lv_by_name(&name).map(|id| group.lv(id).name());
    found.ok_or_else(|| {
        let what = format!("Logical volume {word} not in volume group {}", group.name);
        ashlar::Error::new(ashlar::Kind::NotFound, what)
    })
}

/// Fails where one of the groups cannot be changed, in the words for the one that is split off.
fn require_read(scan: &Scan, names: &[&str], to: &str) -> Result<(), Error> {
    for name in names {
        let found = scan.find_group(name).map_err(|error| missing(name, &error));
        let usable = found.and_then(|found| permit(found, &[]).map_err(|error| failed(&error)));
        usable.map_err(|error| unread(error, Some(to)))?;
    }
    Ok(())
}

/// A failure without stock's second sentence about a group, which these commands do not say;
/// vgsplit has one about the other group instead.
fn unread(error: Error, to: Option<&str>) -> Error {
    if error.kind() != Kind::Failed {
        return error;
    }
    let text = error.to_string();
    let is_other = |line: &&str| !line.starts_with("Cannot process volume group");
    let mut lines: Vec<&str> = text.lines().filter(is_other).collect();
    let other = to.map(|to| format!("Failed to read VG {to}."));
    lines.extend(other.as_deref());
    Error::failed(lines.join("\n"))
}

/// Merges.
pub(super) fn merge(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [to, others @ ..] = arguments.operands() else {
        let what = "Please enter 2 or more volume groups to merge";
        return Err(Error::lacking(arguments.command(), what));
    };
    if others.is_empty() {
        let what = "Please enter 2 or more volume groups to merge";
        return Err(Error::lacking(arguments.command(), what));
    }
    let to = plain(to);
    for from in others {
        let from = plain(from);
        if from == to {
            return Err(Error::failed(format!(
                "Duplicate volume group name \"{from}\""
            )));
        }
        // As in stock, they are looked at in the order of their names.
        let names = [to.min(from), to.max(from)];
        let request = Request {
            changes_pvs: true,
            ..work.request_of(&names)
        };
        if work.scan()?.groups_named(names[0]).next().is_none() {
            work.look_into_no_group();
        }
        work.change(&request, |scan, author| {
            let (to, from) = (scan.find_group(to)?, scan.find_group(from)?);
            planned(merge_groups(&to.model, &from.model, author))
        })
        .map_err(|error| unread(error, None))?;
    }
    Ok(())
}
