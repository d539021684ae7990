//! The names by which multipath knows its disks, whether or not it has set them up.
//!
//! ```text
//!   /3600a098038303053453f463045727654/     a line of the file: 3 for naa, 2 for eui, 1 for t10
//! ```
//!
//! A path of such a disk must not be used by itself: the same disk is there several times.
//!
//! Source: `multipath-tools`, `/etc/multipath/wwids`; the numbers are types of identifiers of
//! SPC-4, 7.8.6.3.

use std::collections::HashSet;
use std::fs;

use super::config::Config;
use super::location::DeviceId;

/// Kinds of names in the kernel, and the number that multipath has for them.
const KINDS: [(&str, char); 3] = [("naa.", '3'), ("eui.", '2'), ("t10.", '1')];

/// All names of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Wwids(HashSet<String>);

impl Wwids {
    /// Those of the file that `devices/multipath_wwids_file` names, if there is one.
    pub(super) fn read(config: &Config) -> Self {
        let path = match config.string("devices/multipath_wwids_file") {
            Some("") => return Self::default(),
            Some(path) => path,
            None => "/etc/multipath/wwids",
        };
        Self::parse(&fs::read_to_string(path).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let between = |line: &str| {
            let name = line.trim().strip_prefix('/')?.split('/').next()?;
            (!name.is_empty()).then(|| collapsed(name))
        };
        let names: HashSet<String> = text.lines().filter_map(between).collect();
        debug_assert!(!names.contains(""), "a disk has a name");
        Self(names)
    }

    /// Whether a device with this name is one of them.
    pub(super) fn has(&self, id: &DeviceId) -> bool {
        if self.0.is_empty() || id.kind != "sys_wwid" {
            return false;
        }
        let of_kind = |(prefix, number): &(&str, char)| {
            let rest = id.name.strip_prefix(prefix)?;
            Some(format!("{number}{}", collapsed(rest)))
        };
        let name = KINDS.iter().find_map(of_kind);
        name.is_some_and(|name| self.0.contains(&name))
    }
}

/// The name with one `_` for each run of them: what fills a name up is not the same everywhere.
fn collapsed(name: &str) -> String {
    let parts = name.split(['_', ' ']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests;
