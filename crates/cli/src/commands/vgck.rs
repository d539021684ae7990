//! `vgck`: whether the metadata of volume groups is in order.

use lvm2::model::{Severity, VgFlag, check};

use super::Session;
use super::change::vgck::KEEP;
use super::selected::{self, Groups};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `vgck`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "vgck",
    summary: "Check the metadata of volume groups",
    operands: "[VG|@TAG ...]",
    description: "Says nothing, and ends with status 0, where the metadata is in order. Otherwise \
        says what is wrong with which volume and what can be done, and ends with status 5. What \
        the scan of the disks finds (damaged or stale copies, duplicate disks) is told, too.",
    flags: &[
        &[
            flags::UPDATE_METADATA,
            KEEP,
            flags::FOREIGN,
            flags::SHARED,
            flags::PARTIAL,
            flags::READ_ONLY,
            flags::REPORT_FORMAT,
        ],
        flags::COMMON,
    ],
    examples: &[Example {
        line: "vgck vg0",
        does: "checks one volume group",
    }],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.has(&flags::UPDATE_METADATA) {
        return super::change::run(arguments, session);
    }
    selected::require_names(arguments, Groups::Only)?;
    let view = session.view(arguments)?;
    for named in selected::groups(&view, arguments, Groups::Only, session)? {
        let group = named.group;
        if group.vg.flags.has(VgFlag::Exported) {
            if !arguments.operands().is_empty() {
                session.fail_later(&format!("Volume group {} is exported", group.vg.name));
            }
            continue;
        }
        let missing = group.missing_count();
        if missing > 0 {
            let message = format!("The volume group is missing {missing} physical volumes.");
            session.fail_later(&message);
        }
        for finding in check(&group.vg) {
            match finding.severity {
                Severity::Warning => session.tell(&format!("WARNING: {finding}.")),
                Severity::Error => session.fail_later(&format!("{finding}.")),
            }
        }
    }
    Ok(())
}
