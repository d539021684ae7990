//! Records of processes that serve: files that they hold locked for as long as they live.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// The record in `folder`, both made where they are not there, and held until it is closed;
/// `None`: another process holds it, or has just removed it, perhaps with the folder.
///
/// Those who only look lock a record for a moment, so `None` should be believed after some time.
pub fn claim_record(folder: &Path) -> Result<Option<File>> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    match made.and_then(|()| claim(&folder.join("record"))) {
        // Whoever ended in this moment took the folder along: before the record was opened, or
        // when it was found to be there already and then looked at.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::AlreadyExists && !is_in_the_way(folder) => {
            Ok(None)
        }
        claimed => claimed,
    }
}

fn claim(path: &Path) -> Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.mode(0o600).open(path)?;
    let held = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok((held && is_same(&file, path)).then_some(file))
}

/// Whether something stands at the path of a folder that is none.
fn is_in_the_way(folder: &Path) -> bool {
    std::fs::metadata(folder).is_ok_and(|found| !found.is_dir())
}

/// Whether `file` is still the one at `path`.
pub(crate) fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => held.dev() == there.dev() && held.ino() == there.ino(),
        _ => false,
    }
}
