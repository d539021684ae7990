//! `demo`: Ashlar shown on bundled disks. The steps are in `crate::demo`.

use std::path::Path;

use super::Session;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::demo::{self, Pace};

const KEEP: Flag = Flag::value(
    "keep",
    "Directory",
    "Put the bundled disks into this directory, which is made if it is not there, and leave them \
     there, to try the commands on them. No file is overwritten.",
);

const QUICK: Flag = Flag::switch(
    "quick",
    "Small disks and few rounds: everything is shown, in half the time; the chart says less.",
);

/// `demo`
pub(super) const COMMAND: Command = Command {
    name: "demo",
    summary: "Show what Ashlar can do, on bundled disks",
    operands: "",
    description: "Unpacks five disks on which stock LVM2 made a volume group, lists it, draws \
        where its volumes lie, compares their content with what the kernel saw, serves one over \
        NBD and reads it back, and attaches one and looks at its files.\n\n\
        Then makes a group of its own on six empty disks, with a linear, a striped and a mirrored \
        volume; writes them and reads them back; extends one while it is written over \
        NBD, and one while a file system on it is mounted; takes a disk \
        away from the mirror while it is written; cuts the power in the middle of commits on \
        simulated disks, in every way there is; compares layouts on slow disks; asks the lab what \
        layers cost; and asks stock LVM2 what it thinks of the disks. A picture (SVG) and a page \
        (HTML) of all that stay. Says what it does, with the commands that do the same.\n\n\
        Mounting the file system needs root; others get the volume as a file. What the machine \
        does not allow is left out, and said. Nothing else is left behind, also when it is \
        interrupted.",
    flags: &[
        &[KEEP, QUICK],
        &[flags::HELP, flags::LONG_HELP, flags::VERSION],
    ],
    examples: &[
        Example {
            line: "ashlar demo",
            does: "shows everything, in less than a minute",
        },
        Example {
            line: "ashlar demo --keep disks",
            does: "leaves the disks in the directory disks, for own attempts",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if let Some(word) = arguments.operands().first() {
        return Err(Error::usage(format!("demo takes no names, not {word}.")));
    }
    let pace = if arguments.has(&QUICK) {
        Pace::Quick
    } else {
        Pace::Full
    };
    demo::run(arguments.value(&KEEP).map(Path::new), pace, session)
}
