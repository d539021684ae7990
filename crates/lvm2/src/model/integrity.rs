//! What the metadata say of checksums under an image of a RAID (`lvcreate --raidintegrity`).
//!
//! ```text
//!   type = "integrity"               NAME_rimage_0
//!   origin = "…_iorig"               the data           meta_dev = "…_imeta"   the checksums
//!   data_sectors = 8192              of the data
//!   mode = "J"                       J: a journal, B: a bitmap
//!   tag_size = 4    internal_hash = "crc32c"    block_size = 512
//!   recalculate = 1                  checksums that are not there yet are computed
//!   journal_sectors = 2048           and others that need not be there
//! ```
//!
//! They are kept as they are written ([`super::Extras`]); this reads them, where they matter, and
//! refuses what LVM2 does not write.

use alloc::format;

use super::{Extras, Segment, SegmentType};
use crate::text::Value;
use crate::{Error, Kind, Result, Sectors};

/// How data and checksums are kept together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegrityMode {
    /// `J`: by a journal.
    Journal,
    /// `B`: by a bitmap.
    Bitmap,
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegritySettings {
    /// The size of the data.
    pub data_sectors: Sectors,
    /// How they are kept together.
    pub mode: IntegrityMode,
    /// Bytes of a block, which has a checksum: 512, 1024, 2048 or 4096.
    pub block_size: u32,
    /// Whether blocks may be discarded.
    pub allows_discards: bool,
    /// Sectors that the journal should have; none: a part of the data's size.
    pub journal_sectors: Option<u64>,
}

/// Bytes of a checksum.
const TAG_SIZE: u64 = 4;
const HASH: &str = "crc32c";

impl IntegritySettings {
    /// What a segment of this type says.
    ///
    /// # Errors
    ///
    /// Something is missing, or is not what LVM2 writes: a clause about the volume.
    pub fn of(segment: &Segment) -> Result<Self> {
        debug_assert!(
            matches!(segment.kind, SegmentType::Integrity(_)),
            "it has checksums"
        );
        let number = |key: &str| segment.extra.number(key);
        let wrong = |key: &str| {
            Error::new(
                Kind::Model,
                format!("{key} of its checksums is missing or wrong"),
            )
        };
        let needed = |key: &str| number(key).ok_or_else(|| wrong(key));
        let mode = match segment.extra.string("mode") {
            Some("J") => IntegrityMode::Journal,
            Some("B") => IntegrityMode::Bitmap,
            _ => return Err(wrong("mode")),
        };
        if segment.extra.string("internal_hash") != Some(HASH) {
            return Err(wrong("internal_hash"));
        }
        if needed("tag_size")? != TAG_SIZE {
            return Err(wrong("tag_size"));
        }
        let block_size = match needed("block_size")? {
            size @ (512 | 1024 | 2048 | 4096) => size as u32,
            _ => return Err(wrong("block_size")),
        };
        Ok(Self {
            data_sectors: Sectors(needed("data_sectors")?),
            mode,
            block_size,
            allows_discards: number("allow_discards").is_some_and(|value| value != 0),
            journal_sectors: number("journal_sectors"),
        })
    }

    /// Lets a segment of this type say that its data have this size.
    pub(crate) fn set_data_sectors(segment: &mut Segment, data: Sectors) {
        segment.extra.set_number("data_sectors", data.0);
        debug_assert!(
            Self::of(segment).is_ok_and(|settings| settings.data_sectors == data),
            "it says so"
        );
    }

    /// What a segment says that has them, of checksums that are not computed yet.
    pub fn new_segment(&self) -> Extras {
        debug_assert!(
            !self.allows_discards && self.journal_sectors.is_none(),
            "as LVM2 makes them"
        );
        let text = |text: &'static str| Value::String(text.into());
        let number = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        let mode = match self.mode {
            IntegrityMode::Journal => "J",
            IntegrityMode::Bitmap => "B",
        };
        Extras::written([
            ("origin", "data_sectors", number(self.data_sectors.0)),
            ("origin", "mode", text(mode)),
            ("origin", "tag_size", number(TAG_SIZE)),
            ("origin", "block_size", number(self.block_size.into())),
            ("origin", "internal_hash", text(HASH)),
            ("meta_dev", "recalculate", number(1)),
        ])
    }
}

#[cfg(test)]
mod tests;
