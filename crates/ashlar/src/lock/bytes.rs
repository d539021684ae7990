//! Byte locks on the physical volumes themselves.
//!
//! ```text
//!   byte 0x4153484c41520000   owner     the process that serves volumes of the group
//!   byte 0x4153484c41520001   commit    the process that writes metadata
//!   byte 0x4153484c41530000   leg       the process that writes an array of md's of which it is a
//!                  + number            leg, or its partition of that number is
//! ```
//!
//! The bytes ("ASHLAR" and a number) lie behind the end of any device, so that they cannot meet
//! locks that other programs take on content.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use block::file::{LockMode, LockOutcome, lock_byte, unlock_byte};

use super::holder::{ashlars, is_open_elsewhere};
use super::owned::FileId;
use super::wait::{Wait, tries};
use crate::{Error, Kind, Result};

/// What a byte lock protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockByte {
    /// Serving volumes of the group.
    Owner,
    /// Writing metadata.
    Commit,
    /// Writing an array of md's of which it is a leg, or this partition of it.
    Leg(u32),
}

impl LockByte {
    fn offset(self) -> u64 {
        const ASHLAR: u64 = 0x4153_484c_4152_0000;
        const { assert!(ASHLAR < i64::MAX as u64, "a lock lies where a file may end") };
        match self {
            Self::Owner => ASHLAR,
            Self::Commit => ASHLAR + 1,
            Self::Leg(partition) => ASHLAR + 0x1_0000 + u64::from(partition),
        }
    }

    fn purpose(self) -> &'static str {
        match self {
            Self::Owner => "served",
            Self::Commit => "changed",
            Self::Leg(_) => "written, as a leg of an array,",
        }
    }
}

/// The same byte, locked on several physical volumes until this is dropped.
#[derive(Debug)]
#[must_use = "locks are held only as long as this is"]
pub struct PvLocks {
    byte: LockByte,
    held: Vec<OwnedFd>,
}

/// Locks `byte` on all of `files`, the open files of physical volumes with their names, waiting at
/// most for `limit` in all. Either all are held afterwards, or none. A file that holds several of
/// them, as an image with partitions does, is locked once. The order is that of the files, whatever
/// stands in them, so that two who want the same ones never wait for each other.
pub fn lock_pvs<F: AsFd>(
    files: &[(&str, F)],
    byte: LockByte,
    mode: LockMode,
    limit: Duration,
) -> Result<PvLocks> {
    let wait = Wait::at_most(limit);
    // A duplicate shares the open file description, and so the lock.
    let mut order = BTreeMap::new();
    for (name, file) in files {
        let own = file.as_fd().try_clone_to_owned();
        let own = own.and_then(|own| Ok((FileId::of(&own)?, own)));
        let (id, own) = own.map_err(|error| unlockable(name).because(error))?;
        order.entry(id).or_insert((*name, own));
    }
    let count = order.len();
    let mut locks = PvLocks {
        byte,
        held: Vec::new(),
    };
    for (name, own) in order.into_values() {
        let lock = || lock_byte(&own, byte.offset(), mode);
        tries();
        loop {
            match lock().map_err(|error| unlockable(name).because(error))? {
                LockOutcome::Held => break,
                LockOutcome::Busy if wait.again() => {}
                LockOutcome::Busy => {
                    let what = format!(
                        "{name} is being {} by another ashlar{}; wait for it, or end it",
                        byte.purpose(),
                        ashlars(&own, byte.offset())
                    );
                    return Err(wait.over(what));
                }
            }
        }
        locks.held.push(own);
    }
    assert_eq!(locks.held.len(), count, "each file is locked once");
    Ok(locks)
}

/// Locks the owner's byte on all of `files`, waiting at most for the first of `limits`.
///
/// A killed owner's lock lasts as long as what it asked last, which may be longer than the process:
/// a lock that no other process can be seen to have is waited for, at most for the second.
pub(crate) fn lock_owner<F: AsFd>(
    files: &[(&str, F)],
    mode: LockMode,
    (limit, dying): (Duration, Duration),
) -> Result<PvLocks> {
    let end = Instant::now() + dying;
    loop {
        let error = match lock_pvs(files, LockByte::Owner, mode, limit) {
            Err(error) if error.cause().is_none() => error,
            result => return result,
        };
        let is_seen = files.iter().any(|(_, file)| is_open_elsewhere(file));
        if is_seen || Instant::now() >= end {
            return Err(error);
        }
    }
}

fn unlockable(name: &str) -> Error {
    let what =
        format!("cannot lock {name}; if nobody else can use it, say so with --assume-exclusive");
    Error::new(Kind::Locked, what)
}

impl Drop for PvLocks {
    fn drop(&mut self) {
        for file in &self.held {
            // The description may live on in a device that stays open.
            let _ = unlock_byte(file, self.byte.offset());
        }
    }
}
