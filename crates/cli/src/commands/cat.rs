//! `ashlar cat`: the content of logical volumes, to standard output.

use std::fs::File;
use std::io::Write;

use block::{Device, Holes, Piece, Range, read_stream};
use target::volume::Access;

use super::Session;
use super::open::{FLAGS, Opener};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `cat`
pub(super) const COMMAND: Command = Command {
    name: "cat",
    summary: "Print the content of logical volumes",
    operands: "VG/LV ...",
    description: "Reads each volume from its first to its last byte, straight from the disks, and \
        writes it to standard output. Nothing is activated, nothing is changed, and the kernel \
        needs no device-mapper.",
    flags: &[FLAGS, flags::COMMON],
    examples: &[
        Example {
            line: "ashlar cat vg0/root | sha256sum",
            does: "prints a checksum of a volume",
        },
        Example {
            line: "ashlar --devices disks/ cat vg0/root | tar -x",
            does: "unpacks an archive that was written to a volume of disks in image files",
        },
    ],
    run,
};

/// Zeros are written in pieces of this many bytes.
const ZEROES: usize = 256 * 1024;
/// What a pipe may hold without privileges, in bytes.
const PIPE: usize = 256 << 10;

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.operands().is_empty() {
        return Err(Error::usage(
            "cat: name a logical volume, as in: ashlar cat vg0/root",
        ));
    }
    let disks = session.disks(arguments)?;
    let mut opener = Opener::new(&disks, arguments, Access::ReadOnly)?.through_page_cache();
    let zeroes = vec![0; ZEROES];
    let output = output()?;
    for name in arguments.operands() {
        let opened = opener.open(name, session)?;
        let range = Range::new(0, opened.volume.info().size);
        let mut out = &output;
        read_stream(&opened.volume, range, Holes::Skip, |_, piece| match piece {
            Piece::Data(bytes) => Ok(out.write_all(bytes)?),
            Piece::Zeroes(mut count) => {
                while count > 0 {
                    let now = count.min(ZEROES as u64);
                    out.write_all(&zeroes[..now as usize])?;
                    count -= now;
                }
                Ok::<(), Error>(())
            }
        })?;
    }
    Ok(())
}

/// Standard output itself: the library's would look for the last newline of each piece, and hold
/// back what follows it. A pipe is made as large as an ordinary user may make it: at its usual size
/// the two processes at its ends wait for each other sixteen times as often.
fn output() -> Result<File, Error> {
    let stdout = rustix::stdio::stdout();
    // What is no pipe, or may not grow, stays as it is.
    let _ = rustix::pipe::fcntl_setpipe_size(stdout, PIPE);
    Ok(File::from(stdout.try_clone_to_owned()?))
}
