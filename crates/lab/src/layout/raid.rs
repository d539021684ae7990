//! An array in a layout: its level, its legs, and where in it the volume begins.
//!
//! ```text
//!   leg    | metadata, an extent | data ………………………… |        one beside each leg's data
//!
//!   array  | begin | the volume's bytes | rest of the last row |
//! ```
//!
//! `begin` is what a partition or a volume on an array leaves free in front: a multiple of a row's
//! data keeps rows together, anything else cuts what was aligned to rows. The arithmetic is
//! [`dm::raid::Geometry`]'s, the layouts are those that LVM2 takes if nobody asks for others.
//!
//! Striping without redundancy (level 0) is a striped segment and nothing else.

use dm::raid::{Geometry, Parity, Rotation, Scheme};

use super::volume::Area;

/// What lies before the data of each leg, in bytes: an extent of LVM2's.
pub(crate) const METADATA: u64 = 4 << 20;
/// Bytes of a region at most: the largest power of two that a bitmap has room to note.
const REGION_MAX: u64 = 2 << 30;
/// Regions at most: their marks fit into the metadata, and into those of the kernel.
const REGIONS_MAX: u64 = 1 << 21;
const BLOCK: u64 = 512;

/// A level with redundancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Copies.
    One,
    /// Parity on the last leg.
    Four,
    /// Parity in turns.
    Five,
    /// Two parities in turns.
    Six,
    /// Two copies of each chunk, in turns.
    Ten,
}

/// An array, and the volume in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Its level.
    pub level: Level,
    /// Bytes of the volume.
    pub len: u64,
    /// Bytes of a chunk; of copies (level 1) it does not matter.
    pub chunk: u64,
    /// Bytes that one mark covers, which says that they are being written.
    pub region: u64,
    /// The byte of the array where the volume begins.
    pub begin: u64,
    /// Where each leg's metadata begin; its data lie behind them.
    pub legs: Vec<Area>,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::One, Self::Four, Self::Five, Self::Six, Self::Ten];

    /// How layouts and LVM2 call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "raid1",
            Self::Four => "raid4",
            Self::Five => "raid5",
            Self::Six => "raid6",
            Self::Ten => "raid10",
        }
    }

    /// How it is laid out.
    pub fn scheme(self) -> Scheme {
        match self {
            Self::One => Scheme::Mirror,
            Self::Four => Scheme::Parity(Parity::One, Rotation::Last),
            Self::Five => Scheme::Parity(Parity::One, Rotation::LeftSymmetric),
            Self::Six => Scheme::Parity(Parity::Two, Rotation::ZeroRestart),
            Self::Ten => Scheme::near_copies(2),
        }
    }

    /// Legs at least.
    pub fn legs_min(self) -> usize {
        match self {
            Self::One => 2,
            Self::Four | Self::Five => 3,
            Self::Six => 5,
            Self::Ten => 4,
        }
    }
}

impl Array {
    /// The arithmetic of an array with room for the volume; why there can be none.
    pub fn geometry(&self) -> Result<Geometry, String> {
        let count = self.legs.len() as u64;
        let all = self.begin.saturating_add(self.len);
        let whole = |bytes: u64| bytes.div_ceil(self.chunk).saturating_mul(self.chunk);
        let leg_size = match self.level {
            Level::One => all,
            Level::Four | Level::Five => whole(all.div_ceil(count - 1)),
            Level::Six => whole(all.div_ceil(count - 2)),
            Level::Ten => whole(all.saturating_mul(2).div_ceil(count)),
        };
        let geometry = Geometry::new(self.level.scheme(), self.legs.len(), self.chunk, leg_size);
        let geometry = geometry.map_err(|error| error.to_string())?;
        assert!(geometry.size() >= all, "the legs have room for all of it");
        Ok(geometry)
    }

    /// Bytes of each leg, its metadata included; those of an array that cannot be say nothing.
    pub(super) fn leg_bytes(&self) -> u64 {
        let data = self.geometry().map_or(0, |geometry| geometry.leg_size());
        METADATA.saturating_add(data)
    }

    /// Whether it can be; why not.
    pub(super) fn check(&self) -> Result<(), String> {
        let (name, least) = (self.level.name(), self.level.legs_min());
        if self.legs.len() < least {
            let count = self.legs.len();
            return Err(format!("{name} on {count} areas; {least} at least"));
        }
        if self.chunk == 0 || !self.chunk.is_multiple_of(BLOCK) {
            return Err(format!("chunks of {} bytes", self.chunk));
        }
        if !self.begin.is_multiple_of(BLOCK) {
            return Err(format!("it begins at byte {} of its array", self.begin));
        }
        if !self.region.is_power_of_two() || !(BLOCK..=REGION_MAX).contains(&self.region) {
            let region = self.region;
            return Err(format!(
                "regions of {region} bytes; use a power of two from {BLOCK} to {REGION_MAX}"
            ));
        }
        let regions = self.geometry()?.sync_size().div_ceil(self.region);
        if regions > REGIONS_MAX {
            return Err(format!("{regions} regions; at most {REGIONS_MAX}"));
        }
        Ok(())
    }
}
