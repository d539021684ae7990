//! `ashlar cat`: the content of logical volumes, to standard output.

use dm::volume::Access;

use super::Session;
use super::cp::{Bar, Job, Outcome, RETRIES, Target};
use super::open::{FLAGS, Opener};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `cat`
pub(super) const COMMAND: Command = Command {
    name: "cat",
    summary: "Print the content of logical volumes",
    operands: "VG/LV ...",
    description: "Reads each volume from its first to its last byte, straight from the disks, and \
        writes it to standard output. Nothing is activated, nothing is changed, and the kernel \
        needs no device-mapper.\n\n\
        With --partial, zeros are written for what cannot be read: bytes on disks that are \
        missing, and blocks that fail also when they are read alone. What that was is said in the \
        end, and the exit status is 6. cp --partial can be interrupted, and gets more of a disk \
        that is dying.",
    flags: &[&[RETRIES], FLAGS, flags::COMMON],
    examples: &[
        Example {
            line: "ashlar cat vg0/root | sha256sum",
            does: "prints a checksum of a volume",
        },
        Example {
            line: "ashlar --devices disks/ cat vg0/root | tar -x",
            does: "unpacks an archive that was written to a volume of disks in image files",
        },
        Example {
            line: "ashlar cat --partial vg0/root | zstd > root.img.zst",
            does: "saves what is left of a volume that has lost a disk",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.operands().is_empty() {
        return Err(Error::usage(
            "cat: name a logical volume, as in: ashlar cat vg0/root",
        ));
    }
    let disks = session.disks(arguments)?;
    let mut opener = Opener::new(&disks, arguments, Access::ReadOnly)?.through_page_cache();
    let mut output = Target::standard_output()?;
    let mut outcome = Outcome::Whole;
    for name in arguments.operands() {
        let opened = opener.open(name, session)?;
        let job = Job::new(&disks, opened, arguments)?;
        outcome = outcome.and(job.copy_in_order(session, &mut output, Bar::hidden())?);
    }
    outcome.result()
}
