//! A device while a scan reads it: plain positional reads of a file or a block device.
//!
//! A scan reads a handful of sectors of each device, once. Opening a real device with its engine,
//! rings and probing would cost more than the reads, so this is a file descriptor and a window.
//! Reads go through the page cache, as stock's do.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use crate::host::{Location, Window};
use crate::{Error, Kind, Result};

/// A device that is open for reading.
#[derive(Debug)]
pub struct Source {
    file: File,
    name: String,
    start: u64,
    size: u64,
}

impl Source {
    /// Opens the device at `location`, which people know as `name`.
    pub fn open(location: &Location, name: &str) -> Result<Self> {
        let failed = |error| Error::new(Kind::Device, format!("cannot open {name}")).because(error);
        // A path that was a file when it was listed may be a pipe by now: never wait for a writer.
        let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(flags as i32)
            .open(&location.path)
            .map_err(failed)?;
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let whole = Self {
            file,
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
        let failed = |error| Error::new(Kind::Device, format!("cannot use {name}")).because(error);
        let file = self.file.try_clone().map_err(failed)?;
        let whole = Self {
            file,
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
        let mut bytes = vec![0; len];
        self.file
            .read_exact_at(&mut bytes, self.start + start)
            .map_err(|error| {
                let what = format!("cannot read {len} bytes at byte {start} of {}", self.name);
                Error::new(Kind::Device, what).because(error)
            })?;
        Ok(bytes)
    }
}
