//! `--logonly`: what a report would have said about objects and their state, as a report.

use ashlar::scan::Scan;

use super::Session;
use super::report::{Kind, Request, Subject, plan};
use crate::args::{Arguments, Error};
use crate::output::{Row, View};

const LOG: Kind = Kind {
    subject: Subject::Log,
    columns: ("log/command_log_cols", "log/command_log_cols"),
    sort: "log/command_log_sort",
    is_part: true,
};

/// Prints what was noted since [`Session::begin_log`].
pub(super) fn print(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let entries = session.end_log();
    let Request::Report(plan) = plan(LOG, arguments, session)? else {
        return Ok(());
    };
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
