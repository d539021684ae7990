//! An open file or block device.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path as FilePath;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::probe::{Backing, Path, Probed, probe};
use super::queue::FileQueue;
use super::{extents, steps};
use crate::{
    Access, BufferPool, Checked, Device, Driver, Error, Extent, FlushLatch, Info, Kind, Queue,
    Range, Result,
};

/// Whether the page cache stands between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Caching {
    /// Past the page cache where the file allows it.
    #[default]
    Probe,
    /// Through the page cache: for what is read again soon, or was just written by others.
    PageCache,
}

/// Whether others may use a block device at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Claim {
    /// They may.
    #[default]
    Shared,
    /// No file system, device-mapper or exclusive opener has it or gets it while it is open
    /// (`O_EXCL` on a block device). Files cannot be claimed like this; there it does nothing.
    Exclusive,
}

/// How to open a file.
#[derive(Debug, Clone, Copy)]
pub struct FileOptions {
    /// What may be done with it.
    pub access: Access,
    /// Whether through the page cache.
    pub caching: Caching,
    /// Whether alone.
    pub claim: Claim,
}

impl FileOptions {
    /// The usual way: probed, shared.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            caching: Caching::default(),
            claim: Claim::default(),
        }
    }
}

/// Bounce buffers that are kept though nobody uses them, in bytes.
const BOUNCE_IDLE_MAX: usize = 4 << 20;

/// A disk image or a block device.
#[derive(Debug)]
pub struct FileDevice {
    shared: Arc<Shared>,
    latch: FlushLatch,
    tail: u64,
}

/// What a file's queues share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) file: OwnedFd,
    pub(super) info: Info,
    pub(super) backing: Backing,
    pub(super) read: Path,
    pub(super) write: Path,
    /// A power of two, as `Probed` says.
    pub(super) memory_align: usize,
    pub(super) bounce: BufferPool,
    /// What the file turned out not to do; only ever set.
    pub(super) lacks: steps::Lacks,
}

impl Shared {
    /// Whether calls go past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.read == Path::Engine
    }
}

impl FileDevice {
    /// Opens the image file or block device at `path`.
    pub fn open(path: impl AsRef<FilePath>, access: Access) -> Result<Self> {
        Self::open_with(path, FileOptions::new(access))
    }

    /// Opens the image file or block device at `path` in a particular way.
    pub fn open_with(path: impl AsRef<FilePath>, options: FileOptions) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        // Opening a pipe would wait for its other end, so nothing may wait while opening.
        let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        flags |= match options.access {
            Access::ReadOnly => OFlags::RDONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        if options.claim == Claim::Exclusive {
            flags |= OFlags::EXCL;
        }
        let file = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| open_error(&name, errno))?;
        Self::from_fd(file, name, options.access, options.caching)
    }

    /// Takes a file that is open already, in the way that `access` says.
    pub fn from_fd(
        file: OwnedFd,
        name: impl Into<String>,
        access: Access,
        caching: Caching,
    ) -> Result<Self> {
        let name = name.into();
        let flags = rustix::fs::fcntl_getfl(&file)
            .and_then(|flags| rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK));
        flags.map_err(|errno| open_error(&name, errno))?;
        let probed = probe(file.as_fd(), &name, access, caching)?;
        Ok(Self::from_probed(file, probed))
    }

    fn from_probed(file: OwnedFd, probed: Probed) -> Self {
        let block = u64::from(probed.info.logical_block);
        assert!(
            probed.info.size.is_multiple_of(block),
            "a device has whole blocks"
        );
        assert!(
            probed.tail < super::probe::SECTOR,
            "a whole sector is no rest"
        );
        assert!(
            probed.memory_align.is_power_of_two(),
            "an alignment is a power of two"
        );
        assert!(
            probed.memory_align <= crate::BLOCK_ALIGN,
            "buffers are aligned so"
        );
        let shared = Shared {
            file,
            info: probed.info,
            backing: probed.backing,
            read: probed.read,
            write: probed.write,
            memory_align: probed.memory_align,
            bounce: BufferPool::new(BOUNCE_IDLE_MAX),
            lacks: steps::Lacks::default(),
        };
        Self {
            shared: Arc::new(shared),
            latch: FlushLatch::default(),
            tail: probed.tail,
        }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Bytes at the end of the file that are no whole sector, and so no part of the device.
    pub fn unused_tail(&self) -> u64 {
        self.tail
    }

    /// Whether it goes past the page cache.
    pub fn is_direct(&self) -> bool {
        self.shared.is_direct()
    }
}

impl AsFd for FileDevice {
    /// The open file: for locks, which belong to the open file description.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }
}

impl Device for FileDevice {
    fn info(&self) -> Info {
        self.shared.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        let queue = FileQueue::new(Arc::clone(&self.shared), driver);
        let checked = Checked::new(queue, driver, self.info(), self.latch.clone());
        Ok(Box::new(checked))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        extents::extents(&self.shared, range, count_max)
    }
}

fn open_error(name: &str, errno: rustix::io::Errno) -> Error {
    use rustix::io::Errno;
    let hint = match errno {
        Errno::BUSY => ": it is in use (mounted, or held by device-mapper, md or another program)",
        Errno::ACCESS | Errno::PERM => ": become root, or ask for the right to it",
        Errno::ROFS => " for writing: it is on something read-only",
        _ => "",
    };
    Error::io(format!("cannot open {name}{hint}"), errno.into()).with_kind(Kind::Open)
}

#[cfg(test)]
mod tests;
