//! A folder for one test, which goes away with it.
//!
//! The name carries the process, so that a later run can tell what a killed one left behind and
//! remove it; a folder with something mounted in it is left alone.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "ashlar-test-";

/// The folder.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// An empty folder; `name` tells people what it is for.
    pub fn new(name: &str) -> Self {
        Self::within(&std::env::temp_dir(), name)
    }

    /// The same on a chosen file system, such as `/dev/shm`.
    pub fn within(folder: &Path, name: &str) -> Self {
        static SWEEP: Once = Once::new();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        SWEEP.call_once(sweep);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{number}-{name}", std::process::id());
            let path = folder.join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Scratch { path },
                // Left by a killed process, whose number this one has now.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path inside it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Makes a file of `size` bytes in it that takes no space.
    pub fn sparse(&self, name: &str, size: u64) -> PathBuf {
        let path = self.join(name);
        let file = fs::File::create(&path).and_then(|file| file.set_len(size));
        file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Whether a path lies in a scratch folder whose process is gone.
pub(crate) fn is_stale(path: &Path) -> bool {
    let mut parts = path
        .iter()
        .filter_map(|part| part.to_str()?.strip_prefix(PREFIX));
    let process = parts
        .next()
        .and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
    process.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

fn sweep() {
    for entry in fs::read_dir(std::env::temp_dir())
        .into_iter()
        .flatten()
        .flatten()
    {
        if is_stale(&entry.path()) {
            remove(&entry.path());
        }
    }
}

/// Removes a folder, unless something is mounted below it: that would be removed as well.
fn remove(path: &Path) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let is_below = |line: &str| {
        line.split(' ')
            .nth(4)
            .is_some_and(|p| Path::new(p).starts_with(path))
    };
    if !mounts.lines().any(is_below) {
        // Another run may be removing the same stale folder.
        let _ = fs::remove_dir_all(path);
    }
}
