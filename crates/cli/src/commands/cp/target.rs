//! Where a copy goes: a file that gets holes, a disk, or a volume that is told of zeros.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use ashlar::host::Host;
use ashlar::lock::HeldTarget;
use block::{BlockingDevice, Device, Range, Unmap};
use dm::volume::Volume;
use rustix::fs::{FallocateFlags, fallocate};

use super::place::require_no_disk;
use crate::args::Error;

/// Shorter runs of zeros are written: a hole costs the file system a record.
const HOLE: usize = 64 * 1024;

/// What a pipe may hold without privileges, in bytes.
const PIPE: usize = 256 << 10;

/// What takes a copy.
pub(in crate::commands) enum Target {
    /// A file or a disk.
    File(FileTarget),
    /// A volume.
    Volume(VolumeTarget),
    /// What takes one byte after the other: a pipe, standard output.
    Stream(File, PathBuf),
}

/// A file or a disk that is written.
pub(in crate::commands) struct FileTarget {
    held: HeldTarget,
    path: PathBuf,
    blank: Blank,
    zeroes: Vec<u8>,
}

/// A volume that is written.
pub(in crate::commands) struct VolumeTarget {
    io: BlockingDevice,
    name: String,
}

/// Where zeros need not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blank {
    /// The target holds zeros already: a new file.
    Zeros,
    /// The target holds something else and may have holes: a file of which a part is copied.
    Holes,
    /// The target holds something else: a device.
    Unknown,
}

/// Whether a copy is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Start {
    /// What was there is lost.
    Anew,
    /// What is there is a part of the copy, which may be longer.
    GoOn,
}

impl Target {
    /// A file of `size` bytes, which is made anew, or a disk, of which the beginning is written.
    /// Nobody else may use it, and it may be no physical volume: it is as it was then.
    pub(super) fn file(path: &Path, size: u64, start: Start, host: &Host) -> Result<Self, Error> {
        let mut target = Self::held(path, host)?;
        target.prepare(size, start)?;
        Ok(target)
    }

    /// A file or a disk as it is, to be prepared. Nobody else may use it, and it may be no physical
    /// volume.
    pub(in crate::commands) fn held(path: &Path, host: &Host) -> Result<Self, Error> {
        let held = HeldTarget::open(path).map_err(|error| Error::failed(error.to_string()))?;
        require_no_disk(path, host)?;
        Ok(Self::File(FileTarget {
            blank: if held.is_disk() {
                Blank::Unknown
            } else {
                Blank::Holes
            },
            held,
            path: path.to_owned(),
            zeroes: vec![0; HOLE],
        }))
    }

    /// Makes a file that is made anew `size` zeros, and one that is not so long at least.
    pub(in crate::commands) fn prepare(&mut self, size: u64, start: Start) -> Result<(), Error> {
        let Self::File(target) = self else {
            return Ok(());
        };
        if target.held.is_disk() {
            return Ok(());
        }
        let failed = |error: std::io::Error| {
            let path = target.path.display();
            Error::failed(format!("Could not open {path} for writing")).because(error)
        };
        let file = target.held.file();
        if start == Start::Anew {
            // Only now is what was there lost.
            let cut = file.set_len(0);
            cut.and_then(|()| file.set_len(size)).map_err(failed)?;
            target.blank = Blank::Zeros;
        } else if file.metadata().map_err(failed)?.len() < size {
            file.set_len(size).map_err(failed)?;
        }
        Ok(())
    }

    /// How many bytes there is room for; `None`: a file becomes as long as it has to.
    pub(in crate::commands) fn room(&self) -> Result<Option<u64>, Error> {
        Ok(match self {
            Self::Volume(volume) => Some(volume.io.info().size),
            Self::File(target) if target.held.is_disk() => {
                let mut file = target.held.file();
                let end = file.seek(SeekFrom::End(0));
                Some(end.map_err(|error| target.failed(error))?)
            }
            Self::File(_) | Self::Stream(..) => None,
        })
    }

