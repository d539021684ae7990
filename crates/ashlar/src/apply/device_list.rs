//! The devices file as a list that people look at and correct (`lvmdevices`, `vgimportdevices`).
//!
//! ```text
//!   entries of the file  ──┐
//!                          ├─▶  which device each is now, and how it differs
//!   devices of the host  ──┘
//! ```
//!
//! The devices are those that a scan without a devices file found. Whoever may change the list
//! holds stock's locks of it, as `listing.rs` says.

use std::path::PathBuf;

use lvm2::Uuid;

use super::listing::{listable, locks_of, write_file};
use crate::host::{BY_NAME, DevicesFile, Host, Listable, Listed, digits};
use crate::lock::StockLock;
use crate::scan::{Content, DeviceIndex, Scan};
use crate::{Error, Kind, Result};

/// A devices file beside the devices of this host.
#[derive(Debug)]
pub struct DeviceList {
    path: PathBuf,
    file: DevicesFile,
    devices: Vec<(Listable, Option<Uuid>)>,
    may_write: bool,
    _locks: Vec<StockLock>,
}

/// What a device is listed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// What it is known by across reboots, if there is something.
    Lasting,
    /// Its node (`devname`).
    Node,
}

/// How a device differs from its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// No device is it.
    Absent(Listed),
    /// It is another physical volume now.
    Pv {
        /// The device.
        node: String,
        /// What it is, without hyphens; `None` if it is none.
        found: Option<String>,
        /// What the file says.
        listed: Option<String>,
    },
    /// It has another name now.
    Node {
        /// The device.
        node: String,
        /// What the file says.
        listed: Option<String>,
    },
}

impl DeviceList {
    /// Reads the file at `path`, to look at it. `None` if there is none.
    pub fn look(path: PathBuf, host: &Host, scan: &Scan) -> Result<Option<Self>> {
        let file = DevicesFile::read(&path)?;
        Ok(file.map(|file| Self::new(path, file, host, scan, None)))
    }

    /// Reads the file at `path`, or begins one, to change it; others that do so wait. `look` is
    /// called under the locks.
    pub fn change<E: From<Error>>(
        path: PathBuf,
        host: &Host,
        look: impl FnOnce() -> std::result::Result<Scan, E>,
    ) -> std::result::Result<(Self, Scan), E> {
        let locks = locks_of(&path, &host.config)?;
        let scan = look()?;
        let file = DevicesFile::read(&path)?.unwrap_or_default();
        Ok((Self::new(path, file, host, &scan, Some(locks)), scan))
    }

    fn new(
        path: PathBuf,
        file: DevicesFile,
        host: &Host,
        scan: &Scan,
        locks: Option<Vec<StockLock>>,
    ) -> Self {
        let all = (0..scan.devices.len()).map(DeviceIndex);
        let device = |index| Some((listable(host, scan, index)?, pv_on(scan, index)));
        Self {
            path,
            file,
            devices: all.filter_map(device).collect(),
            may_write: locks.is_some(),
            _locks: locks.unwrap_or_default(),
        }
    }

    /// The entries, with the node of the device that each is, if there is one.
    pub fn entries(&self) -> impl Iterator<Item = (Listed, Option<&str>)> {
        let entries = self.file.entries().enumerate();
        entries.map(|(index, entry)| (entry, self.device_of(index).map(|(node, _)| node)))
    }

    /// How the devices differ from what is listed.
    pub fn differences(&self) -> Vec<Difference> {
        let mut all = Vec::new();
        for (index, entry) in self.file.entries().enumerate() {
            let Some((node, pv)) = self.device_of(index) else {
                all.push(Difference::Absent(entry));
                continue;
            };
            let found = pv.map(|uuid| String::from_utf8_lossy(&digits(uuid)).into_owned());
            if found != entry.pv {
                all.push(Difference::Pv {
                    node: node.to_owned(),
                    found,
                    listed: entry.pv,
                });
            }
            if entry.node.as_deref() != Some(node) {
                all.push(Difference::Node {
                    node: node.to_owned(),
                    listed: entry.node,
                });
            }
        }
        all
    }

    /// Corrects names and UUIDs of what is listed and there.
    pub fn update(&mut self) {
        for (device, pv) in &self.devices {
            if self.file.set_pv(device, *pv) {
                self.file.set_node(device);
            }
        }
        let is_absent = |left: &Difference| matches!(left, Difference::Absent(_));
        debug_assert!(
            self.differences().iter().all(is_absent),
            "the rest is right"
        );
    }

    /// The kind of name by which the device with this node is listed (`IDTYPE`), if there is one.
    pub fn kind_of(&self, node: &str) -> Option<&str> {
        let (device, _) = self
            .devices
            .iter()
            .find(|(device, _)| device.node == node)?;
        let id = device.id.as_ref();
        Some(id.map_or(BY_NAME, |id| id.kind.as_str()))
    }

    /// Lists the device with this node, `false` if there is none.
    pub fn add(&mut self, node: &str, naming: Naming) -> bool {
        let found = self.devices.iter().find(|(device, _)| device.node == node);
        let Some((mut device, pv)) = found.cloned() else {
            return false;
        };
        // By whichever of its names it was listed.
        self.remove(|_, listed| listed == Some(node));
        if naming == Naming::Node {
            device.id = None;
        }
        self.file.add(&device, pv);
        true
    }

    /// Lists the device that is this physical volume, and gives its node.
    pub fn add_pv(&mut self, pv: Uuid) -> Option<String> {
        let (device, _) = self.devices.iter().find(|(_, found)| *found == Some(pv))?;
        let node = device.node.clone();
        self.file.add(device, Some(pv));
        Some(node)
    }

    /// Takes away the first entry that `is_it`, which is told the device's node as well; `false` if
    /// there is none.
    pub fn remove(&mut self, is_it: impl Fn(&Listed, Option<&str>) -> bool) -> bool {
        let found = self.entries().position(|(entry, node)| is_it(&entry, node));
        if let Some(index) = found {
            let before = self.file.entries().count();
            self.file.remove(index);
            assert_eq!(self.file.entries().count() + 1, before, "one is gone");
        }
        found.is_some()
    }

    /// Writes the file, and gives its version.
    ///
    /// # Errors
    ///
    /// `Config`: it cannot be written, or not by us; it is as it was.
    pub fn write(&self, host: &Host, command: &str) -> Result<String> {
        assert!(self.may_write, "it was read to be looked at");
        let version = self.file.next_version()?;
        write_file(&self.path, &self.file, host, command).map_err(|error| {
            let what = format!("Failed to write devices file {}", self.path.display());
            Error::new(Kind::Config, format!("{what}: {error}"))
        })?;
        Ok(version)
    }

    fn device_of(&self, index: usize) -> Option<(&str, Option<Uuid>)> {
        let is_it = |(device, _): &&(Listable, _)| self.file.is_entry_of(index, device);
        let (device, pv) = self.devices.iter().find(is_it)?;
        Some((&device.node, *pv))
    }
}

/// The physical volume on a device, if there is one.
fn pv_on(scan: &Scan, index: DeviceIndex) -> Option<Uuid> {
    match scan.device(index).content {
        Content::PhysicalVolume(found) => Some(scan.pv(found).uuid),
        _ => None,
    }
}
