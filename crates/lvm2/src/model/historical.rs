//! Logical volumes that are gone and remembered, so that a chain of thin snapshots stays whole.
//!
//! They stand in a section of their own and are only carried: nothing can be done with one but
//! forget it.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::extras::Extras;
use crate::Uuid;

/// A logical volume that is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoricalVolume {
    /// The name of its section.
    pub key: String,
    /// The identity that it had.
    pub uuid: Uuid,
    /// The name that it had, where it is not that of the section.
    pub name: Option<String>,
    /// When it was created, in seconds since 1970 began.
    pub creation_time: Option<u64>,
    /// When it was removed.
    pub removal_time: Option<u64>,
    /// The volume of which it was a snapshot; a `-` in front where that one is gone too.
    pub origin: Option<String>,
    /// The volumes that were its snapshots, in the same writing.
    pub descendants: Vec<String>,
    /// Keys that the model does not name.
    pub extra: Extras,
}

impl HistoricalVolume {
    /// Follows a living volume to its new name.
    pub(crate) fn rename_live(&mut self, old: &str, new: &str) {
        for name in self.origin.iter_mut().chain(&mut self.descendants) {
            if name == old {
                new.clone_into(name);
            }
        }
    }
}
