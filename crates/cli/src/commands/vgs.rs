//! `vgs`: the volume groups, one line each.

use super::Session;
use super::report::{Kind, Request, Subject, plan};
use super::rows;
use crate::args::{Arguments, Command, Error, Example, flags};

/// `vgs`
pub(super) const COMMAND: Command = Command {
    name: "vgs",
    summary: "List volume groups",
    operands: "[VG|@TAG ...]",
    description: "One line for each volume group, with columns of your choice. Fields of logical \
        or physical volumes make it one line for each of those.\n\n\
        The six letters of the Attr column: w writable or r read-only, z resizeable, x exported, p \
        disks are missing, allocation (n normal, c contiguous, l cling, a anywhere), s shared.",
    flags: &[&[flags::ALL], flags::REPORT, flags::COMMON],
    examples: &[
        Example {
            line: "vgs -o+vg_tags,vg_seqno",
            does: "adds two columns to the default ones",
        },
        Example {
            line: "vgs -o vg_name,pv_name",
            does: "shows the disks of each group",
        },
    ],
    run,
};

/// The report.
pub(super) const VGS: Kind = Kind {
    subject: Subject::Vg,
    columns: ("report/vgs_cols", "report/vgs_cols_verbose"),
    sort: "report/vgs_sort",
    is_part: false,
};

pub(super) fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    match plan(VGS, arguments, session)? {
        Request::Report(plan) => rows::report(&plan, arguments, session),
        Request::Help => Ok(()),
    }
}