    /// What takes one byte after the other, if `path` is such; `-` is standard output.
    pub(super) fn stream(path: &Path) -> Result<Option<Self>, Error> {
        if path == Path::new("-") {
            return Self::standard_output().map(Some);
        }
        let is_stream = std::fs::metadata(path).is_ok_and(|known| {
            let kind = known.file_type();
            kind.is_fifo() || kind.is_char_device() || kind.is_socket()
        });
        if !is_stream {
            return Ok(None);
        }
        let file = File::options().write(true).open(path);
        let file = file.map_err(|error| cannot(path, error))?;
        Ok(Some(Self::Stream(file, path.to_owned())))
    }

    /// Standard output itself: the library's would look for the last newline of each piece, and
    /// hold back what follows it. A pipe is made as large as an ordinary user may make it: at its
    /// usual size the two processes at its ends wait for each other sixteen times as often.
    pub(in crate::commands) fn standard_output() -> Result<Self, Error> {
        let stdout = rustix::stdio::stdout();
        // What is no pipe, or may not grow, stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(stdout, PIPE);
        let output = File::from(stdout.try_clone_to_owned()?);
        Ok(Self::Stream(output, "standard output".into()))
    }

    /// A volume that people know as `name`.
    pub(in crate::commands) fn volume(volume: &Volume, name: &str) -> Result<Self, Error> {
        Ok(Self::Volume(VolumeTarget {
            io: BlockingDevice::open(volume as &dyn Device)?,
            name: name.to_owned(),
        }))
    }

    /// Stores bytes.
    pub(in crate::commands) fn write(&mut self, start: u64, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::File(file) => file.write(start, bytes),
            Self::Volume(volume) => volume.write(start, bytes),
            Self::Stream(file, path) => file.write_all(bytes).map_err(|error| cannot(path, error)),
        }
    }

    /// Makes `count` bytes zero.
    pub(in crate::commands) fn write_zeroes(
        &mut self,
        start: u64,
        count: u64,
    ) -> Result<(), Error> {
        match self {
            Self::File(file) => file.write_zeroes(start, count),
            Self::Volume(volume) => volume.write_zeroes(start, count),
            Self::Stream(file, path) => {
                let zeroes = vec![0; HOLE];
                let mut left = count;
                while left > 0 {
                    let now = left.min(HOLE as u64);
                    let written = file.write_all(&zeroes[..now as usize]);
                    written.map_err(|error| cannot(path, error))?;
                    left -= now;
                }
                Ok(())
            }
        }
    }

    /// Fills `into` with what the target holds from byte `start`.
    pub(in crate::commands) fn read(&mut self, start: u64, into: &mut [u8]) -> Result<(), Error> {
        match self {
            Self::File(file) => file
                .held
                .file()
                .read_exact_at(into, start)
                .map_err(|error| {
                    Error::failed(format!("Could not read {}", file.path.display())).because(error)
                }),
            Self::Volume(volume) => volume.io.read_at(into, start).map_err(|error| {
                Error::failed(format!("Could not read {}", volume.name)).because(error)
            }),
            Self::Stream(_, path) => {
                let path = path.display();
                Err(Error::failed(format!("{path} gives nothing back")))
            }
        }
    }

    /// Makes `count` bytes zero that could not be read, unless a file has nothing there anyway.
    pub(super) fn blank(&mut self, start: u64, count: u64) -> Result<(), Error> {
        match self {
            Self::File(file) if file.blank != Blank::Unknown => Ok(()),
            _ => self.write_zeroes(start, count),
        }
    }

    /// Makes all of it durable.
    pub(in crate::commands) fn sync(&mut self) -> Result<(), Error> {
        match self {
            Self::File(file) => file
                .held
                .file()
                .sync_all()
                .map_err(|error| file.failed(error)),
            Self::Volume(volume) => volume.io.flush().map_err(|error| volume.failed(error)),
            // Whoever reads it has it.
            Self::Stream(..) => Ok(()),
        }
    }
}

