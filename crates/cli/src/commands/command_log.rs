//! `--logonly`: what a report would have said about objects and their state, as a report.

use ashlar::scan::Scan;

use super::Session;
use super::report::{Kind, Request, Subject, plan};
use crate::args::{Arguments, Error, Kind as ErrorKind, flags};
use crate::output::report::Format;
use crate::output::{Row, View};

const LOG: Kind = Kind {
    subject: Subject::Log,
    columns: ("log/command_log_cols", "log/command_log_cols"),
    sort: "log/command_log_sort",
    is_part: true,
};

/// Commands that print no report, and in JSON an empty one behind what they print.
const WITHOUT_REPORT: &[&str] = &[
    "lvchange",
    "lvcreate",
    "lvextend",
    "lvreduce",
    "lvremove",
    "lvrename",
    "lvresize",
    "lvscan",
    "pvchange",
    "pvcreate",
    "pvremove",
    "pvresize",
    "pvscan",
    "vgcfgbackup",
    "vgchange",
    "vgck",
    "vgcreate",
    "vgexport",
    "vgextend",
    "vgimport",
    "vgreduce",
    "vgremove",
    "vgrename",
    "vgscan",
];

/// The end of a command without `--logonly`: its log, which is empty, where it is asked for in JSON
/// and the line was understood.
pub(super) fn end(
    arguments: &Arguments,
    outcome: Result<(), Error>,
    session: &mut Session,
) -> Result<(), Error> {
    let is_json = matches!(
        arguments.value(&flags::REPORT_FORMAT),
        Some("json" | "json_std")
    );
    let is_understood = match &outcome {
        Ok(()) => true,
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::Usage | ErrorKind::Syntax | ErrorKind::Form | ErrorKind::Ended(_)
        ),
    };
    // What tells of one device that it is there makes no log.
    let is_event = arguments.has(&flags::CACHE) && !arguments.operands().is_empty();
    if is_json && is_understood && !is_event && WITHOUT_REPORT.contains(&arguments.command()) {
        session.print("  {\n  }\n")?;
    }
    outcome
}

/// Prints what was noted since [`Session::begin_log`].
pub(super) fn print(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let entries = session.end_log();
    let Request::Report(plan) = plan(LOG, arguments, session)? else {
        return Ok(());
    };
    let is_report = ["pvs", "vgs", "lvs", "fullreport"].contains(&arguments.command());
    if is_report && !session.has_counted() && plan.format() == Format::Basic {
        return Ok(());
    }
    let nothing = View::new(Scan::default());
    plan.print_log(session, |push| {
        entries.iter().try_for_each(|entry| {
            push(Row {
                log: Some(entry),
                ..Row::new(&nothing)
            })
        })
    })
}
