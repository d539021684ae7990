//! `vgscan`: one line for each volume group.

use lvm2::model::VgFlag;

use super::Session;
use super::selected::{self, Groups};
use super::vgmknodes::make_names;
use crate::args::{Arguments, Command, Error, Example, flags};

/// `vgscan`
pub(super) const COMMAND: Command = Command {
    name: "vgscan",
    summary: "Search all disks for volume groups",
    operands: "",
    description: "Looks at every disk and names each volume group that was found. vgs says more.",
    flags: &[
        &[
            flags::MKNODES,
            flags::NOTIFY_DBUS,
            flags::CACHE,
            flags::PARTIAL,
            flags::READ_ONLY,
            flags::IGNORE_LOCKING_FAILURE,
            flags::REPORT_FORMAT,
        ],
        flags::COMMON,
    ],
    examples: &[Example {
        line: "vgscan",
        does: "names all volume groups",
    }],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.has(&flags::NOTIFY_DBUS) {
        // Nobody listens, and nothing else is asked for.
        return Ok(());
    }
    if arguments.has(&flags::MKNODES) {
        make_names(&[], session)?;
    }
    let view = session.view(arguments)?;
    for named in selected::groups(&view, arguments, Groups::Only, session)? {
        let group = named.group;
        let exported = if group.vg.flags.has(VgFlag::Exported) {
            "exported "
        } else {
            ""
        };
        let name = &group.vg.name;
        session.line(&format!(
            "Found {exported}volume group \"{name}\" using metadata type lvm2"
        ))?;
    }
    Ok(())
}
