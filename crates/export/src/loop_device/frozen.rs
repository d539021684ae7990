//! File systems that rest for a moment, so that a copy of their device is as after an unmount.
//!
//! As device-mapper does it with what it suspends (`lock_fs`), but from outside of the kernel: the
//! mounts of the device are looked up, and frozen by their folders (`FIFREEZE`, linux/fs.h). Only
//! what this process's mount namespace shows is found; of the rest the cached pages are written.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::mounts::place_of;

const FIFREEZE: libc::Ioctl = 0xC004_5877_u32 as libc::Ioctl;
const FITHAW: libc::Ioctl = 0xC004_5878_u32 as libc::Ioctl;

/// The file systems that this process has frozen, by folders in them.
#[derive(Debug, Default)]
pub(super) struct Frozen(Vec<File>);

impl Frozen {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes out what is cached of `device`, and freezes the file system in it.
    pub(super) fn freeze(&mut self, device: BorrowedFd<'_>) -> io::Result<()> {
        let number = rustix::fs::fstat(device)?.st_rdev;
        // All mounts of a device are of one file system, which is frozen once.
        if let Some(path) = place_of(number) {
            let folder = File::open(path)?;
            match order(&folder, FIFREEZE) {
                Ok(()) => self.0.push(folder),
                // Somebody else has frozen it, and it is not ours to thaw.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                    rustix::fs::syncfs(&folder)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(rustix::fs::fsync(device)?)
    }

    /// Lets them go on.
    pub(super) fn thaw(&mut self) -> io::Result<()> {
        let mut outcome = Ok(());
        for folder in self.0.drain(..) {
            // It is not frozen any more if somebody else has thawed it.
            outcome = outcome.and(order(&folder, FITHAW).or_else(|error| {
                let is_thawed = error.raw_os_error() == Some(libc::EINVAL);
                if is_thawed { Ok(()) } else { Err(error) }
            }));
        }
        outcome
    }
}

fn order(folder: &File, order: libc::Ioctl) -> io::Result<()> {
    // SAFETY: these requests take no argument.
    match unsafe { libc::ioctl(folder.as_raw_fd(), order, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
