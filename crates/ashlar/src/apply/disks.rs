//! Where a change finds its devices: the host's, or some that are open already.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use block::Device;
use block::file::{Access, Claim, FileOptions};

use crate::device::{narrow, open_whole};
use crate::host::{DeviceSource, Host, Place};
use crate::scan::{FoundDevice, Options, Scan, scan, scan_again, scan_devices};
use crate::{Error, Kind, Result};

/// A device that is open for writing.
pub struct Opened {
    /// The device.
    pub device: Arc<dyn Device>,
    /// The open files to lock: a duplicate of its own, and those below it; none where it is no
    /// file.
    pub files: Vec<OwnedFd>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opened({})", self.device.info().name)
    }
}

/// Devices that can be looked at and written.
pub trait Disks {
    /// Looks at all of them.
    fn scan(&self, host: &Host) -> Result<Scan>;

    /// Opens one of them for writing. Alone, where nobody else may use it at all: it becomes a
    /// physical volume.
    fn open(&self, found: &FoundDevice, claim: Claim) -> Result<Opened>;
}

/// The devices of a [`DeviceSource`].
#[derive(Debug, Clone)]
pub struct HostDisks {
    /// Where they come from.
    pub source: DeviceSource,
    /// How they are looked at.
    pub options: Options,
}

#[cfg(test)]
std::thread_local! {
    /// How often this thread looked at all disks.
    pub(crate) static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl HostDisks {
    /// Looks again at what `changed` since the scan `before`, and believes that of all others; at
    /// all of them where what it finds may be a commit of somebody else.
    pub fn scan_again(&self, host: &Host, before: &Scan, changed: &[&Place]) -> Result<Scan> {
        let again = scan_again(host, &self.source, &self.options, before, changed)?;
        again.map_or_else(|| self.scan(host), Ok)
    }
}

impl Disks for HostDisks {
    fn scan(&self, host: &Host) -> Result<Scan> {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        scan(host, &self.source, &self.options)
    }

    fn open(&self, found: &FoundDevice, claim: Claim) -> Result<Opened> {
        let options = FileOptions {
            claim,
            ..FileOptions::new(Access::ReadWrite)
        };
        let open = || -> block::Result<Opened> {
            let (whole, files) = open_whole(&found.location, options)?;
            let device = narrow(whole, &found.location, &found.name)?;
            Ok(Opened { device, files })
        };
        let is_file = matches!(found.location.place, Place::File(_));
        open().map_err(|error| {
            let what = if is_file && claim == Claim::Exclusive {
                format!(
                    "Can't open {} exclusively.  Mounted filesystem? Nothing was changed",
                    found.name
                )
            } else {
                format!("cannot open {} for writing", found.name)
            };
            Error::new(Kind::Device, what).because(error)
        })
    }
}

/// Devices that are open already, by name: in memory, simulated, or behind a server. They are not
/// locked: whoever made them knows that nobody else uses them.
#[derive(Default)]
pub struct NamedDisks {
    devices: Vec<(String, Arc<dyn Device>)>,
}

impl std::fmt::Debug for NamedDisks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NamedDisks({})", self.devices.len())
    }
}

impl NamedDisks {
    /// These devices.
    pub fn new(devices: Vec<(String, Arc<dyn Device>)>) -> Self {
        Self { devices }
    }
}

impl Disks for NamedDisks {
    fn scan(&self, host: &Host) -> Result<Scan> {
        Ok(scan_devices(host, &self.devices))
    }

    fn open(&self, found: &FoundDevice, _claim: Claim) -> Result<Opened> {
        let (_, device) = self
            .devices
            .iter()
            .find(|(name, _)| *name == found.name)
            .ok_or_else(|| Error::new(Kind::NotFound, format!("{} is gone", found.name)))?;
        Ok(Opened {
            device: Arc::clone(device),
            files: Vec::new(),
        })
    }
}