fn cannot(path: &Path, error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        return error.into();
    }
    Error::failed(format!("Could not write {}", path.display())).because(error)
}

impl FileTarget {
    fn failed(&self, error: std::io::Error) -> Error {
        cannot(&self.path, error)
    }

    fn write(&self, start: u64, bytes: &[u8]) -> Result<(), Error> {
        let mut at = start;
        for chunk in bytes.chunks(HOLE) {
            if self.blank != Blank::Unknown && is_zero(chunk) {
                self.write_zeroes(at, chunk.len() as u64)?;
            } else {
                self.held
                    .file()
                    .write_all_at(chunk, at)
                    .map_err(|error| self.failed(error))?;
            }
            at += chunk.len() as u64;
        }
        Ok(())
    }

    fn write_zeroes(&self, start: u64, count: u64) -> Result<(), Error> {
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match self.blank {
            Blank::Zeros => return Ok(()),
            // File systems without holes get zeros.
            Blank::Holes if fallocate(self.held.file(), punch, start, count).is_ok() => {
                return Ok(());
            }
            Blank::Holes | Blank::Unknown => {}
        }
        let mut done = 0;
        while done < count {
            let now = (count - done).min(HOLE as u64);
            let zeroes = &self.zeroes[..now as usize];
            self.held
                .file()
                .write_all_at(zeroes, start + done)
                .map_err(|error| self.failed(error))?;
            done += now;
        }
        Ok(())
    }
}

impl VolumeTarget {
    fn failed(&self, error: block::Error) -> Error {
        Error::failed(format!("Could not write {}", self.name)).because(error)
    }

    /// Stores bytes; whole chunks of zeros become holes where the disks can have them.
    fn write(&mut self, start: u64, bytes: &[u8]) -> Result<(), Error> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &bytes[done..];
            let count = run(rest);
            let (kind, length) = count;
            let at = start + done as u64;
            match kind {
                Content::Zeros => self.write_zeroes(at, length as u64)?,
                Content::Data => self
                    .io
                    .write_at(&rest[..length], at)
                    .map_err(|error| self.failed(error))?,
            }
            done += length;
        }
        Ok(())
    }

    fn write_zeroes(&mut self, start: u64, count: u64) -> Result<(), Error> {
        let block = u64::from(self.io.info().logical_block);
        let (end, first) = (start + count, start.next_multiple_of(block));
        let last = end - end % block;
        let written = if first < last {
            // The whole blocks, and what is left of others at both ends.
            let before = vec![0; (first - start) as usize];
            let behind = vec![0; (end - last) as usize];
            self.io
                .write_zeroes(Range::new(first, last - first), Unmap::Allowed)
                .and_then(|()| self.io.write_at(&before, start))
                .and_then(|()| self.io.write_at(&behind, last))
        } else {
            self.io.write_at(&vec![0; count as usize], start)
        };
        written.map_err(|error| self.failed(error))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Zeros,
    Data,
}

/// The kind of the first chunk, and how many bytes from there on are of it.
fn run(bytes: &[u8]) -> (Content, usize) {
    let kind = |chunk: &[u8]| {
        // A short rest is not worth a request of its own kind.
        if chunk.len() == HOLE && is_zero(chunk) {
            Content::Zeros
        } else {
            Content::Data
        }
    };
    let mut chunks = bytes.chunks(HOLE);
    let first = chunks.next().unwrap_or_default();
    let first_kind = kind(first);
    let more = chunks.take_while(|chunk| kind(chunk) == first_kind);
    (
        first_kind,
        first.len() + more.map(<[u8]>::len).sum::<usize>(),
    )
}

fn is_zero(bytes: &[u8]) -> bool {
    // Without a way out of the inner loop the compiler looks at many at once.
    let any = |chunk: &[u8]| chunk.iter().fold(0, |any, byte| any | byte);
    bytes.chunks(1024).all(|chunk| any(chunk) == 0)
}
