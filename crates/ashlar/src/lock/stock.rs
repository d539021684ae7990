//! Stock's own locks: files in `global/locking_dir`, locked whole with `flock`.
//!
//! Each lock is a file, `P_global` or `V_<vg>`, that whoever unlocks it may remove. So a lock is
//! only had if the file that was locked is still the one at that path. Who wants to write first
//! passes through `<file>:aux`, so that a stream of readers cannot keep writers out for ever.
//! `D_<file>` is neither removed nor passed by: stock takes it plainly.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use block::file::LockMode;

use super::holder::{holders, is_served};
use super::record::is_same;
use super::wait::{Wait, tries};
use crate::{Error, Kind, Result, log};

/// How long an ashlar has a lock shared that only begins; one that serves has it for hours.
const SERVED: Duration = Duration::from_millis(200);

/// Which of stock's locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StockName {
    /// `P_global`: the list of physical volumes and groups.
    Global,
    /// `D_<file>`: the devices file of this name.
    DevicesFile(String),
    /// `V_<vg>`: one group.
    Group(String),
}

/// What becomes of a lock's file when it is unlocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Stock waits for what it has opened, and would not notice another file at the path.
    Stays,
    /// Whoever unlocks it last removes it.
    Goes,
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
#[must_use = "a lock is held only as long as this is"]
pub struct StockLock {
    file: File,
    path: PathBuf,
    fate: Fate,
    mode: LockMode,
}

impl StockLock {
    /// Whether nobody else has the lock of this name while this is held.
    pub fn keeps_out(&self, name: &StockName) -> bool {
        let is_it = self.path.file_name() == Some(name.file_name().as_ref());
        is_it && self.mode == LockMode::Exclusive
    }
}

impl StockName {
    fn file_name(&self) -> String {
        match self {
            Self::Global => "P_global".to_owned(),
            Self::DevicesFile(name) => format!("D_{name}"),
            Self::Group(name) => format!("V_{name}"),
        }
    }

    /// What stock does with the file of this lock.
    fn fate(&self) -> Fate {
        match self {
            Self::DevicesFile(_) => Fate::Stays,
            Self::Global | Self::Group(_) => Fate::Goes,
        }
    }
}

/// Takes one of stock's locks, waiting at most for `limit`. `None` where the folder cannot be
/// written: then stock cannot lock there either, or is not ours to lock out.
///
/// Where only ashlars have it, shared, they serve a group of that name, which need not be the one
/// that is meant: then it is had shared, too. That keeps stock's writers out as well, and among
/// ashlars the bytes on the disks decide.
pub fn lock_stock(
    dir: &Path,
    name: &StockName,
    mode: LockMode,
    limit: Duration,
) -> Result<Option<StockLock>> {
    if !is_writable(dir) {
        log::verbose(|| {
            format!(
                "No lock is taken in {}: it cannot be written.",
                dir.display()
            )
        });
        return Ok(None);
    }
    let wait = Wait::at_most(limit);
    let file = name.file_name();
    assert!(!file.contains('/'), "a lock lies in its folder");
    let path = dir.join(file);
    if name.fate() == Fate::Goes && mode == LockMode::Exclusive {
        let mut aux = path.clone().into_os_string();
        aux.push(":aux");
        let aux = lock_file(Path::new(&aux), Fate::Goes, mode, &wait)?;
        let lock = lock_file(&path, Fate::Goes, mode, &wait)?;
        drop(aux);
        log::verbose(|| format!("Locked {}.", path.display()));
        return Ok(Some(lock));
    }
    lock_file(&path, name.fate(), mode, &wait).map(Some)
}

fn is_writable(dir: &Path) -> bool {
    // Stock makes the folder when it first locks; a fresh machine does not have it.
    let _ = std::fs::create_dir_all(dir);
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

fn lock_file(path: &Path, fate: Fate, mode: LockMode, wait: &Wait) -> Result<StockLock> {
    let failed = || Error::new(Kind::Locked, format!("cannot lock {}", path.display()));
    let operation = match mode {
        LockMode::Shared => FlockOperation::NonBlockingLockShared,
        LockMode::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    let start = Instant::now();
    tries();
    loop {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| failed().because(error))?;
        match flock(&file, operation) {
            Ok(()) if is_same(&file, path) => {
                log::verbose(|| format!("Locked {}.", path.display()));
                return Ok(StockLock {
                    file,
                    path: path.to_owned(),
                    fate,
                    mode,
                });
            }
            // Removed by the one who held it: another file is at the path now.
            Ok(()) | Err(Errno::INTR) => continue,
            Err(Errno::WOULDBLOCK) => {
                if mode == LockMode::Exclusive && start.elapsed() > SERVED && is_served(&file) {
                    return lock_file(path, fate, LockMode::Shared, wait);
                }
            }
            Err(errno) => return Err(failed().because(std::io::Error::from(errno))),
        }
        if !wait.again() {
            let (shown, holders) = (path.display(), holders(&file));
            let what = match group_of(path) {
                Some(group) if wait.is_none() => {
                    format!("Can't get lock for {group}: {shown} is locked{holders}")
                }
                _ => format!("{shown} is locked{holders}; wait for that command, or end it"),
            };
            return Err(wait.over(what));
        }
    }
}

/// The group whose lock file this is.
fn group_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix("V_")
}

impl Drop for StockLock {
    /// Removes the file, as stock does, if nobody else is interested; closing it unlocks.
    fn drop(&mut self) {
        if self.fate == Fate::Stays {
            return;
        }
        let alone = flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if alone && is_same(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
