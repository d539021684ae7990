//! The threads that answer the kernel.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::thread::JoinHandle;

use block::{Access, Device, Driver, Error, Result, Waker};

use crate::fuse::gate::Gate;
use crate::fuse::mount::Mount;
use crate::fuse::protocol::{Attributes, FILE, REPLY_HEADER};
use crate::fuse::worker::Worker;

/// Threads beyond this bring nothing to one file.
const THREADS_MAX: usize = 16;

/// Permission bits of the file: those of its owner.
pub(crate) fn mode(access: Access) -> u32 {
    match access {
        Access::ReadOnly => 0o400,
        Access::ReadWrite => 0o600,
    }
}

/// How a device is served as a file.
#[derive(Debug, Clone)]
pub struct Options {
    /// What clients may do. A read-only device is read-only whatever this says.
    pub access: Access,
    /// How many threads answer: 1 to 16.
    pub threads: usize,
}

/// What the threads of one export share.
pub(crate) struct Shared {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) access: Access,
    /// The logical block, in bytes.
    pub(crate) block: u32,
    /// The size last seen, in bytes.
    pub(crate) size: AtomicU64,
    pub(crate) gate: Gate,
    pub(crate) stop: AtomicBool,
    owner: u32,
    group: u32,
    time: u64,
}

impl Shared {
    fn new(device: Arc<dyn Device>, access: Access) -> Self {
        let info = device.info();
        let access = if info.read_only {
            Access::ReadOnly
        } else {
            access
        };
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            device,
            access,
            block: info.logical_block,
            size: AtomicU64::new(info.size),
            gate: Gate::default(),
            stop: AtomicBool::new(false),
            owner: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
            time: time.map_or(0, |time| time.as_secs()),
        }
    }

    /// Asks the device for its size again, in bytes.
    pub(crate) fn refresh_size(&self) -> u64 {
        let size = self.device.info().size;
        self.size.store(size, Ordering::Relaxed);
        size
    }

    /// What the file looks like now.
    pub(crate) fn attributes(&self) -> Attributes {
        Attributes {
            size: self.refresh_size(),
            mode: mode(self.access),
            owner: self.owner,
            group: self.group,
            block_size: self.block.max(4096),
            time: self.time,
        }
    }
}

/// A device that is served as a file. Dropping it takes the file away.
#[derive(Debug)]
pub struct FuseFile {
    /// `None`: whoever mounted it takes it away.
    mount: Option<Mount>,
    shared: Arc<Shared>,
    channel: Arc<OwnedFd>,
    threads: Vec<(Waker, JoinHandle<()>)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shared({:?})", self.access)
    }
}

impl FuseFile {
    /// Serves `device` over the regular file at `path`, which must exist.
    pub fn serve(device: Arc<dyn Device>, path: &Path, options: &Options) -> Result<Self> {
        let shared = Arc::new(Shared::new(device, options.access));
        let (mount, channel) = Mount::new(path, shared.access)?;
        Self::start(Some(mount), shared, channel, options)
    }

    /// Serves `device` to the kernel behind `channel`, which came with a [`Mount`].
    pub fn answer(device: Arc<dyn Device>, channel: OwnedFd, options: &Options) -> Result<Self> {
        let shared = Arc::new(Shared::new(device, options.access));
        Self::start(None, shared, channel, options)
    }

    fn start(
        mount: Option<Mount>,
        shared: Arc<Shared>,
        channel: OwnedFd,
        options: &Options,
    ) -> Result<Self> {
        let mut file = Self {
            mount,
            shared,
            channel: Arc::new(channel),
            threads: Vec::new(),
        };
        for index in 0..options.threads.clamp(1, THREADS_MAX) {
            file.start_thread(index)?;
        }
        assert!(!file.threads.is_empty(), "somebody serves the file");
        assert!(file.threads.len() <= THREADS_MAX, "threads have a limit");
        Ok(file)
    }

    /// Where the file is, as an absolute path; empty if somebody else mounted it.
    pub fn path(&self) -> &Path {
        self.mount.as_ref().map_or(Path::new(""), Mount::path)
    }

    /// Whether the mount is gone: somebody unmounted it, or the connection was aborted.
    pub fn is_ended(&self) -> bool {
        self.threads.iter().all(|(_, thread)| thread.is_finished())
    }

