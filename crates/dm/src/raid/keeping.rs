//! How legs keep what is said of their array: what stands beside each leg's data.
//!
//! ```text
//!   device-mapper   byte 0  its superblock       byte 4096  bitmap       on a device of its own
//!   md              byte 0  md's superblock      byte 4096  bitmap, or a log of partial parity
//! ```
//!
//! Where md keeps them on the disk depends on the version; who opens an array puts the two together
//! as one device, which reaches nothing else. So all that differs is how a superblock is read and
//! written, whose the bitmap is, and that md's says whether the array is being written. The machine
//! speaks of superblocks as device-mapper does, which are made of the same facts.

use std::time::Duration;

use super::assembly::{Described, LegFound};
use super::bitmap::{self, Bitmap};
use super::md::Kept;
use super::superblock::{Position, Superblock};

/// How legs keep what is said of their array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Keeping {
    /// As device-mapper does.
    #[default]
    Mapper,
    /// As md does.
    Md(Box<Kept>),
}

/// What a round writes down, but of the one leg that it is written to.
#[derive(Debug)]
pub(super) struct Said<'a> {
    /// What is said of the array.
    pub(super) superblock: &'a Superblock,
    /// How far each leg is recovered.
    pub(super) recovered: &'a [Position],
    pub(super) activity: Activity,
    /// How long the array has been served.
    pub(super) now: Duration,
}

/// Whether an array is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// It may be: if nothing more is said, writes were cut short.
    Written,
    Resting,
}

impl Keeping {
    /// Whether superblocks say that nothing is being written.
    pub(super) fn tells_rest(&self) -> bool {
        matches!(self, Self::Md(_))
    }

    /// Whether there is a bitmap.
    pub(super) fn has_bitmap(&self) -> bool {
        match self {
            Self::Mapper => true,
            Self::Md(kept) => kept.bitmap.is_some(),
        }
    }

    /// What the headers of logs of partial parity are signed with; `None`: there are none.
    pub(super) fn log_signature(&self) -> Option<u32> {
        match self {
            Self::Mapper => None,
            Self::Md(kept) => kept.log_signature(),
        }
    }

    /// Bytes that superblock and bitmap of so many regions take at least.
    pub(super) fn len(&self, regions: u64) -> u64 {
        let bitmap = if self.has_bitmap() {
            bitmap::len_for(regions)
        } else {
            0
        };
        bitmap::START + bitmap
    }

    /// What the bytes beside a leg say, from their start on.
    pub(super) fn found(&self, leg: usize, described: &Described, bytes: &[u8]) -> LegFound {
        match self {
            Self::Mapper => LegFound::of_metadata(bytes),
            Self::Md(kept) => kept.found(leg, described, bytes),
        }
    }

    /// The bitmap as it is kept.
    pub(super) fn bitmap(&self, bitmap: Bitmap) -> Bitmap {
        match self {
            Self::Mapper => bitmap,
            Self::Md(kept) => kept.bitmap(bitmap),
        }
    }

    /// The superblock of a leg.
    pub(super) fn superblock(&self, leg: usize, said: &Said<'_>) -> Vec<u8> {
        match self {
            Self::Mapper => {
                let superblock = Superblock {
                    array_position: leg as u32,
                    disk_recovery_offset: said.recovered[leg],
                    ..said.superblock.clone()
                };
                superblock.encode().to_vec()
            }
            Self::Md(kept) => kept.superblock(leg, said),
        }
    }
}
