//! The bundled disks, and what their volumes are known to hold.
//!
//! They are the golden disks of the tests: five disks of one group that stock LVM2 made and a
//! stock kernel filled, with the checksums that the kernel saw. See `tests/fixtures/golden`.

use std::fs::File;
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

use super::archive;
use super::interrupt::Interrupt;
use crate::args::Error;

/// The group on the disks.
pub(super) const GROUP: &str = "vg0";

const ARCHIVE: &[u8] = include_bytes!("../../../../tests/fixtures/golden/images.tar.zst");
const MANIFEST: &str = include_str!("../../../../tests/fixtures/golden/manifest.txt");
const FILES: &str = include_str!("../../../../tests/fixtures/golden/ext4-files.txt");

/// A volume as the kernel saw it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Its name in the group.
    pub(super) name: &'static str,
    /// Its length in bytes.
    pub(super) size: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub(super) sha256: &'static str,
}

/// What is known of all volumes.
pub(super) fn known() -> impl Iterator<Item = Known> {
    MANIFEST.lines().map(|line| {
        let mut words = line.split(' ');
        let mut word = || {
            words
                .next()
                .expect("a line of the manifest has three words")
        };
        let (sha256, size, name) = (word(), word(), word());
        let size = size.parse().expect("the manifest has sizes in bytes");
        Known { name, size, sha256 }
    })
}

/// What is known of the volume of this name.
pub(super) fn known_volume(name: &str) -> Known {
    let found = known().find(|known| known.name == name);
    found.expect("the manifest lists the volumes that the demo names")
}

/// SHA-256 and path, from the root of the file system, of the files on the volume `ext4`.
pub(super) fn known_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.lines().map(|line| {
        let (sum, path) = line.split_once(' ').expect("a line has two words");
        (sum, path.trim_start().trim_start_matches("./"))
    })
}

/// Unpacks the disks into `folder`, all or none; `told` hears of each. Never writes over a file.
pub(super) fn unpack(
    folder: &Path,
    interrupt: &Interrupt,
    mut told: impl FnMut(&str, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let damaged = |error: &dyn std::fmt::Display| {
        Error::failed(format!("The bundled disks cannot be unpacked: {error}"))
    };
    let archive = StreamingDecoder::new(ARCHIVE).map_err(|error| damaged(&error))?;
    let mut made = Vec::new();
    let mut create = |entry: &archive::Entry| {
        interrupt.check()?;
        told(&entry.name, entry.size)?;
        let path = folder.join(&entry.name);
        let file = File::create_new(&path).map_err(|error| {
            Error::failed(format!("Cannot make the disk {}", path.display())).because(error)
        })?;
        made.push(path);
        Ok(file)
    };
    let outcome = archive::unpack(archive, |entry| create(entry).map_err(Unpack::Told));
    outcome.map_err(|error| {
        // Half of the disks are of no use, wherever they are.
        for path in &made {
            let _ = std::fs::remove_file(path);
        }
        match error {
            Unpack::Told(error) => error,
            Unpack::Io(error) => damaged(&format_args!(
                "{error} (is there room in {}?)",
                folder.display()
            )),
        }
    })
}

/// Why unpacking ended early.
enum Unpack {
    Told(Error),
    Io(std::io::Error),
}

impl From<std::io::Error> for Unpack {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}