    /// What tells the kernel of another size, for whoever learns of it.
    pub fn announcer(&self) -> Announcer {
        Announcer {
            shared: Arc::downgrade(&self.shared),
            channel: Arc::downgrade(&self.channel),
        }
    }

    /// Tells the kernel that the device has another size now.
    pub fn announce_size(&self) -> Result<()> {
        self.announcer().announce()
    }

    /// Takes the file away and waits for the requests under way. Who still has it open gets
    /// errors from then on.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let removed = self.mount.as_mut().map_or(Ok(()), Mount::remove);
        self.shared.stop.store(true, Ordering::Release);
        for (waker, thread) in self.threads.drain(..) {
            waker.wake();
            // A panic there has been reported there.
            let _ = thread.join();
        }
        removed
    }

    fn start_thread(&mut self, index: usize) -> Result<()> {
        let channel = match index {
            0 => Arc::clone(&self.channel),
            _ => Arc::new(clone_channel(&self.channel)?),
        };
        let shared = Arc::clone(&self.shared);
        let (ready, started) = mpsc::sync_channel(1);
        let body = move || {
            let driver = match Driver::new() {
                Ok(driver) => driver,
                Err(error) => return ready.send(Err(error)).unwrap_or_default(),
            };
            match Worker::new(shared, channel, driver.clone()) {
                Ok(worker) => {
                    if ready.send(Ok(driver.waker())).is_ok() {
                        worker.run();
                    }
                }
                Err(error) => ready.send(Err(error)).unwrap_or_default(),
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("fuse{index}"))
            .spawn(body)
            .map_err(|error| Error::io("cannot start a thread for FUSE", error))?;
        let waker = started.recv().expect("the thread reports before it ends")?;
        self.threads.push((waker, thread));
        Ok(())
    }
}

/// Tells the kernel that a device has another size, as long as it is served.
#[derive(Debug, Clone)]
pub struct Announcer {
    shared: Weak<Shared>,
    channel: Weak<OwnedFd>,
}

impl Announcer {
    /// Tells it now.
    pub fn announce(&self) -> Result<()> {
        const INVALIDATE_INODE: u32 = 2;
        let (Some(shared), Some(channel)) = (self.shared.upgrade(), self.channel.upgrade()) else {
            return Ok(());
        };
        shared.refresh_size();
        // A header without a request's number whose error says what it is, then inode, offset and
        // length: -1 and 0 mean the attributes only.
        let mut message = [0_u8; REPLY_HEADER + 24];
        let len = message.len() as u32;
        message[..4].copy_from_slice(&len.to_ne_bytes());
        message[4..8].copy_from_slice(&INVALIDATE_INODE.to_ne_bytes());
        message[16..24].copy_from_slice(&FILE.to_ne_bytes());
        message[24..32].copy_from_slice(&(-1_i64).to_ne_bytes());
        match rustix::io::write(&*channel, &message) {
            // The kernel has nothing cached yet.
            Ok(_) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(errno) => {
                let what = "cannot announce the new size of a file";
                Err(Error::io(what, errno.into()))
            }
        }
    }
}

impl Drop for FuseFile {
    fn drop(&mut self) {
        // Whoever wants to know calls `stop`.
        let _ = self.end();
    }
}

/// A second channel of the same connection, so that threads do not share one lock in the kernel.
fn clone_channel(channel: &OwnedFd) -> Result<OwnedFd> {
    /// `_IOR(229, 0, uint32_t)` of the kernel's `fuse.h`.
    const FUSE_DEV_IOC_CLONE: libc::Ioctl = 0x8004_e500_u32 as libc::Ioctl;
    let flags =
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NONBLOCK;
    let failed = |error| Error::io("cannot open a second channel to FUSE", error);
    let clone = rustix::fs::open("/dev/fuse", flags, rustix::fs::Mode::empty())
        .map_err(|errno| failed(errno.into()))?;
    let source = channel.as_raw_fd() as u32;
    // SAFETY: the request reads one u32, which lives across the call.
    let result = unsafe {
        libc::ioctl(
            clone.as_fd().as_raw_fd(),
            FUSE_DEV_IOC_CLONE,
            &raw const source,
        )
    };
    if result != 0 {
        return Err(failed(std::io::Error::last_os_error()));
    }
    Ok(clone)
}
