//! A folder for sockets and the like that only its owner can enter, and that goes away.
//!
//! ```text
//!   /tmp/ashlar-PROCESS-NUMBER      locked (flock) for as long as its maker lives
//! ```
//!
//! The lock, not the process number, says whether the maker lives. A folder that nobody holds is
//! what a killed process left.

use std::fs::File;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::args::Error;

const PREFIX: &str = "ashlar-";
/// How many names are tried.
const ATTEMPTS_MAX: u32 = 100;
/// A folder that changed later than this may not be locked yet.
const AGE_MIN: Duration = Duration::from_secs(5);

/// The folder. Dropped, it is removed with what is in it, unless something is mounted there.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    path: PathBuf,
    _lock: File,
}

impl PrivateFolder {
    /// Makes one among the temporary files.
    pub(crate) fn make() -> Result<Self, Error> {
        let base = std::env::temp_dir();
        let id = std::process::id();
        for number in 0..ATTEMPTS_MAX {
            let path = base.join(format!("{PREFIX}{id}-{number}"));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    return Self::locked(path.clone()).ok_or_else(|| {
                        Error::failed(format!("Cannot lock the directory {}", path.display()))
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let what = format!("Cannot make the directory {}", path.display());
                    return Err(Error::failed(what).because(error));
                }
            }
        }
        let what = format!("Cannot make a directory in {}", base.display());
        Err(Error::failed(what))
    }

    /// The folders of this user that killed processes left, now held by this one.
    pub(crate) fn abandoned() -> Vec<Self> {
        let user = rustix::process::geteuid().as_raw();
        let is_ours = |name: &str| {
            let numbers = name
                .strip_prefix(PREFIX)
                .and_then(|rest| rest.split_once('-'));
            let is_number = |text: &str| text.parse::<u32>().is_ok();
            numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
        };
        let entries = std::fs::read_dir(std::env::temp_dir());
        let mut found = Vec::new();
        for entry in entries.into_iter().flatten().flatten() {
            // Links are not followed: others may put them there.
            let about = entry.metadata();
            let is_old = about.is_ok_and(|about| {
                let changed = about.modified().ok().and_then(|time| time.elapsed().ok());
                let is_old = changed.is_some_and(|age| age >= AGE_MIN);
                about.is_dir() && about.uid() == user && is_old
            });
            if is_old && entry.file_name().to_str().is_some_and(is_ours) {
                found.extend(Self::locked(entry.path()));
            }
        }
        found
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn locked(path: PathBuf) -> Option<Self> {
        let lock = File::open(&path).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Self { path, _lock: lock })
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What is mounted is not ours to remove.
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        if !places.any(|place| Path::new(place).starts_with(&self.path)) {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
