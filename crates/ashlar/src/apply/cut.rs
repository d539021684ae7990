//! Cutting an image off behind its physical volume: the partition table, then the file.
//!
//! ```text
//!   |table|… partition with the physical volume |0 0 0 0 0 …|copy of the table|
//!                                                └ from here on only zeros and copies of the table
//! ```
//!
//! Only zeros are ever cut off, and copies of the image's own partition table: whatever else lies
//! behind the physical volume is somebody's, and refused. What the physical volume itself gave back
//! was made zeros before its size changed, so that this rule holds at every moment, also for a
//! command that goes on where another one was killed.
//!
//! Each write is durable before the next one, and the file is cut last. It happens under the locks
//! of the change that made the physical volume shorter. A file under a loop device is refused: the
//! kernel would not notice. Where the file of one has a path that leads nowhere here, as that of a
//! container may, its name decides.
//!
//! Does not: block devices, which do not become shorter. Does not find a loop device whose file has
//! a path that leads to another file here.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use block::partition::{Shortening, abandoned_copy, shorten};
use block::{Kind as BlockKind, Range};
use lvm2::{Bytes, SECTOR_SIZE};
use rustix::fs::SeekFrom;

use crate::host::{Location, Place, Window};
use crate::scan::DeviceIndex;
use crate::{Error, Kind, Result};

/// Files without a partition table end on multiples of this, as the others do.
const ALIGNMENT: u64 = 1 << 20;
/// How much is looked at together.
const CHUNK: u64 = 1 << 20;

/// An image to be cut off behind a physical volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The device of the physical volume: an image, or a partition in one.
    pub device: DeviceIndex,
    /// How much of that is needed.
    pub end: Bytes,
    /// What is expected of it.
    pub lengths: ImageLengths,
}

/// How long an image is, and how long it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLengths {
    /// The file.
    pub file: (u64, u64),
    /// The partition with its number, if there is one.
    pub partition: Option<(u32, u64, u64)>,
    /// How many flushes that takes.
    pub flushes: usize,
}

impl ImageLengths {
    /// Whether it is cut, or its table changes.
    pub fn is_shorter(&self) -> bool {
        let partition = self.partition.is_some_and(|(_, was, is)| is < was);
        self.file.1 < self.file.0 || partition
    }
}

/// Says what becomes of the image at `location` when only `end` bytes of the device are needed,
/// of which the physical volume has `held` now. An error says why it is not cut.
pub fn foresee_cut(location: &Location, end: Bytes, held: Bytes) -> Result<ImageLengths> {
    let Place::File(path) = &location.place else {
        return Err(refused("it is behind a server or an array, and no file"));
    };
    let file = File::open(path).map_err(|error| failed("cannot be opened", error))?;
    let image = Image::of(&file, location.window, end)?;
    image.require_zeros(&file, held.max(end))?;
    Ok(image.lengths)
}

/// Cuts an open image.
pub(super) fn cut(
    fd: BorrowedFd<'_>,
    name: &str,
    window: Option<Window>,
    end: Bytes,
) -> Result<()> {
    let explained = |error: Error| {
        let what = format!(
            "{name} is not cut, though nothing in it needs its end any more; run the command again \
             when that is mended"
        );
        Error::new(error.kind(), what).because(error.to_string())
    };
    // Opened anew: how the device reads and writes is its own matter.
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let file = File::options().read(true).write(true).open(path);
    let file = file.map_err(|error| explained(failed("cannot be opened", error)))?;
    let act = || {
        let image = Image::of(&file, window, end)?;
        image.require_zeros(&file, end)?;
        image.act(&file)
    };
    act().map_err(explained)
}

/// What becomes of an image.
struct Image {
    start: u64,
    lengths: ImageLengths,
    writes: Vec<(u64, Vec<u8>)>,
    copies: Vec<Range>,
}

impl Image {
    fn of(file: &File, window: Option<Window>, end: Bytes) -> Result<Self> {
        let found = file
            .metadata()
            .map_err(|error| failed("cannot be examined", error))?;
        if !found.is_file() {
            return Err(refused("it is a block device: only files become shorter"));
        }
        require_no_loop(file, &found, Path::new("/sys/block"))?;
        let size = found.len();
        let Some(window) = window else {
            let new = end.0.next_multiple_of(ALIGNMENT).min(size);
            return Ok(Self {
                start: 0,
                lengths: ImageLengths {
                    file: (size, new),
                    partition: None,
                    flushes: usize::from(new < size),
                },
                writes: Vec::new(),
                copies: Vec::new(),
            });
        };
        let read = |range: Range| {
            let bytes = read(file, range);
            bytes.map_err(|error| block::Error::io("cannot read the partition table", error))
        };
        let plan =
            shorten(size, window.partition, end.0, read).map_err(|error| match error.kind() {
                BlockKind::Invalid => refused(&error.to_string()),
                _ => Error::new(Kind::Device, "its partition table cannot be read").because(error),
            })?;
        let Shortening {
            partition,
            size: new,
            writes,
            copies,
        } = plan;
        assert!(new <= size, "a file only becomes shorter");
        assert!(partition.end() <= new, "the partition stays whole");
        if partition.start() != window.start {
            return Err(refused("its partition table was changed meanwhile"));
        }
        Ok(Self {
            start: window.start,
            lengths: ImageLengths {
                file: (size, new),
                partition: Some((window.partition, window.len, partition.len())),
                flushes: writes.len() + usize::from(new < size),
            },
            writes,
            copies,
        })
    }

