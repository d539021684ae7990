//! A folder for images that goes away, also what killed runs left.
//!
//! It is locked (flock) for as long as its maker lives; a folder of this name that nobody holds is
//! what a killed run left, and the next run removes it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use block::sim::Random;
use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};

const PREFIX: &str = "ashlar-measure-";
/// Where FUSE mounts a volume, if it does.
pub(super) const ATTACHED: &str = "attached";
/// How much is written at once.
const CHUNK: usize = 1 << 20;

/// The folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes one in `base`.
    pub(super) fn make(base: &Path) -> Result<Self> {
        clean(base);
        let failed =
            |error| Error::io(format!("cannot make a folder in {}", base.display()), error);
        let base = base.canonicalize().map_err(failed)?;
        for number in 0..1000 {
            let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let lock = File::open(&path).map_err(failed)?;
                    let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive);
                    locked.map_err(|errno| failed(errno.into()))?;
                    return Ok(Self { path, _lock: lock });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let error = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        Err(failed(error))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An image of `size` bytes, all of them written, none of them zero for long.
    pub(super) fn image(&self, name: &str, size: u64) -> Result<PathBuf> {
        let path = self.path.join(name);
        let failed = |error| Error::io(format!("cannot write {}", path.display()), error);
        let mut file = File::create_new(&path).map_err(failed)?;
        let mut random = Random::new(size);
        let chunk: Vec<u8> = (0..CHUNK).map(|_| random.number() as u8).collect();
        let mut left = size as usize;
        while left > 0 {
            let length = left.min(CHUNK);
            file.write_all(&chunk[..length]).map_err(failed)?;
            left -= length;
        }
        file.sync_all().map_err(failed)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes what killed runs left in `base`.
fn clean(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_one || !is_folder {
            continue;
        }
        let lock = File::open(entry.path());
        if lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()) {
            remove(&entry.path());
        }
    }
}

fn remove(folder: &Path) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let attached = folder.join(ATTACHED);
    let mut places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    if places.any(|place| Path::new(place) == attached) {
        // What stays mounted keeps its folder, and the next run tries again.
        let _ = export::fuse::remove_stale(&attached);
    }
    let _ = fs::remove_dir_all(folder);
}
