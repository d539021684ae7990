//! A file or a stream that a volume is filled from, handed out in order.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use block::Piece;
use rustix::io::Errno;

use crate::args::Error;

/// How much of a file is read at once.
const CHUNK: usize = 1 << 20;

/// A file or a stream that is read.
pub(super) enum Source {
    /// A file, with its path and its size.
    File(File, PathBuf, u64),
    /// What comes one byte after the other and ends somewhere, with its name, and how much of it
    /// there is room for.
    Stream(File, PathBuf, u64),
}

impl Source {
    /// Opens a file, a device, or a stream; `-` is standard input.
    pub(super) fn file(path: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::failed(format!("Could not read {}", path.display())).because(error)
        };
        if path == Path::new("-") {
            let input = rustix::stdio::stdin()
                .try_clone_to_owned()
                .map_err(failed)?;
            return Ok(Self::Stream(input.into(), "standard input".into(), 0));
        }
        let kind = std::fs::metadata(path).map_err(failed)?.file_type();
        if kind.is_dir() {
            return Err(Error::failed(format!("{} is a directory", path.display())));
        }
        if !kind.is_file() && !kind.is_block_device() {
            let file = File::open(path).map_err(failed)?;
            return Ok(Self::Stream(file, path.to_owned(), 0));
        }
        let mut file = File::open(path).map_err(failed)?;
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self::File(file, path.to_owned(), size))
    }

    /// The same, if it is a stream, with room for `room` bytes.
    pub(super) fn with_room(self, room: u64) -> Self {
        match self {
            Self::Stream(file, path, _) => Self::Stream(file, path, room),
            file @ Self::File(..) => file,
        }
    }

    /// Its size in bytes; of a stream, for how many there is room.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::File(_, _, size) | Self::Stream(_, _, size) => *size,
        }
    }

    /// Hands all of it to `sink`, in order and without gaps, with the byte at which each piece
    /// begins.
    pub(super) fn each(
        &self,
        mut sink: impl FnMut(u64, Piece<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::Stream(file, path, room) => {
                read_to_end(file, *room, &mut sink).map_err(|failure| failure.named(path))
            }
            Self::File(file, path, size) => {
                read_file(file, *size, &mut sink).map_err(|failure| failure.named(path))
            }
        }
    }
}

enum Failure {
    Read(std::io::Error),
    Sink(Error),
}

impl Failure {
    fn named(self, path: &Path) -> Error {
        match self {
            Self::Read(error) => {
                Error::failed(format!("Could not read {}", path.display())).because(error)
            }
            Self::Sink(error) => error,
        }
    }
}

/// Reads a stream to its end, which must come before there is no more room.
fn read_to_end(
    mut file: &File,
    room: u64,
    sink: &mut dyn FnMut(u64, Piece<'_>) -> Result<(), Error>,
) -> Result<(), Failure> {
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    loop {
        // Whole chunks, so that runs of zeros are seen as such.
        let length = fill(&mut file, &mut buffer).map_err(Failure::Read)?;
        let fits = ((room - at) as usize).min(length);
        if fits > 0 {
            sink(at, Piece::Data(&buffer[..fits])).map_err(Failure::Sink)?;
            at += fits as u64;
        }
        if fits < length {
            return Err(Failure::Sink(Error::failed(format!(
                "There is more than the {room} bytes for which there is room"
            ))));
        }
        if length < CHUNK {
            return Ok(());
        }
    }
}

fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match input.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn read_file(
    file: &File,
    size: u64,
    sink: &mut dyn FnMut(u64, Piece<'_>) -> Result<(), Error>,
) -> Result<(), Failure> {
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    while at < size {
        let data = data_from(file, at, size);
        if data > at {
            sink(at, Piece::Zeroes(data - at)).map_err(Failure::Sink)?;
            at = data;
            continue;
        }
        let end = hole_from(file, at, size);
        while at < end {
            let length = ((end - at) as usize).min(CHUNK);
            let chunk = &mut buffer[..length];
            file.read_exact_at(chunk, at).map_err(Failure::Read)?;
            sink(at, Piece::Data(chunk)).map_err(Failure::Sink)?;
            at += length as u64;
        }
    }
    Ok(())
}

/// Where the next data is, at `at` or behind; the end if there is none.
fn data_from(file: &File, at: u64, size: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(data) => data.clamp(at, size),
        Err(Errno::NXIO) => size,
        // A file system, or a disk, that does not tell.
        Err(_) => at,
    }
}

/// Where the data that is at `at` ends.
fn hole_from(file: &File, at: u64, size: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(at)) {
        Ok(hole) if hole > at => hole.min(size),
        _ => size,
    }
}
