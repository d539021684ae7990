//! Records of processes that serve: files that they hold locked for as long as they live.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// The record at `path`, made if there is none, and held until it is closed; `None`: another
/// process holds it, or has just removed it.
///
/// Those who only look lock a record for a moment, so `None` should be believed after some time.
pub fn claim_record(path: &Path) -> std::io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.mode(0o600).open(path)?;
    let held = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok((held && is_same(&file, path)).then_some(file))
}

/// Whether `file` is still the one at `path`.
pub(crate) fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => held.dev() == there.dev() && held.ino() == there.ino(),
        _ => false,
    }
}