    /// Fails where something lies behind `end` bytes of the device that is neither zero nor a copy
    /// of the partition table.
    fn require_zeros(&self, file: &File, end: Bytes) -> Result<()> {
        let (mut at, size) = (self.start.saturating_add(end.0), self.lengths.file.0);
        let mut abandoned = Abandoned::default();
        while at < size {
            match rustix::fs::seek(file, SeekFrom::Data(at)) {
                Ok(data) => at = data / SECTOR_SIZE * SECTOR_SIZE,
                // There is none.
                Err(rustix::io::Errno::NXIO) => return Ok(()),
                // Not every file system knows.
                Err(_) => {}
            }
            let len = CHUNK.min(size.saturating_sub(at));
            let bytes = read(file, Range::new(at, len));
            let bytes = bytes.map_err(|error| failed("cannot be read", error))?;
            let sectors = (at..).step_by(SECTOR_SIZE as usize);
            for (place, sector) in sectors.zip(bytes.chunks(SECTOR_SIZE as usize)) {
                let is_known = sector.iter().all(|byte| *byte == 0)
                    || self.is_of_table(place, sector)
                    || abandoned.has(file, &self.lengths, place)?;
                if !is_known {
                    return Err(refused(&format!(
                        "something lies behind the physical volume, at byte {place} of the file, \
                         and only zeros are cut off: take it away if nobody needs it"
                    )));
                }
            }
            at += len;
        }
        Ok(())
    }

    /// Whether a sector is one of a copy of the partition table, an old one or the next one.
    fn is_of_table(&self, at: u64, sector: &[u8]) -> bool {
        let is_next = |(start, bytes): &(u64, Vec<u8>)| {
            let from = at.checked_sub(*start).map(|from| from as usize);
            let there = from.and_then(|from| bytes.get(from..from + sector.len()));
            there == Some(sector)
        };
        is_in(&self.copies, at) || self.writes.iter().any(is_next)
    }

    fn act(&self, file: &File) -> Result<()> {
        for (at, bytes) in &self.writes {
            let written = file
                .write_all_at(bytes, *at)
                .and_then(|()| file.sync_data());
            written.map_err(|error| failed("its partition table cannot be written", error))?;
        }
        let (old, new) = self.lengths.file;
        assert!(new <= old, "a file only becomes shorter");
        if new < old {
            let cut = file.set_len(new).and_then(|()| file.sync_all());
            cut.map_err(|error| failed("cannot be made shorter", error))?;
        }
        Ok(())
    }
}

/// What an interrupted command left where it wanted the image to end.
#[derive(Default)]
struct Abandoned {
    /// The end that was asked for, and what lies before it.
    known: Option<(u64, Vec<Range>)>,
}

impl Abandoned {
    /// Whether the sector at `at` is one of a copy of the partition table.
    fn has(&mut self, file: &File, lengths: &ImageLengths, at: u64) -> Result<bool> {
        let Some((number, ..)) = lengths.partition else {
            return Ok(false);
        };
        let end = (at + 1).next_multiple_of(ALIGNMENT);
        if self.known.as_ref().is_none_or(|known| known.0 != end) {
            let bytes = |range| {
                let bytes = read(file, range);
                bytes.map_err(|error| block::Error::io("cannot read the partition table", error))
            };
            let copy = abandoned_copy(lengths.file.0, number, end, bytes);
            let copy = copy.map_err(|error| {
                Error::new(Kind::Device, "its partition table cannot be read").because(error)
            })?;
            self.known = Some((end, copy));
        }
        Ok(self.known.as_ref().is_some_and(|known| is_in(&known.1, at)))
    }
}

fn is_in(ranges: &[Range], at: u64) -> bool {
    let mut ranges = ranges.iter();
    ranges.any(|range| range.start() <= at && at < range.end())
}

fn read(file: &File, range: Range) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; range.len() as usize];
    file.read_exact_at(&mut bytes, range.start())?;
    Ok(bytes)
}

/// Refuses a file over which a loop device stands, or may stand.
fn require_no_loop(file: &File, found: &Metadata, disks: &Path) -> Result<()> {
    let own = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let own = own.map_err(|error| failed("has no name", error))?;
    for disk in std::fs::read_dir(disks).into_iter().flatten().flatten() {
        let backing = || {
            let bytes = std::fs::read(disk.path().join("loop/backing_file")).ok()?;
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            Some(PathBuf::from(OsStr::from_bytes(line)))
        };
        let Some(path) = backing() else {
            continue;
        };
        let why = match std::fs::metadata(&path) {
            Ok(other) if (other.dev(), other.ino()) == (found.dev(), found.ino()) => {
                "stands over it".to_owned()
            }
            // A file that was removed meanwhile is called so by now.
            Err(_) if path.file_name() == own.file_name() && backing().as_ref() == Some(&path) => {
                format!(
                    "stands over {}, which is not there under this name but may be it",
                    path.display()
                )
            }
            _ => continue,
        };
        let node = disk.file_name();
        return Err(refused(&format!(
            "/dev/{0} {why}: losetup -d /dev/{0} first",
            node.display()
        )));
    }
    Ok(())
}

fn refused(why: &str) -> Error {
    Error::new(Kind::Refused, why)
}

fn failed(what: &str, error: std::io::Error) -> Error {
    Error::new(Kind::Device, what).because(error)
}

#[cfg(test)]
mod tests;
