//! `ashlar cp`: a logical volume into a file, with holes where the volume has zeros.

use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

use block::{Device, Holes, Piece, Range, read_stream};
use indicatif::{ProgressBar, ProgressStyle};
use target::volume::Access;

use super::Session;
use super::open::{FLAGS, Opener};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `cp`
pub(super) const COMMAND: Command = Command {
    name: "cp",
    summary: "Copy a logical volume into a file",
    operands: "VG/LV FILE",
    description: "Copies a volume, straight from the disks, into a file or onto a block device. \
        Where the volume is known to hold zeros, or a whole block of zeros is read, a new file \
        gets a hole. On a terminal a bar shows how far it is. An existing file is replaced; on \
        a device every byte is written. When the command ends well, the copy is on stable storage.",
    flags: &[FLAGS, flags::COMMON],
    examples: &[Example {
        line: "ashlar cp vg0/root root.img",
        does: "makes an image of a volume",
    }],
    run,
};

/// Runs of zeros shorter than this are written: a hole costs the file system a record.
const HOLE: usize = 64 * 1024;

/// Where zeros need not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blank {
    /// The target holds zeros already: a new file.
    Zeros,
    /// The target holds something else: a device.
    Unknown,
}

struct Target<'a> {
    file: File,
    path: &'a Path,
    blank: Blank,
    zeroes: Vec<u8>,
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [source, path] = arguments.operands() else {
        return Err(Error::usage(
            "cp: name a volume and a file, as in: ashlar cp vg0/root root.img",
        ));
    };
    let disks = session.disks(arguments)?;
    let mut opener = Opener::new(&disks, arguments, Access::ReadOnly)?;
    let opened = opener.open(source, session)?;
    let size = opened.volume.info().size;
    let target = Target::open(Path::new(path), size)?;
    let bar = progress(size);
    let copied = read_stream(
        &opened.volume,
        Range::new(0, size),
        Holes::Skip,
        |start, piece| {
            match piece {
                Piece::Data(bytes) => target.write(start, bytes)?,
                Piece::Zeroes(count) => target.write_zeroes(start, count)?,
            }
            let length = match piece {
                Piece::Data(bytes) => bytes.len() as u64,
                Piece::Zeroes(count) => count,
            };
            bar.set_position(start + length);
            Ok::<(), Error>(())
        },
    );
    bar.finish_and_clear();
    copied.and_then(|()| target.sync()).map_err(|error| {
        Error::failed(format!(
            "Copying {source} to {path} ended early; {path} is incomplete"
        ))
        .because(error)
    })
}

fn progress(size: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(size);
    let template = "  {bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    // The template is a constant; should it not be one, the bar's own style does.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

impl<'a> Target<'a> {
    fn open(path: &'a Path, size: u64) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::failed(format!("Could not open {} for writing", path.display())).because(error)
        };
        let is_device =
            std::fs::metadata(path).is_ok_and(|known| known.file_type().is_block_device());
        let mut options = std::fs::OpenOptions::new();
        options.write(true);
        if !is_device {
            options.create(true).truncate(true);
        }
        let file = options.open(path).map_err(failed)?;
        if !is_device {
            file.set_len(size).map_err(failed)?;
        }
        let blank = if is_device {
            Blank::Unknown
        } else {
            Blank::Zeros
        };
        Ok(Self {
            file,
            path,
            blank,
            zeroes: vec![0; HOLE],
        })
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::failed(format!("Could not write {}", self.path.display())).because(error)
    }

    fn write(&self, start: u64, bytes: &[u8]) -> Result<(), Error> {
        let mut at = start;
        for chunk in bytes.chunks(HOLE) {
            let is_zero = self.blank == Blank::Zeros && chunk.iter().all(|byte| *byte == 0);
            if !is_zero {
                self.file
                    .write_all_at(chunk, at)
                    .map_err(|error| self.failed(error))?;
            }
            at += chunk.len() as u64;
        }
        Ok(())
    }

    fn write_zeroes(&self, start: u64, count: u64) -> Result<(), Error> {
        if self.blank == Blank::Zeros {
            return Ok(());
        }
        let mut done = 0;
        while done < count {
            let now = (count - done).min(HOLE as u64);
            let zeroes = &self.zeroes[..now as usize];
            self.file
                .write_all_at(zeroes, start + done)
                .map_err(|error| self.failed(error))?;
            done += now;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        self.file.sync_all().map_err(|error| self.failed(error))
    }
}
