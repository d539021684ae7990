//! `devtypes`: the types of block devices that LVM2 knows by name.

use ashlar::scan::Scan;

use super::Session;
use super::report::{Kind, Request, Subject, plan};
use crate::args::{Arguments, Command, Error, flags};
use crate::output::fields::DEVICE_TYPES;
use crate::output::{Row, View};

/// `devtypes`
pub(super) const COMMAND: Command = Command {
    name: "devtypes",
    summary: "List the types of block devices that LVM2 knows",
    operands: "",
    description: "One line for each type of block device that LVM2 accepts as a physical volume \
        by its name in /proc/devices. Ashlar takes block devices of every type.",
    flags: &[
        &[
            flags::OPTIONS,
            flags::SORT,
            flags::SELECT,
            flags::NO_SUFFIX,
            flags::REPORT_FORMAT,
            flags::NO_HEADINGS,
            flags::SEPARATOR,
            flags::ALIGNED,
            flags::NAME_PREFIXES,
            flags::UNQUOTED,
            flags::ROWS,
            flags::BINARY,
            flags::UNBUFFERED,
        ],
        flags::COMMON,
    ],
    examples: &[],
    run,
};

const DEVTYPES: Kind = Kind {
    subject: Subject::DeviceType,
    columns: ("report/devtypes_cols", "report/devtypes_cols_verbose"),
    sort: "report/devtypes_sort",
    is_part: false,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let Request::Report(plan) = plan(DEVTYPES, arguments, session)? else {
        return Ok(());
    };
    let nothing = View::new(Scan::default());
    plan.print(session, |push| {
        DEVICE_TYPES.iter().try_for_each(|kind| {
            push(Row {
                device_type: Some(kind),
                ..Row::new(&nothing)
            })
        })
    })
}
