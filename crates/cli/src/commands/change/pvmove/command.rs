//! The command's words, and how it waits.

use super::follow;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::Session;
use crate::commands::change::arguments::{ALLOC, CHANGE, interval};
use crate::commands::change::run;

pub(super) const NAME: Flag = Flag::value(
    "name",
    "LV",
    "Move only the extents of this volume and of its parts.",
)
.short('n');
pub(super) const ATOMIC: Flag = Flag::switch(
    "atomic",
    "All or nothing: an aborted move leaves everything where it was.",
);
pub(super) const ABORT: Flag = Flag::switch(
    "abort",
    "End moves now. What is moved stays where it is now (with --atomic nothing is), the rest where \
     it was.",
);
pub(super) const BACKGROUND: Flag = Flag::switch(
    "background",
    "Do not wait for the end: the process that serves the group goes on, or one that is started, \
     which notes down what it warns of in a file that is named.",
)
.short('b');
pub(super) const INTERVAL: Flag = Flag::value(
    "interval",
    "Seconds",
    "How often to say how far it is where that is no terminal (15).",
)
.short('i');

/// `pvmove`
pub(in crate::commands::change) const COMMAND: Command = Command {
    name: "pvmove",
    summary: "Move extents to other physical volumes",
    operands: "[SOURCE[:PE[-PE]]... [TARGET[:PE[-PE]]...]...]",
    description: "Moves what lies on a physical volume to others of its group while it is used: \
        to those that are named, or to any other. The volumes may be served meanwhile, by this \
        program: writes go to both places until a piece is moved. Without operands the moves that \
        were begun go on, whoever began them, LVM2 too; it can go on with one of these as well. \
        After a crash a piece is copied again, and nothing is lost.",
    flags: &[
        &[
            NAME,
            ATOMIC,
            ABORT,
            BACKGROUND,
            INTERVAL,
            ALLOC,
            flags::NO_UDEV_SYNC,
        ],
        CHANGE,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "pvmove /dev/sdb",
            does: "empties a disk, so that vgreduce can take it out of the group",
        },
        Example {
            line: "pvmove -n data /dev/sdb /dev/nvme0n1",
            does: "moves one volume to a faster disk",
        },
        Example {
            line: "pvmove --abort",
            does: "ends all moves; nothing is lost",
        },
    ],
    run: begin_and_follow,
};

fn begin_and_follow(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let interval = interval(arguments, &INTERVAL)?;
    if !follow::is_follower() {
        run::run(arguments, session)?;
    }
    if arguments.has(&ABORT) || arguments.has(&flags::TEST) || arguments.has(&flags::HELP) {
        return Ok(());
    }
    follow::follow(arguments, interval, session)
}
