//! Locks on single bytes of an open file: advisory, and gone with the open file description.
//!
//! They belong to the description (`F_OFD_SETLK`), not to the process: closing some other
//! descriptor of the same file does not drop them, and two openers in one process exclude each
//! other. A byte may lie behind the end of the file. On network file systems, and for block devices
//! that have several nodes, they exclude less than they seem to; who uses them decides.

use std::os::fd::{AsFd, AsRawFd};

use crate::{Error, Result};

/// How a byte is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockMode {
    /// With others who lock it like this.
    Shared,
    /// Alone.
    Exclusive,
}

/// Whether a lock was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a lock that was not had protects nothing"]
pub enum LockOutcome {
    /// It is held now.
    Held,
    /// Somebody else holds it.
    Busy,
}

/// Locks byte `at` of `file`, without waiting. An exclusive lock needs a file that is open for
/// writing.
pub fn lock_byte(file: &impl AsFd, at: u64, mode: LockMode) -> Result<LockOutcome> {
    let kind = match mode {
        LockMode::Shared => libc::F_RDLCK,
        LockMode::Exclusive => libc::F_WRLCK,
    };
    match set(file, at, kind) {
        Ok(()) => Ok(LockOutcome::Held),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Ok(LockOutcome::Busy),
            _ => Err(Error::io("cannot lock a byte of a file", error)),
        },
    }
}

/// Gives byte `at` of `file` back.
pub fn unlock_byte(file: &impl AsFd, at: u64) -> Result<()> {
    set(file, at, libc::F_UNLCK).map_err(|error| Error::io("cannot unlock a byte of a file", error))
}

/// Whether somebody else has byte `at` of `file` locked, in whichever mode.
pub fn is_byte_locked(file: &impl AsFd, at: u64) -> Result<bool> {
    let found = call(file, at, libc::F_OFD_GETLK, libc::F_WRLCK);
    let found = found.map_err(|error| Error::io("cannot test a lock of a file", error))?;
    Ok(found.l_type != libc::F_UNLCK as libc::c_short)
}

fn set(file: &impl AsFd, at: u64, kind: libc::c_int) -> std::io::Result<()> {
    call(file, at, libc::F_OFD_SETLK, kind).map(drop)
}

fn call(
    file: &impl AsFd,
    at: u64,
    command: libc::c_int,
    kind: libc::c_int,
) -> std::io::Result<libc::flock> {
    let at = i64::try_from(at).map_err(|_| std::io::Error::from_raw_os_error(libc::EINVAL))?;
    let mut lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: at,
        l_len: 1,
        // The kernel insists on 0 for these locks.
        l_pid: 0,
    };
    // SAFETY: the descriptor is open while `file` is borrowed, and the kernel reads and writes one
    // flock structure, which lives until the call returns. No safe wrapper knows these commands.
    let result = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), command, &raw mut lock) };
    if result == 0 {
        Ok(lock)
    } else {
        Err(std::io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests;
