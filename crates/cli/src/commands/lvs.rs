//! `lvs`: the logical volumes, one line each.

use super::Session;
use super::report::{Kind, Request, Subject, plan};
use super::rows;
use crate::args::{Arguments, Command, Error, Example, flags};

/// `lvs`
pub(super) const COMMAND: Command = Command {
    name: "lvs",
    summary: "List logical volumes",
    operands: "[VG|VG/LV|@TAG ...]",
    description: "One line for each logical volume, with columns of your choice. Volumes that are \
        only parts of others (images of a RAID, data of a pool) are left out unless -a asks for \
        them or they are named.\n\n\
        The ten letters of the Attr column: type (m mirror, r RAID, o origin, s snapshot, t thin \
        pool, V thin volume, i image, l log, e metadata, C cache, p move), w writable or r \
        read-only, allocation (i inherited, c contiguous, l cling, n normal, a anywhere; capital: \
        locked), m fixed minor, state (a active, which is served or attached), o open, target, z \
        zeroes new blocks, health (p a disk is missing, r an image was lost since it is active), k \
        skipped on activation. X is unknown: whoever serves the group does not answer.",
    flags: &[
        &[flags::ALL, flags::SEGMENTS, flags::HISTORY],
        flags::REPORT,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "lvs -a -o+devices",
            does: "shows every volume and the disks below it",
        },
        Example {
            line: "lvs -S 'segtype=~raid && lv_size>10g' -O -lv_size",
            does: "shows large RAID volumes, the largest first",
        },
        Example {
            line: "lvs --reportformat json_std --units b --nosuffix vg0",
            does: "prints JSON with sizes as numbers",
        },
    ],
    run,
};

/// The report.
pub(super) const LVS: Kind = Kind {
    subject: Subject::Lv,
    columns: ("report/lvs_cols", "report/lvs_cols_verbose"),
    sort: "report/lvs_sort",
    is_part: false,
};

const SEGMENTS: Kind = Kind {
    subject: Subject::Segment,
    columns: ("report/segs_cols", "report/segs_cols_verbose"),
    sort: "report/segs_sort",
    is_part: false,
};

pub(super) fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let kind = if arguments.has(&flags::SEGMENTS) {
        SEGMENTS
    } else {
        LVS
    };
    match plan(kind, arguments, session)? {
        Request::Report(plan) => rows::report(&plan, arguments, session),
        Request::Help => Ok(()),
    }
}
