//! qemu's locks on images: what runs in a virtual machine is not written, and the other way round.
//!
//! qemu, qemu-img, qemu-nbd and qemu-storage-daemon lock single bytes of an image, shared, through
//! the open file. A byte means "I do this" or "nobody else may do this":
//!
//! ```text
//!   byte                    100                 101     102               103
//!   I …                     read, consistently  write   rewrite the same  resize
//!   nobody else may …       200                 201     202               203
//! ```
//!
//! Who opens an image locks its own bytes first, and then tests the opposite ones: those who do
//! what he cannot have, and those who do not allow what he does. Here who writes says 100, 101,
//! 201, 203, as a virtual machine does; who reads says 100, as qemu's own readers of raw images
//! do, and is in nobody's way but of those who rewrite a chain of images. Who moves what is in an
//! image, or cuts it off, says 100, 101, 103 and 200, 201, 203: whoever reads meanwhile would read
//! what is not there any more.
//!
//! These bytes come after our own: two Ashlars meet at those, and wait for each other there.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use block::file::{LockMode, LockOutcome, is_byte_locked, lock_byte, unlock_byte};

use super::holder::{byte_holders, describe};
use super::owned::FileId;
use super::wait::{Wait, tries};
use crate::{Error, Kind, Result};

/// How long others may have just a look, or be on their way out.
const WAIT: Duration = Duration::from_millis(500);

/// The first byte of those that say what somebody does.
const DOES: u64 = 100;
/// The first byte of those that say what nobody else may do.
const FORBIDS: u64 = 200;
const READ: u64 = 0;
const WRITE: u64 = 1;
const RESIZE: u64 = 3;
/// Reading, writing and resizing, and nobody else may.
const ALL: [u64; 6] = [
    DOES + READ,
    DOES + WRITE,
    DOES + RESIZE,
    FORBIDS + READ,
    FORBIDS + WRITE,
    FORBIDS + RESIZE,
];

/// What an image is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ImageUse {
    /// It is read, and others may write it meanwhile.
    Reading,
    /// It is written, and nobody else may.
    #[default]
    Writing,
    /// What volumes hold moves within it, and it may become shorter: nobody else may even read it.
    Rewriting,
}

/// Images that qemu knows of until this is dropped.
#[derive(Debug)]
#[must_use = "locks are held only as long as this is"]
pub struct ImageLocks {
    held: Vec<OwnedFd>,
    usage: ImageUse,
}

impl ImageUse {
    fn says(self) -> &'static [u64] {
        match self {
            Self::Reading => &[DOES + READ],
            Self::Writing => &[DOES + READ, DOES + WRITE, FORBIDS + WRITE, FORBIDS + RESIZE],
            Self::Rewriting => &ALL,
        }
    }

    fn tests(self) -> &'static [u64] {
        match self {
            Self::Reading => &[FORBIDS + READ],
            Self::Writing => &[DOES + WRITE, DOES + RESIZE, FORBIDS + READ, FORBIDS + WRITE],
            Self::Rewriting => &ALL,
        }
    }
}

/// Lets qemu know that `files`, with their names, are used; fails, naming who has one, if qemu uses
/// it in a way that does not go along with that. A file that is listed twice is locked once.
pub fn lock_images<F: AsFd>(files: &[(&str, F)], usage: ImageUse) -> Result<ImageLocks> {
    let wait = Wait::at_most(WAIT);
    let mut seen = Vec::new();
    let mut locks = ImageLocks {
        held: Vec::new(),
        usage,
    };
    for (name, file) in files {
        let failed = |error: std::io::Error| {
            Error::new(Kind::Locked, format!("cannot lock {name}")).because(error)
        };
        let own = file.as_fd().try_clone_to_owned().map_err(failed)?;
        let id = FileId::of(&own).map_err(failed)?;
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        // From here on it is unlocked when this is dropped, however far it came.
        locks.held.push(own);
        let own = locks.held.last().expect("it was just added");
        tries();
        while !try_lock(own, usage).map_err(|error| {
            Error::new(Kind::Locked, format!("cannot lock {name}")).because(error)
        })? {
            if !wait.again() {
                return Err(in_use(name, own, usage));
            }
        }
    }
    assert_eq!(locks.held.len(), seen.len(), "each file is locked once");
    Ok(locks)
}

fn try_lock(file: &OwnedFd, usage: ImageUse) -> block::Result<bool> {
    let is_known = |byte: &u64| ALL.contains(byte);
    debug_assert!(
        usage.says().iter().all(is_known),
        "who rewrites sees what others do"
    );
    debug_assert!(
        usage.tests().iter().all(is_known),
        "who rewrites keeps others out"
    );
    let mut is_free = true;
    for byte in usage.says() {
        is_free &= lock_byte(file, *byte, LockMode::Shared)? == LockOutcome::Held;
    }
    for byte in usage.tests() {
        is_free &= !is_byte_locked(file, *byte)?;
    }
    if !is_free {
        unlock(file, usage);
    }
    Ok(is_free)
}

fn unlock(file: &OwnedFd, usage: ImageUse) {
    for byte in usage.says() {
        // The description may live on in a device that stays open.
        let _ = unlock_byte(file, *byte);
    }
}

fn in_use(name: &str, file: &OwnedFd, usage: ImageUse) -> Error {
    let holders = byte_holders(file, usage.tests());
    let who = if holders.is_empty() {
        "another program, which `lslocks' shows to root".to_owned()
    } else {
        let names: Vec<String> = holders.into_iter().map(describe).collect();
        names.join(", ")
    };
    let what = match usage {
        ImageUse::Reading => format!(
            "{name} is not to be read: it is being rewritten by {who}; wait for that, or end it"
        ),
        ImageUse::Writing => format!(
            "{name} is in use by {who}, for instance as the disk of a virtual machine, and was not \
             written; end that first"
        ),
        ImageUse::Rewriting => format!(
            "{name} is in use by {who}, for instance as the disk of a virtual machine, which may \
             not even read it meanwhile; it was not written; end that first"
        ),
    };
    Error::new(Kind::Locked, what)
}

impl ImageLocks {
    /// Holds them until the files are closed, by whoever has them open.
    pub fn keep_while_open(mut self) {
        self.held.clear();
    }
}

impl Drop for ImageLocks {
    fn drop(&mut self) {
        for file in &self.held {
            unlock(file, self.usage);
        }
    }
}
