//! What an operand means: a volume or a file.

use std::path::Path;

use ashlar::host::{DeviceSource, DeviceSpec, Host};
use ashlar::scan::{Content, FoundDevice, Options, Scan, scan};

use crate::args::Error;

/// What an operand means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Place<'a> {
    /// The logical volume with this name.
    Volume(&'a str),
    /// A file, or a device that is no volume of the scan.
    File(&'a Path),
}

impl<'a> Place<'a> {
    /// The place that `word` means. A word that could mean two things is an error.
    pub(in crate::commands) fn of(word: &'a str, scan: &Scan) -> Result<Self, Error> {
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

/// Refuses to overwrite a file or a disk that is a physical volume, or has one in a partition,
/// whatever devices the command was given.
pub(super) fn require_no_disk(path: &Path, host: &Host) -> Result<(), Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let source = DeviceSource::Listed(vec![DeviceSpec {
        path: path.to_owned(),
    }]);
    let scan = scan(host, &source, &Options::default()).map_err(failed)?;
    let is_disk = |found: &&FoundDevice| matches!(found.content, Content::PhysicalVolume(_));
    match scan.devices.iter().find(is_disk) {
        None => Ok(()),
        Some(found) => Err(Error::failed(format!(
            "{} carries a physical volume and is not overwritten; pvremove frees it",
            found.name
        ))),
    }
}
