//! Stock's devices file: the only devices that this host's LVM may use.
//!
//! ```text
//!   # LVM uses devices listed in this file.
//!   # Created by LVM command pvcreate pid 4711 at Mon Nov 23 20:56:15 2026
//!   SYSTEMID=…                                            where the host has one
//!   VERSION=1.1.7                                         the last number counts the writes
//!   IDTYPE=sys_wwid IDNAME=naa.50 DEVNAME=/dev/sda PVID=… PART=1
//! ```
//!
//! A device is listed if its ID is (and its partition's number, where one is given); an entry of
//! type `devname`, the last resort of stock, matches by name. An entry never brings in a device
//! that the host does not have.
//!
//! Who writes the file writes all of it anew, as stock does: comments and lines that are no entries
//! are lost, entries stay, byte for byte in their values, also those of kinds that nobody here
//! knows. A file of another major version is read, but not written.

use std::fs;
use std::io;
use std::path::Path;

use lvm2::Uuid;
use lvm2::model::calendar;

use super::location::DeviceId;
use crate::{Error, Kind, Result};

/// The version of the format that is written: major and minor.
const FORMAT: (u32, u32) = (1, 1);
/// The kind of entries that go by the name of a node.
pub(crate) const BY_NAME: &str = "devname";

/// The entries of a devices file.
#[derive(Debug, Clone, Default)]
pub struct DevicesFile {
    version: Option<Vec<u8>>,
    entries: Vec<Entry>,
}

/// A line; values are bytes, since nobody promises that they are UTF-8.
#[derive(Debug, Clone)]
struct Entry {
    kind: Vec<u8>,
    name: Vec<u8>,
    node: Option<Vec<u8>>,
    pv: Option<Vec<u8>>,
    partition: u32,
}

/// What an entry says, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The kind of its name (`IDTYPE`).
    pub kind: String,
    /// What the device is known by (`IDNAME`).
    pub name: String,
    /// Its node when it was last seen (`DEVNAME`).
    pub node: Option<String>,
    /// The UUID of its physical volume without hyphens (`PVID`).
    pub pv: Option<String>,
    /// Its number on its disk, or 0 (`PART`).
    pub partition: u32,
}

/// A device of this host, as entries know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listable {
    /// What it is known by across reboots.
    pub id: Option<DeviceId>,
    /// Its number on its disk, or 0.
    pub partition: u32,
    /// Its node.
    pub node: String,
}

/// Who writes a devices file, and when.
#[derive(Debug, Clone)]
pub struct Stamp<'a> {
    /// The name of the command.
    pub command: &'a str,
    /// The process.
    pub pid: u32,
    /// Seconds since 1970 began.
    pub time: u64,
    /// The host's system ID, if it has one.
    pub system_id: Option<&'a str>,
}

