//! `lvscan`: one line for each logical volume: its path, size and state.

use lvm2::model::{AllocationPolicy, LvId};

use super::Session;
use super::display::Values;
use super::selected::{self, Groups};
use crate::args::{Arguments, Command, Error, Example, flags};
use crate::output::fields::path_or_name;
use crate::output::{Group, State};

/// `lvscan`
pub(super) const COMMAND: Command = Command {
    name: "lvscan",
    summary: "List logical volumes, their sizes and whether they are active",
    operands: "",
    description: "One line for each logical volume: whether it is active, whether it is an origin \
        or a snapshot, its path, its size, and how new extents for it are chosen. lvs says more.",
    flags: &[
        &[
            flags::ALL,
            flags::BLOCK_DEVICE,
            flags::PARTIAL,
            flags::READ_ONLY,
            flags::IGNORE_LOCKING_FAILURE,
            flags::REPORT_FORMAT,
        ],
        flags::COMMON,
    ],
    examples: &[Example {
        line: "lvscan",
        does: "lists all volumes",
    }],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let values = Values::of(arguments, session)?;
    let view = session.live_view(arguments)?;
    for named in selected::groups(&view, arguments, Groups::WithVolumes, session)? {
        let group = named.group;
        for lv in named.volumes(arguments.has(&flags::ALL)) {
            session.line(&line(group, lv, &values))?;
        }
    }
    Ok(())
}

fn line(group: &Group, lv: LvId, values: &Values) -> String {
    let volume = group.vg.lv(lv);
    let kind = if group.relations.is_origin(lv) {
        "Original"
    } else if group.relations.is_cow(lv) {
        "Snapshot"
    } else {
        "        "
    };
    let state = match group.state(lv) {
        State::Inactive => "inactive",
        State::Unknown => "unknown ",
        State::Active(_) => "ACTIVE  ",
    };
    let path = path_or_name(group, lv);
    let size = values.size(group.lv_sectors(lv));
    let policy = volume.allocation.map_or("inherit", AllocationPolicy::name);
    format!("{state} {kind} '{path}' [{size}] {policy}")
}
