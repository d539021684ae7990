//! A device while a scan reads it: plain positional reads of a file or a block device.
//!
//! A scan reads a handful of sectors of each device, once. Opening a real device with its engine,
//! rings and probing would cost more than the reads, so this is a file descriptor and a window.
//! Reads go through the page cache, as stock's do.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;

use block::file::{Access, FileOptions};
use block::{BlockingDevice, Device, Range};
use lvm2::ondisk::AreaHeader;
use rustix::fs::{Advice, fadvise};

use super::found::{PvIndex, Scan};
use crate::device::open_whole;
use crate::host::{Location, Place, Window};
use crate::{Error, Kind, Result};

/// The most of a metadata area that is read, in bytes; stock's default area has 1 MiB.
const AREA_READ_MAX: u64 = 256 << 20;

/// A device that is open for reading.
#[derive(Debug)]
pub struct Source {
    backing: Backing,
    name: String,
    start: u64,
    size: u64,
}

/// What is read.
#[derive(Clone)]
enum Backing {
    File(Arc<File>),
    Device(Arc<dyn Device>),
}

impl std::fmt::Debug for Backing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(file) => write!(f, "{file:?}"),
            Self::Device(_) => f.write_str("Device"),
        }
    }
}

impl Source {
    /// A device that is open already.
    pub(super) fn of_device(device: Arc<dyn Device>, name: &str) -> Self {
        Self {
            start: 0,
            size: device.info().size,
            name: name.to_owned(),
            backing: Backing::Device(device),
        }
    }

    /// Opens the device at `location`, which people know as `name`.
    pub fn open(location: &Location, name: &str) -> Result<Self> {
        let failed = |error| Error::new(Kind::Device, format!("cannot open {name}")).because(error);
        let path = match &location.place {
            Place::File(path) => path,
            Place::Nbd(_) | Place::Array(_) => {
                let options = FileOptions::new(Access::ReadOnly);
                let (device, _) = open_whole(location, options).map_err(|error| {
                    let what = format!("cannot open {name}");
                    Error::new(Kind::Device, what).because(error)
                })?;
                let whole = Self::of_device(device, name);
                return match location.window {
                    None => Ok(whole),
                    Some(window) => whole.into_window(window),
                };
            }
        };
        // A path that was a file when it was listed may be a pipe by now: never wait for a writer.
        let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(flags as i32)
            .open(path)
            .map_err(failed)?;
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let whole = Self {
            backing: Backing::File(Arc::new(file)),
            name: name.to_owned(),
            start: 0,
            size,
        };
        match location.window {
            None => Ok(whole),
            Some(window) => whole.into_window(window),
        }
    }

    fn into_window(self, window: Window) -> Result<Self> {
        assert_eq!(self.start, 0, "windows do not nest");
        let end = window
            .start
            .checked_add(window.len)
            .filter(|end| *end <= self.size);
        if end.is_none() {
            let what = format!(
                "{} ends behind the end of what holds it, at byte {}; the image was cut off",
                self.name, self.size
            );
            return Err(Error::new(Kind::Damaged, what));
        }
        Ok(Self {
            start: window.start,
            size: window.len,
            ..self
        })
    }

    /// A part of this device, as a device.
    pub(super) fn window(&self, window: Window, name: &str) -> Result<Self> {
        let whole = Self {
            backing: self.backing.clone(),
            name: name.to_owned(),
            start: self.start,
            size: self.size,
        };
        whole.into_window(window)
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Asks the kernel to fetch what will be read soon, and does not wait for it.
    pub(super) fn ask_for(&self, start: u64, len: u64) {
        let Backing::File(file) = &self.backing else {
            return;
        };
        let (Some(start), Some(len)) = (self.start.checked_add(start), NonZeroU64::new(len)) else {
            return;
        };
        // Advice: where it cannot be followed, the read that comes anyway says why.
        let _ = fadvise(file, start, Some(len), Advice::WillNeed);
    }

    /// `len` bytes from byte `start`.
    pub fn read(&self, start: u64, len: usize) -> Result<Vec<u8>> {
        let end = start
            .checked_add(len as u64)
            .filter(|end| *end <= self.size);
        if end.is_none() {
            let what = format!(
                "{} has only {} bytes, and {len} bytes at byte {start} are needed",
                self.name, self.size
            );
            return Err(Error::new(Kind::Damaged, what));
        }
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            let what = format!("cannot read {len} bytes at byte {start} of {}", self.name);
            Error::new(Kind::Device, what).because(error)
        };
        match &self.backing {
            Backing::File(file) => {
                let mut bytes = vec![0; len];
                let read = file.read_exact_at(&mut bytes, self.start + start);
                read.map_err(|error| failed(error.into()))?;
                Ok(bytes)
            }
            Backing::Device(device) => {
                let range = Range::new(self.start + start, len as u64);
                let read = BlockingDevice::open(&**device).and_then(|mut io| io.read(range));
                read.map_err(|error| failed(error.into()))
            }
        }
    }
}

/// The bytes of a physical volume's metadata area, as far as they are read, with its header; `None`
/// where the header is damaged, which the scan has reported.
pub(crate) fn area_bytes(
    scan: &Scan,
    pv: PvIndex,
    area: usize,
) -> Result<Option<(Vec<u8>, AreaHeader)>> {
    let device = scan.device(scan.pv(pv).device);
    let Some(header) = &scan.pv(pv).areas[area].header else {
        return Ok(None);
    };
    let source = Source::open(&device.location, &device.name)?;
    let len = header.size.0.min(AREA_READ_MAX);
    let bytes = source.read(header.start.0, len as usize)?;
    Ok(Some((bytes, *header)))
}
