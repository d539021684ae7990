//! Where a copy comes from: a volume or a file, handed out in order.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use block::{Device, Holes, Piece, Range, read_stream};
use rustix::io::Errno;
use target::volume::Volume;

use crate::args::Error;

/// How much of a file is read at once.
const CHUNK: usize = 1 << 20;

/// A volume or a file that is read.
pub(super) enum Source {
    /// A volume, with its name.
    Volume(Volume),
    /// A file, with its path and its size.
    File(File, PathBuf, u64),
}

impl Source {
    /// Opens a file or a device.
    pub(super) fn file(path: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::failed(format!("Could not read {}", path.display())).because(error)
        };
        let kind = std::fs::metadata(path).map_err(failed)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(Error::failed(format!(
                "{} is no file and no disk: it has no size that could be compared",
                path.display()
            )));
        }
        let mut file = File::open(path).map_err(failed)?;
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self::File(file, path.to_owned(), size))
    }

    /// Its size in bytes.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Volume(volume) => volume.info().size,
            Self::File(_, _, size) => *size,
        }
    }

    /// Hands all of it to `sink`, in order and without gaps, with the byte at which each piece
    /// begins.
    pub(super) fn each(
        &self,
        mut sink: impl FnMut(u64, Piece<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::Volume(volume) => {
                let all = Range::new(0, volume.info().size);
                read_stream(volume, all, Holes::Skip, sink)
            }
            Self::File(file, path, size) => {
                read_file(file, *size, &mut sink).map_err(|failure| match failure {
                    Failure::Read(error) => {
                        Error::failed(format!("Could not read {}", path.display())).because(error)
                    }
                    Failure::Sink(error) => error,
                })
            }
        }
    }
}

enum Failure {
    Read(std::io::Error),
    Sink(Error),
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
