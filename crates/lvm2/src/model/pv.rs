//! A physical volume, as its volume group's text describes it.
//!
//! ```text
//!     0      pe_start                                            dev_size
//!     |label, |extent 0|extent 1| …           |pe_count - 1| rest |
//! ```
//!
//! Where the device is today, and whether it is there at all, is not known here: the device's
//! name in the text is a hint from when it was last written.

use alloc::string::String;
use alloc::vec::Vec;

use super::extras::Extras;
use super::flags::{Flags, PvFlag};
use crate::{Extents, Sectors, Uuid};

/// A physical volume.
#[derive(Debug, Clone, PartialEq)]
pub struct PhysicalVolume {
    /// Its name inside the text (`pv0`); of no use outside.
    pub key: String,
    /// Its identity, the same as in its label.
    pub uuid: Uuid,
    /// The device on which it was found when the text was written.
    pub device: Option<String>,
    /// What kind of name `device_id` is.
    pub device_id_type: Option<String>,
    /// A name of the device that survives a restart.
    pub device_id: Option<String>,
    /// The flags.
    pub flags: Flags<PvFlag>,
    /// The tags.
    pub tags: Vec<String>,
    /// The size of the device, where the text says so.
    pub dev_size: Option<Sectors>,
    /// Where the first extent begins.
    pub pe_start: Sectors,
    /// How many extents it has.
    pub pe_count: Extents,
    /// Where an area for a boot loader begins.
    pub ba_start: Option<Sectors>,
    /// The size of that area.
    pub ba_size: Option<Sectors>,
    /// Keys that the model does not name.
    pub extra: Extras,
}

impl PhysicalVolume {
    /// A physical volume that may be allocated from. Its name in texts comes from its place.
    pub fn new(uuid: Uuid, pe_start: Sectors, pe_count: Extents) -> Self {
        Self {
            key: String::new(),
            uuid,
            device: None,
            device_id_type: None,
            device_id: None,
            flags: Flags::of(&[PvFlag::Allocatable]),
            tags: Vec::new(),
            dev_size: None,
            pe_start,
            pe_count,
            ba_start: None,
            ba_size: None,
            extra: Extras::default(),
        }
    }

    /// Where extent `extent` begins on the device; `None` beyond what 64 bits can count.
    pub fn extent_start(&self, extent: Extents, extent_size: Sectors) -> Option<Sectors> {
        self.pe_start.checked_add(extent.to_sectors(extent_size)?)
    }

    /// Whether new extents may be taken from it.
    pub fn is_allocatable(&self) -> bool {
        self.flags.has(PvFlag::Allocatable) && !self.flags.has(PvFlag::Missing)
    }
}
