//! Where the bytes of a volume come from.

use std::fs::File;
use std::os::unix::fs::FileExt;

use block::BlockingDevice;

use crate::error::{Error, Kind, Result};

/// The bytes of a volume.
pub trait Source {
    /// How many there are.
    fn size(&self) -> u64;

    /// Fills `into` with what is at byte `start`; all of it lies on the volume.
    fn read_at(&mut self, start: u64, into: &mut [u8]) -> Result<()>;
}

impl Source for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&mut self, start: u64, into: &mut [u8]) -> Result<()> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let from = self.get(start..).and_then(|rest| rest.get(..into.len()));
        let from = from.ok_or_else(|| Error::new(Kind::Impossible, "it ends before"))?;
        into.copy_from_slice(from);
        Ok(())
    }
}

impl Source for File {
    fn size(&self) -> u64 {
        self.metadata().map_or(0, |metadata| metadata.len())
    }

    fn read_at(&mut self, start: u64, into: &mut [u8]) -> Result<()> {
        let read = self.read_exact_at(into, start);
        read.map_err(|error| Error::io(format!("{} bytes at byte {start}", into.len()), error))
    }
}

impl Source for BlockingDevice {
    fn size(&self) -> u64 {
        self.info().size
    }

    fn read_at(&mut self, start: u64, into: &mut [u8]) -> Result<()> {
        BlockingDevice::read_at(self, into, start).map_err(|error| {
            let what = format!("{} bytes at byte {start}", into.len());
            Error::io(what, std::io::Error::other(error.to_string()))
        })
    }
}
