//! Stock's devices file: the only devices that this host's LVM may use.
//!
//! One line per device, `IDTYPE=sys_wwid IDNAME=naa.50 DEVNAME=/dev/sda PVID=… PART=1`; other
//! lines are comments or of no concern here. A device is listed if its ID is (and its partition's
//! number, where one is given); an entry of type `devname`, the last resort of stock, matches by
//! name. An entry never brings in a device that the host does not have.

use std::fs;
use std::io;
use std::path::Path;

use super::location::DeviceId;
use crate::{Error, Kind, Result};

/// The entries of a devices file.
#[derive(Debug, Clone, Default)]
pub struct DevicesFile {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    id: DeviceId,
    partition: Option<u32>,
}

impl DevicesFile {
    /// Reads the file at `path`; `None` if there is none, so that every device is allowed.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(Self::parse(&String::from_utf8_lossy(&bytes)))),
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
    pub fn parse(text: &str) -> Self {
        Self {
            entries: text.lines().filter_map(entry).collect(),
        }
    }

    /// Whether the device with these names, this ID and this partition number is listed.
    pub fn lists<S: AsRef<str>>(
        &self,
        id: Option<&DeviceId>,
        partition: Option<u32>,
        names: &[S],
    ) -> bool {
        self.entries.iter().any(|entry| {
            if entry.id.kind == "devname" {
                return names.iter().any(|name| name.as_ref() == entry.id.name);
            }
            let same_part = entry.partition.unwrap_or(0) == partition.unwrap_or(0);
            same_part && id == Some(&entry.id)
        })
    }
}

fn entry(line: &str) -> Option<Entry> {
    let field = |key: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    };
    let id = DeviceId {
        kind: field("IDTYPE")?.to_owned(),
        name: field("IDNAME")?.to_owned(),
    };
    Some(Entry {
        id,
        partition: field("PART").and_then(|part| part.parse().ok()),
    })
}

#[cfg(test)]
mod tests;
