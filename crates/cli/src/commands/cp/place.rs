//! What an operand means: a volume or a file.

use std::fs;
use std::path::Path;

use manager::scan::Scan;

use crate::args::Error;

/// What an operand means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// The logical volume with this name.
    Volume(&'a str),
    /// A file, or a device that is no volume of the scan.
    File(&'a Path),
}

impl<'a> Place<'a> {
    /// The place that `word` means. A word that could mean two things is an error.
    pub(super) fn of(word: &'a str, scan: &Scan) -> Result<Self, Error> {
        let path = Path::new(word);
        if is_path(word) {
            return Ok(Self::File(path));
        }
        let failure = match scan.find_volume(word) {
            // A node of that name under /dev is the volume itself.
            Ok(_) if !word.starts_with("/dev/") && path.exists() => {
                return Err(Error::failed(format!(
                    "{word} is a file and a logical volume: write ./{word} for the file, or \
                     /dev/{word} for the volume"
                )));
            }
            Ok(_) => return Ok(Self::Volume(word)),
            Err(failure) => failure,
        };
        // A volume that is not there, in a group that is, and not in a folder of that name.
        let is_in_group = word
            .split_once('/')
            .is_some_and(|(group, _)| scan.groups_named(group).next().is_some());
        let has_folder = path.parent().is_none_or(Path::is_dir);
        if is_in_group && !has_folder {
            return Err(Error::failed(failure.to_string()));
        }
        Ok(Self::File(path))
    }
}

/// Whether the word can only be a path: it begins like one, and not with `/dev/`.
fn is_path(word: &str) -> bool {
    let is_absolute = word.starts_with('/') && !word.starts_with("/dev/");
    is_absolute || word.starts_with("./") || word.starts_with("../") || !word.contains('/')
}

/// Refuses to overwrite a device on which something was found.
pub(super) fn require_no_disk(path: &Path, scan: &Scan) -> Result<(), Error> {
    let Ok(real) = fs::canonicalize(path) else {
        return Ok(());
    };
    let is_disk = |found: &manager::scan::FoundDevice| {
        matches!(found.content, manager::scan::Content::PhysicalVolume(_))
            && found
                .location
                .path()
                .and_then(|path| fs::canonicalize(path).ok())
                .is_some_and(|other| other == real)
    };
    match scan.devices.iter().find(|found| is_disk(found)) {
        None => Ok(()),
        Some(found) => Err(Error::failed(format!(
            "{} carries a physical volume and is not overwritten; pvremove frees it",
            found.name
        ))),
    }
}
