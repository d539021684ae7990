//! `pvs`: the physical volumes, one line each.

use super::Session;
use super::report::{Kind, Request, Subject, plan};
use super::rows;
use crate::args::{Arguments, Command, Error, Example, flags};

/// `pvs`
pub(super) const COMMAND: Command = Command {
    name: "pvs",
    summary: "List physical volumes",
    operands: "[DEVICE|@TAG ...]",
    description: "One line for each physical volume, with columns of your choice. Fields of \
        logical volumes make it one line for each run of extents.\n\n\
        The three letters of the Attr column: a allocatable, u used but not allocatable, d \
        duplicate; x exported; m missing.",
    flags: &[&[flags::ALL, flags::SEGMENTS], flags::REPORT, flags::COMMON],
    examples: &[
        Example {
            line: "pvs --segments -o+lv_name,seg_start_pe",
            does: "shows which volume uses which extents of each disk, and what is free",
        },
        Example {
            line: "pvs -a",
            does: "shows devices that hold no physical volume, too",
        },
    ],
    run,
};

/// The report.
pub(super) const PVS: Kind = Kind {
    subject: Subject::Pv,
    columns: ("report/pvs_cols", "report/pvs_cols_verbose"),
    sort: "report/pvs_sort",
    is_part: false,
};

const SEGMENTS: Kind = Kind {
    subject: Subject::PvSegment,
    columns: ("report/pvsegs_cols", "report/pvsegs_cols_verbose"),
    sort: "report/pvsegs_sort",
    is_part: false,
};

pub(super) fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let kind = if arguments.has(&flags::SEGMENTS) {
        SEGMENTS
    } else {
        PVS
    };
    match plan(kind, arguments, session)? {
        Request::Report(plan) => rows::report(&plan, arguments, session),
        Request::Help => Ok(()),
    }
}
