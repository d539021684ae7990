//! Backup files: a group's text that somebody kept.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use lvm2::model::{VolumeGroup, from_text};
use lvm2::text::{TEXT_SIZE_MAX, parse};

use crate::args::Error;

/// Reads the group of a backup file.
pub(super) fn read(path: &Path) -> Result<VolumeGroup, Error> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let opened = File::open(path).and_then(|file| {
        // One more than what is understood, so that what is longer is noticed.
        file.take(TEXT_SIZE_MAX as u64 + 1).read_to_end(&mut bytes)
    });
    opened.map_err(|error| {
        Error::failed(format!(
            "{shown}: stat failed: couldn't read volume group metadata from file"
        ))
        .because(error)
    })?;
    let group = parse(&bytes).and_then(|tree| from_text(&tree));
    group.map_err(|error| {
        Error::failed(format!(
            "{shown}: couldn't read volume group metadata from file: {error}"
        ))
    })
}
