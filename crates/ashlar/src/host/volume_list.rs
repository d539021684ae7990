//! `activation/volume_list` and its like: lists of which volumes a host does something with.
//!
//! ```text
//!   "vg0"       the volumes of a group         "@tag"    those with the tag, or whose group has it
//!   "vg0/lv"    one volume                     "@*"      those with one of the host's tags
//! ```
//!
//! Source: lvm.conf(5) and the comments of `activation/volume_list`.

use lvm2::model::{LogicalVolume, VolumeGroup};

use super::Config;

/// The volumes that a setting lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeList<'a>(Vec<&'a str>);

impl<'a> VolumeList<'a> {
    /// What the setting `path` lists; `None` where it is not set, which lists nothing and forbids
    /// nothing.
    pub fn of(config: &'a Config, path: &str) -> Option<Self> {
        config.strings(path).map(Self)
    }

    /// Whether `lv`, a volume of `vg`, is listed.
    pub fn has(&self, vg: &VolumeGroup, lv: &LogicalVolume) -> bool {
        let tags = || vg.tags.iter().chain(&lv.tags);
        let is_listed = |entry: &&str| match entry.strip_prefix('@') {
            // A host without tags has none in common with anything.
            Some("*") => false,
            Some(tag) => tags().any(|other| other == tag),
            None => match entry.split_once('/') {
                Some((group, name)) => group == vg.name && name == lv.name(),
                None => *entry == vg.name,
            },
        };
        self.0.iter().any(is_listed)
    }
}

#[cfg(test)]
mod tests;
