//! The physical volumes' devices, opened once each.

use std::collections::HashMap;
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
pub(super) struct PvDevices {
    /// Whole files and disks: two partitions of an image share one.
    wholes: HashMap<(Location, Access), Arc<dyn Device>>,
    open: HashMap<(PvIndex, Access), Arc<dyn Device>>,
}

impl PvDevices {
    /// The device of a physical volume.
    pub(super) fn get(
        &mut self,
        scan: &Scan,
        pv: PvIndex,
        access: Access,
    ) -> Result<Arc<dyn Device>> {
        if let Some(device) = self.open.get(&(pv, access)) {
            return Ok(Arc::clone(device));
        }
        let found = scan.device(scan.pv(pv).device);
        let device = self.open(found, access).map_err(|error| {
            let what = format!("cannot open {} for its physical volume", found.name);
            Error::new(Kind::Device, what).because(error)
        })?;
        self.open.insert((pv, access), Arc::clone(&device));
        Ok(device)
    }

    fn open(&mut self, found: &FoundDevice, access: Access) -> block::Result<Arc<dyn Device>> {
        let path = Location::whole(&found.location.path);
        let key = (path, access);
        let whole = if let Some(whole) = self.wholes.get(&key) {
            Arc::clone(whole)
        } else {
            let whole = FileDevice::open_with(&key.0.path, options(access))?;
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
