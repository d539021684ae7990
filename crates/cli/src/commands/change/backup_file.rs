//! Backup files: a group's text that somebody kept.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use lvm2::model::{VolumeGroup, from_text};
use lvm2::text::{TEXT_SIZE_MAX, parse};

use crate::args::Error;

/// What is said behind why a file was not read.
const NOT_READ: &str = "WARNING: couldn't read volume group metadata from file.";

/// Reads the group of a backup file.
pub(super) fn read(path: &Path) -> Result<VolumeGroup, Error> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let opened = File::open(path).and_then(|file| {
        // One more than what is understood, so that what is longer is noticed.
        file.take(TEXT_SIZE_MAX as u64 + 1).read_to_end(&mut bytes)
    });
    opened.map_err(|error| {
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        Error::failed(format!("{shown}: stat failed: {why}\n{NOT_READ}"))
    })?;
    let tree = parse(&bytes);
    let tree = tree.map_err(|error| Error::failed(format!("{shown}: {error}\n{NOT_READ}")))?;
    from_text(&tree).map_err(|error| {
        Error::failed(match tree.value("contents") {
            None => "Can't process text format file - missing contents field.".to_owned(),
            Some(_) => format!("{shown}: {error}\n{NOT_READ}"),
        })
    })
}
