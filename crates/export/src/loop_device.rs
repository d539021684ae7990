//! A kernel loop device over a file: the block device node of a machine without ublk and nbd.
//!
//! The device is configured in one step (`LOOP_CONFIGURE`, Linux 5.8) with direct I/O, so that
//! nothing is cached twice, and goes away with its last opener (`AUTOCLEAR`); whoever made it
//! holds it open for as long as it is served, itself or by a [`keeper`]. Structures and numbers:
//! the kernel's `linux/loop.h`.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Weak};

use block::{Error, Kind, Result};

use self::keeper::Keeper;
use crate::fuse::Access;

mod frozen;
pub mod keeper;

const LOOP_SET_CAPACITY: libc::Ioctl = 0x4C07;
/// `_IO(0x12, 93)` of the kernel's `linux/fs.h`.
const BLKROSET: libc::Ioctl = 0x125d;
const LOOP_CLR_FD: libc::Ioctl = 0x4C01;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;

const LO_FLAGS_READ_ONLY: u32 = 1;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// How often another process may take the free device before us.
const ATTEMPTS_MAX: usize = 64;
/// Bytes of a name that the kernel keeps.
const NAME_MAX: usize = 64;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; NAME_MAX],
    crypt_name: [u8; NAME_MAX],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopInfo>() == 232, "the kernel's structure");
const _: () = assert!(size_of::<LoopConfig>() == 304, "the kernel's structure");

/// A loop device that is held open.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    holder: Arc<Holder>,
    backing: PathBuf,
}

/// A loop device for those who do not hold it: they can do something with it as long as it is
/// held.
#[derive(Debug, Clone)]
pub struct Handle {
    path: PathBuf,
    holder: Weak<Holder>,
    backing: PathBuf,
}

/// Who has the device open.
#[derive(Debug)]
enum Holder {
    /// This process, which does not serve the file below.
    Here(File),
    Keeper(Keeper),
}

impl LoopDevice {
    /// The same as [`LoopDevice::attach`] for a file that this process serves: a process of
    /// `command`, which must run [`keeper::keep`], holds the device.
    pub fn attach_kept(
        backing: &Path,
        access: Access,
        block_size: u32,
        command: Command,
    ) -> Result<Self> {
        let (path, file) = Self::bind(backing, access, block_size)?;
        let keeper = Keeper::start(command, file)?;
        Ok(Self::held(path, Holder::Keeper(keeper), backing))
    }

    /// Puts a free loop device with blocks of `block_size` bytes over `backing`, a file that
    /// another process serves or a disk holds: see [`LoopDevice::attach_kept`].
    pub fn attach(backing: &Path, access: Access, block_size: u32) -> Result<Self> {
        let (path, file) = Self::bind(backing, access, block_size)?;
        Ok(Self::held(path, Holder::Here(file), backing))
    }

    fn held(path: PathBuf, holder: Holder, backing: &Path) -> Self {
        Self {
            path,
            holder: Arc::new(holder),
            backing: backing.to_owned(),
        }
    }

    /// A device over `backing`, and what keeps it.
    fn bind(backing: &Path, access: Access, block_size: u32) -> Result<(PathBuf, File)> {
        let write = access == Access::ReadWrite;
        let open_backing = |flags| {
            let mut options = OpenOptions::new();
            options.read(true).write(write).custom_flags(flags);
            options.open(backing)
        };
        let file = open_backing(libc::O_DIRECT)
            .or_else(|_| open_backing(0))
            .map_err(|error| Error::io(format!("cannot open {}", backing.display()), error))?;
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/loop-control");
        let control = control.map_err(|error| {
            Error::io(
                "cannot open /dev/loop-control (root only; is the loop module there?)",
                error,
            )
        })?;
        for _ in 0..ATTEMPTS_MAX {
            // SAFETY: this request takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                let error = std::io::Error::last_os_error();
                return Err(Error::io("no free loop device", error));
            }
            if let Some(device) = Self::configure(number, &file, access, block_size)? {
                return Ok(device);
            }
        }
        Err(Error::new(
            Kind::Open,
            "every free loop device was taken by somebody else: try again",
        ))
    }

    /// `None`: another process was faster.
    fn configure(
        number: i32,
        opened: &File,
        access: Access,
        block: u32,
    ) -> Result<Option<(PathBuf, File)>> {
        assert!(number >= 0, "a device has a number");
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let failed = |error| Error::io(format!("cannot configure {}", path.display()), error);
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(access == Access::ReadWrite)
            .open(&path)
            .map_err(failed)?;
        let read_only = if access == Access::ReadOnly {
            LO_FLAGS_READ_ONLY
        } else {
            0
        };
        let config = LoopConfig {
            fd: opened.as_raw_fd() as u32,
            block_size: block,
            info: LoopInfo {
                device: 0,
                inode: 0,
                rdevice: 0,
                offset: 0,
                size_limit: 0,
                number: 0,
                encrypt_type: 0,
                encrypt_key_size: 0,
                flags: read_only | LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
                file_name: [0; NAME_MAX],
                crypt_name: [0; NAME_MAX],
                encrypt_key: [0; 32],
                init: [0; 2],
            },
            reserved: [0; 8],
        };
        // SAFETY: the kernel reads one `loop_config`, which lives across the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
        if result == 0 {
            return Ok(Some((path, file)));
        }
        let error = std::io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::EBUSY) {
            Ok(None)
        } else {
            Err(failed(error))
        }
    }

    /// The node: `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still held: `false` if its keeper was killed.
    pub fn is_held(&self) -> bool {
        match &*self.holder {
            Holder::Here(_) => true,
            Holder::Keeper(keeper) => keeper.is_alive(),
        }
    }

    /// The device for somebody who does not hold it.
    pub fn handle(&self) -> Handle {
        Handle {
            path: self.path.clone(),
            holder: Arc::downgrade(&self.holder),
            backing: self.backing.clone(),
        }
    }
}

