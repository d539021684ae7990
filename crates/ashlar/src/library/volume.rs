//! A logical volume as a file: read, seek, write.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use block::{BlockingDevice, Device};

use crate::live::Use;
use crate::{Error, Kind, Result};

/// A logical volume, used by one thread: it reads, writes and seeks like a file.
///
/// What is written is durable after [`Write::flush`], or after [`Volume::close`]. Other threads use
/// [`Volume::device`], whose queues are asked without blocking; other programs use it through
/// [`Volume::serve`].
pub struct Volume {
    // Asked last of all, so dropped before the use that lets it.
    blocking: BlockingDevice,
    device: Arc<dyn Device>,
    position: u64,
    gaps: Vec<String>,
    used: Option<Use>,
}

impl std::fmt::Debug for Volume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Volume({})", self.blocking.info().name)
    }
}

impl Volume {
    pub(super) fn new(
        device: Arc<dyn Device>,
        gaps: Vec<String>,
        used: Option<Use>,
    ) -> Result<Self> {
        let blocking = BlockingDevice::open(&*device).map_err(|error| {
            let what = format!("{} cannot be used", device.info().name);
            Error::new(Kind::Device, what).because(error)
        })?;
        Ok(Self {
            blocking,
            device,
            position: 0,
            gaps,
            used,
        })
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.blocking.info().size
    }

    /// What is missing of it, one sentence each; reading what is missing fails.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }

    /// The device, for any thread. One that can be written may be used as long as this volume.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Fills `into` with what the volume holds from byte `start`. Fails where that is not in it.
    pub fn read_at(&mut self, into: &mut [u8], start: u64) -> io::Result<()> {
        Ok(self.blocking.read_at(into, start)?)
    }

    /// Stores `from` at byte `start`. Fails where that is not in the volume, or it was opened for
    /// reading.
    pub fn write_at(&mut self, from: &[u8], start: u64) -> io::Result<()> {
        Ok(self.blocking.write_at(from, start)?)
    }

    /// Ends the use; what was written is durable when this returns without an error.
    pub fn close(self) -> Result<()> {
        let Self {
            blocking,
            device,
            used,
            ..
        } = self;
        // A mirror ends with its last device, and may write until then: before the locks go.
        drop((blocking, device));
        used.map_or(Ok(()), Use::close)
    }

    /// How many of `wanted` bytes there are from the position on.
    fn available(&self, wanted: usize) -> usize {
        let left = self.size().saturating_sub(self.position);
        let available = usize::try_from(left).map_or(wanted, |left| left.min(wanted));
        debug_assert!(available as u64 <= left, "no more is there than is left");
        available
    }
}

impl Read for Volume {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.available(into.len());
        if count == 0 {
            return Ok(0);
        }
        self.read_at(&mut into[..count], self.position)?;
        self.position += count as u64;
        debug_assert!(
            self.position <= self.size(),
            "nothing is read behind the end"
        );
        Ok(count)
    }
}

impl Write for Volume {
    /// Stores what fits; at the end of the volume that is nothing.
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let count = self.available(from.len());
        if count == 0 {
            return Ok(0);
        }
        self.write_at(&from[..count], self.position)?;
        self.position += count as u64;
        debug_assert!(
            self.position <= self.size(),
            "nothing is written behind the end"
        );
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(self.blocking.flush()?)
    }
}

impl Seek for Volume {
    /// The position may be behind the end, where nothing is read.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, offset) = match to {
            SeekFrom::Start(position) => (position, 0),
            SeekFrom::End(offset) => (self.size(), offset),
            SeekFrom::Current(offset) => (self.position, offset),
        };
        let position = base.checked_add_signed(offset);
        self.position = position.ok_or_else(|| {
            let what = format!("{} has no byte {base}{offset:+}", self.blocking.info().name);
            io::Error::new(io::ErrorKind::InvalidInput, what)
        })?;
        Ok(self.position)
    }
}
