//! The physical volumes' devices, opened once each.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use block::file::{Access as FileAccess, Claim, FileDevice, FileOptions};
use block::partition::PartitionDevice;
use block::{Device, Range};
use target::volume::Access;

use crate::host::Location;
use crate::scan::{FoundDevice, PvIndex, Scan};
use crate::{Error, Kind, Result};

/// Opened devices, by physical volume and access.
#[derive(Default)]
pub(crate) struct PvDevices {
    /// Whole files and disks: two partitions of an image share one.
    wholes: HashMap<(Location, Access), Arc<dyn Device>>,
    open: HashMap<(Location, Access), Arc<dyn Device>>,
    /// Duplicates of what is open for writing, for locks.
    files: HashMap<PathBuf, OwnedFd>,
}

impl PvDevices {
    /// The device of a physical volume.
    pub(crate) fn get(
        &mut self,
        scan: &Scan,
        pv: PvIndex,
        access: Access,
    ) -> Result<Arc<dyn Device>> {
        let found = scan.device(scan.pv(pv).device);
        // By its place and not its index: another scan may count differently.
        let key = (found.location.clone(), access);
        if let Some(device) = self.open.get(&key) {
            return Ok(Arc::clone(device));
        }
        let device = self.open(found, access).map_err(|error| {
            let what = format!("cannot open {} for its physical volume", found.name);
            Error::new(Kind::Device, what).because(error)
        })?;
        self.open.insert(key, Arc::clone(&device));
        Ok(device)
    }

    /// The open file behind a device that is open for writing, if a file is.
    pub(crate) fn file(&self, path: &Path) -> Option<BorrowedFd<'_>> {
        self.files.get(path).map(AsFd::as_fd)
    }

    fn open(&mut self, found: &FoundDevice, access: Access) -> block::Result<Arc<dyn Device>> {
        let path = Location::whole(&found.location.path);
        let key = (path, access);
        let whole = if let Some(whole) = self.wholes.get(&key) {
            Arc::clone(whole)
        } else {
            let whole = FileDevice::open_with(&key.0.path, options(access))?;
            if access == Access::ReadWrite {
                let file = whole.as_fd().try_clone_to_owned();
                let file = file.map_err(|error| block::Error::io(found.name.clone(), error))?;
                self.files.insert(key.0.path.clone(), file);
            }
            let whole: Arc<dyn Device> = Arc::new(whole);
            self.wholes.insert(key, Arc::clone(&whole));
            whole
        };
        match found.location.window {
            None => Ok(whole),
            Some(window) => {
                let range = Range::checked(window.start, window.len).ok_or_else(|| {
                    block::Error::new(block::Kind::Invalid, "the partition ends past 2^64")
                })?;
                Ok(Arc::new(PartitionDevice::window(
                    whole,
                    range,
                    found.name.clone(),
                )?))
            }
        }
    }
}

/// Who writes holds a block device alone: the kernel refuses to build anything on it meanwhile.
fn options(access: Access) -> FileOptions {
    match access {
        Access::ReadOnly => FileOptions::new(FileAccess::ReadOnly),
        Access::ReadWrite => FileOptions {
            claim: Claim::Exclusive,
            ..FileOptions::new(FileAccess::ReadWrite)
        },
    }
}