impl DevicesFile {
    /// Reads the file at `path`; `None` if there is none, so that every device is allowed.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(Self::parse(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let what = format!(
                    "cannot read {}; correct it, or use --devices",
                    path.display()
                );
                Err(Error::new(Kind::Config, what).because(error))
            }
        }
    }

    /// Parses the text of one. Lines that are no entries are skipped.
    pub fn parse(text: &[u8]) -> Self {
        let mut file = Self::default();
        for line in text.split(|byte| *byte == b'\n') {
            if line.starts_with(b"VERSION") {
                let value = line.splitn(2, |byte| *byte == b'=').nth(1);
                file.version = value
                    .map(|value| value.trim_ascii().to_vec())
                    .filter(|value| !value.is_empty());
            } else if !line.starts_with(b"#") {
                file.entries.extend(entry(line));
            }
        }
        file
    }

    /// Whether the device with these names, this ID and this partition number is listed.
    pub fn lists<S: AsRef<str>>(
        &self,
        id: Option<&DeviceId>,
        partition: Option<u32>,
        names: &[S],
    ) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.is_of(id, partition.unwrap_or(0), names))
    }

    /// The entries, in their order.
    pub fn entries(&self) -> impl Iterator<Item = Listed> {
        self.entries.iter().map(Entry::shown)
    }

    /// Whether the entry with this index is of the device.
    pub fn is_entry_of(&self, index: usize, device: &Listable) -> bool {
        self.position(device) == Some(index)
    }

    /// Takes the entry with this index away.
    pub fn remove(&mut self, index: usize) {
        assert!(index < self.entries.len(), "it is an entry");
        self.entries.remove(index);
    }

    /// Lists the device, which is the physical volume with this UUID, or none: at the end, instead
    /// of where it was.
    pub fn add(&mut self, device: &Listable, pv: Option<Uuid>) {
        if let Some(old) = self.position(device) {
            self.entries.remove(old);
        }
        let (kind, name) = match &device.id {
            Some(id) => (id.kind.as_str(), id.name.as_str()),
            None => (BY_NAME, device.node.as_str()),
        };
        self.entries.push(Entry {
            kind: kind.into(),
            name: name.into(),
            node: Some(device.node.clone().into()),
            pv: pv.map(digits),
            partition: device.partition,
        });
        debug_assert!(self.position(device).is_some(), "what is listed is found");
    }

    /// Notes which physical volume the device is now, if any, in its place. `false` where it is not
    /// listed.
    pub fn set_pv(&mut self, device: &Listable, pv: Option<Uuid>) -> bool {
        let position = self.position(device);
        if let Some(position) = position {
            self.entries[position].pv = pv.map(digits);
        }
        position.is_some()
    }

    /// Notes the name that the device has now.
    pub fn set_node(&mut self, device: &Listable) {
        if let Some(position) = self.position(device) {
            self.entries[position].node = Some(device.node.clone().into());
        }
    }

    /// The version of the next write. Fails where that is not for us to write.
    pub fn next_version(&self) -> Result<String> {
        let count = self.count()?.wrapping_add(1);
        let (major, minor) = FORMAT;
        Ok(format!("{major}.{minor}.{count}"))
    }

    /// The bytes of the file, for the next write. Fails where that is not for us to write.
    pub fn to_bytes(&self, stamp: &Stamp<'_>) -> Result<Vec<u8>> {
        let version = self.next_version()?;
        let system_id = stamp.system_id.map(|id| format!("SYSTEMID={id}\n"));
        let text = format!(
            "# LVM uses devices listed in this file.\n\
             # Created by LVM command {} pid {} at {}\n\
             {}VERSION={version}\n",
            stamp.command,
            stamp.pid,
            calendar(stamp.time),
            system_id.unwrap_or_default()
        );
        let mut bytes = text.into_bytes();
        for entry in &self.entries {
            entry.write(&mut bytes);
        }
        Ok(bytes)
    }

    fn position(&self, device: &Listable) -> Option<usize> {
        let (id, names) = (device.id.as_ref(), [&device.node]);
        let mut entries = self.entries.iter();
        entries.position(|entry| entry.is_of(id, device.partition, &names))
    }

    /// How often it was written.
    fn count(&self) -> Result<u32> {
        let Some(version) = &self.version else {
            return Ok(0);
        };
        let version = String::from_utf8_lossy(version);
        let refused = |why: &str| {
            let what = format!("{why}, VERSION={version}");
            Err(Error::new(Kind::Unsupported, what))
        };
        let mut parts = version.splitn(3, '.').map(str::parse);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(_)), Some(Ok(count))) if major <= FORMAT.0 => Ok(count),
            (Some(Ok(_)), Some(Ok(_)), Some(Ok(_))) => refused("it has a larger major version"),
            _ => refused("its version is no version"),
        }
    }
}

impl Entry {
    fn shown(&self) -> Listed {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Listed {
            kind: text(&self.kind),
            name: text(&self.name),
            node: self.node.as_deref().map(text),
            pv: self.pv.as_deref().map(text),
            partition: self.partition,
        }
    }

    fn is_of<S: AsRef<str>>(&self, id: Option<&DeviceId>, partition: u32, names: &[S]) -> bool {
        if self.kind == BY_NAME.as_bytes() {
            return names
                .iter()
                .any(|name| name.as_ref().as_bytes() == self.name);
        }
        let is_it =
            |id: &DeviceId| id.kind.as_bytes() == self.kind && id.name.as_bytes() == self.name;
        self.partition == partition && id.is_some_and(is_it)
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let node = self.node.as_deref().filter(|node| node.starts_with(b"/"));
        let fields = [
            (&b"IDTYPE="[..], Some(&*self.kind)),
            (b" IDNAME=", Some(&*self.name)),
            (b" DEVNAME=", node),
            (b" PVID=", self.pv.as_deref()),
        ];
        for (key, value) in fields {
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(value.unwrap_or(b"."));
        }
        if self.partition > 0 {
            bytes.extend_from_slice(format!(" PART={}", self.partition).as_bytes());
        }
        bytes.push(b'\n');
    }
}

fn entry(line: &[u8]) -> Option<Entry> {
    let field = |key: &[u8]| {
        let mut words = line.split(|byte| *byte == b' ');
        let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix(b"="))?;
        Some(value.to_vec())
    };
    // A point stands for what is not known.
    let known = |key: &[u8]| field(key).filter(|value| !matches!(&**value, [] | [b'.', ..]));
    let number = |value: Vec<u8>| str::from_utf8(value.trim_ascii()).ok()?.parse().ok();
    Some(Entry {
        kind: field(b"IDTYPE")?,
        name: field(b"IDNAME")?,
        node: known(b"DEVNAME"),
        pv: known(b"PVID"),
        partition: known(b"PART").and_then(number).unwrap_or(0),
    })
}

/// A UUID as the file has it: without hyphens.
pub(crate) fn digits(uuid: Uuid) -> Vec<u8> {
    uuid.to_string().replace('-', "").into_bytes()
}

#[cfg(test)]
mod tests;
