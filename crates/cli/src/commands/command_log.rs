//! `--logonly`: what a report would have said about objects and their state, as a report.

use ashlar::scan::Scan;

use super::Session;
use super::report::{Kind, Request, Subject, plan};
use super::rows::is_report;
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
    "pvmove",
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

/// Those of them that look at groups alone, and leave them there.
const OF_GROUPS: &[&str] = &["vgck", "vgexport", "vgimport", "vgremove", "vgscan"];

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
    let command = arguments.command();
    let is_begun = match &outcome {
        Ok(()) => true,
        Err(error) => match error.kind() {
            // Stock's has begun with it by then.
            ErrorKind::Usage => ["pvmove", "vgcfgbackup"].contains(&command),
            ErrorKind::Syntax | ErrorKind::Form | ErrorKind::Ended(_) => false,
            _ => true,
        },
    };
    // What tells of devices that they are there makes no log.
    let is_event = arguments.has(&flags::CACHE) && command == "pvscan";
    let is_wanted = is_json && is_begun && !is_event && WITHOUT_REPORT.contains(&command);
    if is_wanted && !is_idle(arguments, session) {
        session.print("  {\n  }\n")?;
    }
    outcome
}

/// Whether a command had nothing to look at, and begins no report either.
fn is_idle(arguments: &Arguments, session: &mut Session) -> bool {
    if arguments.has(&flags::NOTIFY_DBUS) && arguments.command() == "vgscan" {
        return true;
    }
    let mut operands = arguments.operands().iter();
    let is_about_all = operands.all(|operand| operand.starts_with('@'));
    // What is wrong with disks was told, as far as the command has looked.
    let disks = |session: &mut Session| session.quiet_disks(arguments);
    is_about_all
        && OF_GROUPS.contains(&arguments.command())
        && disks(session).is_ok_and(|disks| disks.scan.groups.is_empty())
}

/// Prints what was noted since [`Session::begin_log`].
pub(super) fn print(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let entries = session.end_log();
    let Request::Report(plan) = plan(LOG, arguments, session)? else {
        return Ok(());
    };
    if is_report(arguments) && !session.has_counted() && plan.format() == Format::Basic {
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
