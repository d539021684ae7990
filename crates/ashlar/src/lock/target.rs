//! A file or a disk that a copy overwrites from its beginning.
//!
//! It may be anything, whatever a scan of other devices says: the image of a running virtual
//! machine, a physical volume of a group that somebody serves, a mounted disk. So it is held like
//! a disk whose group is changed before a byte of it is lost: block devices are opened alone
//! (`O_EXCL`), the byte "owner" and qemu's bytes are taken, on what lies below a loop device, too.
//! A file is not cut when it is opened; whoever holds it cuts it, after having looked at it.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use block::file::LockMode;

use super::bytes::{LockByte, PvLocks, lock_pvs};
use super::qemu::{ImageLocks, ImageUse, lock_images};
use crate::below::files_below;
use crate::{Error, Kind, Result};

/// How long a server that ends may take to let go; one that runs holds its byte for hours.
const WAIT: Duration = Duration::from_millis(200);

/// A file or a disk that nobody else serves, changes or runs until this is dropped.
#[derive(Debug)]
#[must_use = "it is held only as long as this is"]
pub struct HeldTarget {
    file: File,
    is_disk: bool,
    _owner: PvLocks,
    _images: ImageLocks,
}

impl HeldTarget {
    /// Opens the file or block device at `path` for reading and writing, and makes the file if it
    /// is not there. Fails where somebody else uses it; it is as it was then.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |error: std::io::Error| {
            let what = format!("Could not open {name} for writing");
            Error::new(Kind::Device, what).because(error)
        };
        let known = std::fs::metadata(path);
        let is_disk = known.is_ok_and(|known| known.file_type().is_block_device());
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if is_disk {
            // The kernel refuses it where the disk is mounted or held by another program.
            options.custom_flags(libc::O_EXCL);
        } else {
            options.create(true).truncate(false);
        }
        let file = options.open(path).map_err(failed)?;
        let own = file.as_fd().try_clone_to_owned().map_err(failed)?;
        let mut files: Vec<OwnedFd> = vec![own];
        files.extend(files_below(path));
        let files: Vec<_> = files.iter().map(|file| (&*name, file)).collect();
        let owner = lock_pvs(&files, LockByte::Owner, LockMode::Exclusive, WAIT)?;
        let images = lock_images(&files, ImageUse::Writing)?;
        Ok(Self {
            file,
            is_disk,
            _owner: owner,
            _images: images,
        })
    }

    /// Whether it is a block device, whose size is its own.
    pub fn is_disk(&self) -> bool {
        self.is_disk
    }

    /// The open file. Another open file of it that is closed lets go of no lock.
    pub fn file(&self) -> &File {
        &self.file
    }
}