/// A device whose file system rests.
#[derive(Debug)]
pub struct Frozen(Arc<Holder>);

impl Drop for Frozen {
    fn drop(&mut self) {
        if let Holder::Keeper(keeper) = &*self.0 {
            // A keeper that cannot be told thaws by itself.
            let _ = keeper.thaw();
        }
    }
}

impl Handle {
    /// Writes out what is cached of it, and lets a file system that is mounted from it rest until
    /// what this gives is dropped; a minute at most. `None`: the device is not held any more.
    ///
    /// Whoever serves the file below must be able to answer meanwhile.
    pub fn freeze(&self) -> Result<Option<Frozen>> {
        let Some(holder) = self.holder.upgrade() else {
            return Ok(None);
        };
        let written = match &*holder {
            Holder::Here(file) => file.sync_all(),
            Holder::Keeper(keeper) => keeper.freeze(),
        };
        let what = || format!("what is written to {} is not durable", self.path.display());
        written.map_err(|error| Error::io(what(), error))?;
        Ok(Some(Frozen(holder)))
    }

    /// Lets nobody open the device for writing any more who has not done so, or takes that back.
    pub fn set_read_only(&self, is_read_only: bool) -> Result<()> {
        let value = libc::c_int::from(is_read_only);
        let set = std::fs::File::open(&self.path).and_then(|node| {
            // SAFETY: the request reads one number, which lives longer than the call.
            match unsafe { libc::ioctl(node.as_raw_fd(), BLKROSET, &raw const value) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
        let what = || format!("{} keeps its permission", self.path.display());
        set.map_err(|error| Error::io(what(), error))
    }

    /// Takes the backing file's present size.
    ///
    /// Whoever serves that file must be able to answer meanwhile.
    pub fn refresh(&self) -> Result<()> {
        let Some(holder) = self.holder.upgrade() else {
            return Ok(());
        };
        // Kernels before 6.16 take the size that they know, and do not ask FUSE for it: this does.
        // A file that is gone keeps its size.
        let _ = std::fs::metadata(&self.backing);
        let taken = match &*holder {
            Holder::Here(file) => take_size(file.as_fd()),
            Holder::Keeper(keeper) => keeper.take_size(),
        };
        let what = || format!("{} keeps its old size", self.path.display());
        taken.map_err(|error| Error::io(what(), error))
    }
}

/// Gives an open loop device its backing file's size.
fn take_size(device: BorrowedFd<'_>) -> std::io::Result<()> {
    // SAFETY: this request takes no argument.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_SET_CAPACITY, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Whether a loop device is used by somebody beside its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Mounted, or claimed by another device.
    Held,
    /// Not claimed; it may still be open.
    Free,
}

/// Whether the block device at `path` is mounted or claimed by another one.
pub fn usage(path: &Path) -> Result<Use> {
    let failed = |error| Error::io(format!("cannot look at {}", path.display()), error);
    let found = std::fs::metadata(path).map_err(failed)?;
    if !found.file_type().is_block_device() {
        return Err(Error::new(
            Kind::Open,
            format!("{} is no block device", path.display()),
        ));
    }
    match OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_EXCL)
        .open(path)
    {
        Ok(_) => Ok(Use::Free),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(Use::Held),
        Err(error) => Err(failed(error)),
    }
}

/// Whether the loop device at `path` stands over the file `backing`, an absolute path. A number
/// that its owner gave up goes to whoever asks next.
pub fn is_over(path: &Path, backing: &Path) -> bool {
    let Some(name) = path.file_name() else {
        return false;
    };
    let link = Path::new("/sys/block").join(name).join("loop/backing_file");
    std::fs::read_to_string(link).is_ok_and(|text| Path::new(text.trim_end()) == backing)
}

/// Takes the file `backing` away from the loop device at `path`: what a killed server left. The
/// kernel does so at once, or when the last opener is gone. A device over another file is left
/// alone.
pub fn clear(path: &Path, backing: &Path) -> Result<()> {
    let cleared = File::open(path).and_then(|file| {
        // While it is open here it cannot go to another file.
        if !is_over(path, backing) {
            return Ok(());
        }
        // SAFETY: this request takes no argument.
        match unsafe { libc::ioctl(file.as_raw_fd(), LOOP_CLR_FD, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    });
    match cleared {
        // It has no backing file any more, or loses it: then it cannot be opened either.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(()),
        cleared => {
            cleared.map_err(|error| Error::io(format!("cannot clear {}", path.display()), error))
        }
    }
}

#[cfg(test)]
mod tests;
