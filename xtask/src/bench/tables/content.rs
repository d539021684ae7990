//! What volumes and files hold while they are compared: noise, and the same in all of them.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, copy};
use std::path::{Path, PathBuf};

use tests::{Made, Scratch};

use super::super::run::Effort;

/// A linear volume, `made/data`, full of noise, on an image in a folder of its own.
pub(super) struct Filled {
    pub(super) made: Made,
    /// Its size.
    pub(super) bytes: u64,
    folder: Scratch,
}

impl Filled {
    /// One as large as the effort asks for.
    pub(super) fn within(folder: Scratch, effort: Effort) -> Result<Self, String> {
        let bytes: u64 = if effort == Effort::Full {
            512 << 20
        } else {
            8 << 20
        };
        let made = Made::volume(folder.path(), bytes);
        fill(made.image(), made.data_start(), bytes)
            .map_err(|error| format!("{}: {error}", made.image().display()))?;
        Ok(Self {
            made,
            bytes,
            folder,
        })
    }

    /// A plain file beside the image that holds what the volume holds.
    pub(super) fn plain(&self) -> Result<PathBuf, String> {
        let path = self.folder.join("plain.img");
        self.copy_to(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    fn copy_to(&self, path: &Path) -> std::io::Result<()> {
        let mut image = File::open(self.made.image())?;
        image.seek(SeekFrom::Start(self.made.data_start()))?;
        let mut plain = File::create(path)?;
        copy(&mut image.take(self.bytes), &mut plain)?;
        plain.sync_all()
    }
}

/// Fills `size` bytes of an image, from byte `start`, with noise.
fn fill(image: &Path, start: u64, size: u64) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(image)?;
    file.seek(SeekFrom::Start(start))?;
    let mut noise = File::open("/dev/urandom")?.take(size);
    copy(&mut noise, &mut file)?;
    file.sync_all()
}
