//! Keeping the devices file while a command makes, names anew or removes physical volumes.
//!
//! ```text
//!   begin: P_global, D_<file>  ─▶  changes, each noted when it is done  ─▶  write: read again,
//!                                                       change, <file>_new, fsync, rename, fsync
//! ```
//!
//! Stock's locks are held from before the first look at the disks until the file is written, once
//! for all that the command did, also where it failed half-way. A file that cannot be written costs
//! a warning and not the command, as with stock: the disks are what counts, and `pvcreate` or an
//! editor can list them later.
//!
//! Does not: correct entries that the host's other commands find outdated.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use block::file::LockMode;
use lvm2::Uuid;
use lvm2::plan::HeaderEdit;

use super::author::header_now;
use super::request::Planned;
use super::session::LOCK_WAIT;
use crate::host::{Config, DevicesFile, Host, Listable, MissingDevicesFile, Stamp};
use crate::lock::{StockLock, StockName, lock_stock};
use crate::log;
use crate::scan::{DeviceIndex, Scan};
use crate::{Readers, Result, replace_file};

/// Whether a command begins a devices file where one is wanted and missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// It does.
    Yes,
    /// It does without.
    No,
}

/// The devices file, while a command runs that may change it.
#[derive(Debug)]
pub struct Listing {
    path: PathBuf,
    is_wanted: bool,
    /// Whether there were groups before the first change.
    has_groups: Option<bool>,
    edits: Vec<Edit>,
    /// The names that devices have now.
    seen: Vec<Listable>,
    _locks: Vec<StockLock>,
}

/// What a change did to a device.
#[derive(Debug)]
enum Edit {
    /// It is to be listed, as this physical volume.
    Add(Listable, Uuid),
    /// It is this physical volume now, or none.
    Set(Listable, Option<Uuid>),
}

impl Listing {
    /// Takes the locks; `None` where the host has no devices file, and `begins` none.
    pub fn begin(host: &Host, begins: Begins) -> Result<Option<Self>> {
        let config = &host.config;
        let Some(path) = config.devices_file() else {
            return Ok(None);
        };
        let missing = config.missing_devices_file();
        let is_begun = begins == Begins::Yes && missing != MissingDevicesFile::Fine;
        if !path.exists() && !is_begun {
            return Ok(None);
        }
        let locks = locks_of(&path, config)?;
        let is_wanted = missing == MissingDevicesFile::Wanted && !path.exists();
        Ok(Some(Self {
            path,
            is_wanted,
            has_groups: None,
            edits: Vec::new(),
            seen: Vec::new(),
            _locks: locks,
        }))
    }

    /// Notes what a change did that began with `scan`.
    pub(super) fn note(&mut self, host: &Host, scan: &Scan, planned: &Planned) {
        self.has_groups.get_or_insert(!scan.groups.is_empty());
        let listable = |device| listable(host, scan, device);
        for (device, uuid) in &planned.listed {
            let device = listable(*device);
            self.edits
                .extend(device.map(|device| Edit::Add(device, *uuid)));
        }
        for device in &planned.removed {
            let device = listable(*device);
            self.edits
                .extend(device.map(|device| Edit::Set(device, None)));
        }
        for header in &planned.change.headers {
            let HeaderEdit::Uuid(new) = header.edit else {
                continue;
            };
            let mut pvs = scan.physical_volumes.iter();
            let pv = pvs.find(|pv| pv.uuid == header.pv);
            let device = pv.and_then(|pv| listable(pv.device));
            self.edits
                .extend(device.map(|device| Edit::Set(device, Some(new))));
        }
        let all = (0..scan.devices.len()).map(DeviceIndex);
        self.seen = all.filter_map(listable).collect();
    }

    /// Writes the file where something was noted; gives what is to be said about that.
    pub fn write(self, host: &Host, command: &str) -> Vec<String> {
        if self.edits.is_empty() {
            return Vec::new();
        }
        let path = self.path.display();
        if self.is_wanted && self.has_groups == Some(true) {
            return vec!["Not creating system devices file due to existing VGs.".to_owned()];
        }
        let mut said = Vec::new();
        if self.is_wanted {
            said.push(format!("Creating devices file {path}"));
        }
        match self.replace(host, command, &mut said) {
            Ok(()) => log::verbose(|| format!("Wrote {path}.")),
            Err(error) => said.push(format!(
                "WARNING: Devices file {path} is not updated: {error}; correct that, and list with \
                 an editor what was changed, or use --devices."
            )),
        }
        said
    }

    fn replace(
        &self,
        host: &Host,
        command: &str,
        said: &mut Vec<String>,
    ) -> std::result::Result<(), Box<dyn std::error::Error>> {
        let mut file = DevicesFile::read(&self.path)?.unwrap_or_default();
        for device in &self.seen {
            file.set_node(device);
        }
        for edit in &self.edits {
            match edit {
                Edit::Add(device, uuid) => file.add(device, Some(*uuid)),
                Edit::Set(device, uuid) if file.set_pv(device, *uuid) => {}
                Edit::Set(device, _) => said.push(format!(
                    "WARNING: devices to use does not include {}",
                    device.node
                )),
            }
        }
        write_file(&self.path, &file, host, command)
    }
}

/// Writes a devices file for the next time.
pub(super) fn write_file(
    path: &Path,
    file: &DevicesFile,
    host: &Host,
    command: &str,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let system_id = host.config.system_id();
    let bytes = file.to_bytes(&Stamp {
        command,
        pid: std::process::id(),
        time: header_now(&host.config).creation_time.unwrap_or_default(),
        system_id: system_id.as_deref(),
    })?;
    Ok(write_atomically(path, &bytes)?)
}

/// Takes stock's locks for a devices file that may be written.
pub(super) fn locks_of(path: &Path, config: &Config) -> Result<Vec<StockLock>> {
    let dir = config.locking_dir();
    let name = path.file_name().unwrap_or_default();
    let names = [
        StockName::Global,
        StockName::DevicesFile(name.to_string_lossy().into_owned()),
    ];
    let limit = config.lock_wait(LOCK_WAIT);
    let mut locks = Vec::new();
    for name in names {
        locks.extend(lock_stock(&dir, &name, LockMode::Exclusive, limit)?);
    }
    Ok(locks)
}

/// What the devices file needs to know about a device; `None` if it is none of the host's.
pub(super) fn listable(host: &Host, scan: &Scan, device: DeviceIndex) -> Option<Listable> {
    let device = scan.device(device);
    let whole = device.location.window.is_none();
    let facts = host.sysfs.facts(device.number.filter(|_| whole)?);
    Some(Listable {
        id: facts.id,
        partition: facts.partition.unwrap_or(0),
        node: device.name.clone(),
    })
}

/// Stock's way: under the name that stock uses, so that what a lost power left is found there.
fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut new = path.to_owned().into_os_string();
    new.push("_new");
    replace_file(path, Path::new(&new), Readers::Owner, |out| {
        out.write_all(bytes)
    })
}

#[cfg(test)]
mod tests;
