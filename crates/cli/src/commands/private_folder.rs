//! A folder for sockets and the like that only its owner can enter, and that goes away.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::args::Error;

/// How many names are tried.
const ATTEMPTS_MAX: u32 = 100;

/// The folder. Dropped, it is removed with what is in it, unless something is mounted there.
#[derive(Debug)]
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes one among the temporary files.
    pub(crate) fn make() -> Result<Self, Error> {
        let base = std::env::temp_dir();
        let id = std::process::id();
        for number in 0..ATTEMPTS_MAX {
            let path = base.join(format!("ashlar-{id}-{number}"));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let what = format!("Cannot make the folder {}", path.display());
                    return Err(Error::failed(what).because(error));
                }
            }
        }
        let what = format!("Cannot make a folder in {}", base.display());
        Err(Error::failed(what))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What is mounted is not ours to remove.
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        if !places.any(|place| Path::new(place).starts_with(&self.0)) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
