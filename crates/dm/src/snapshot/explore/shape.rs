//! What the origin of one history and its snapshots are made of.
//!
//! There is an origin, on leg 0, and room for [`SLOTS`] snapshots: slot `i` is face `1 + i`, and
//! its store is leg `1 + i`. Everything is small: chunks have a sector or a few, so that stores
//! have several areas, and overflow; and all that is done in pieces has pieces of a sector or two.

use block::Range;
use block::sim::{Discards, Disk, Faults, Image, Random};

use super::fault::SeededFault;
use crate::explore::{SECTOR, encode};
use crate::snapshot::limits::Limits;
use crate::snapshot::store::Geometry;

/// Snapshots at once at most.
pub(super) const SLOTS: usize = 3;
/// Bytes of a disk that has a store.
const STORE_MAX: u64 = 64 * SECTOR;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Snapshots that are taken, written and removed, while the origin is written.
    Snapshots,
    /// The same, and they are merged back into the origin.
    Merges,
}

/// What a history is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) subject: Subject,
    /// Bytes of the origin's disk, which the origin may grow to.
    pub(super) origin_max: u64,
    /// Bytes of a chunk, by slot.
    pub(super) chunks: [u64; SLOTS],
    pub(super) discards: Discards,
    pub(super) limits: Limits,
    pub(super) fault: Option<SeededFault>,
}

/// What a place on a leg is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Origin,
    Header,
    /// The area with this number.
    Area(u64),
    Data,
}

impl Shape {
    pub(super) fn chosen(
        random: &mut Random,
        subject: Subject,
        fault: Option<SeededFault>,
    ) -> Self {
        let mut chunk = || SECTOR << [0, 0, 1, 2][random.index(4)];
        let chunks = [chunk(), chunk(), chunk()];
        Self {
            subject,
            chunks,
            origin_max: (36 + random.below(8)) * SECTOR,
            discards: match random.below(3) {
                0 => Discards::Keep,
                _ => Discards::ReadZeroes,
            },
            limits: Limits {
                piece: SECTOR << random.below(3),
                merged: SECTOR << random.below(3),
                copied: SECTOR << random.below(5),
            },
            fault,
        }
    }

    /// Bytes of the origin at first.
    pub(super) fn origin_size(&self, random: &mut Random) -> u64 {
        let most = self.origin_max / SECTOR;
        let sectors = match random.below(3) {
            0 => most,
            _ => 16 + random.below(most - 15),
        };
        sectors * SECTOR
    }

    /// The origin's disk before the first write.
    pub(super) fn origin(&self) -> Image {
        let mut image = Image::new(self.origin_max);
        for sector in 0..self.origin_max / SECTOR {
            image.write(sector * SECTOR, &encode(sector as usize, 0));
        }
        image
    }

    /// A disk for the store of a slot: an old store of which nothing but the head was zeroed.
    pub(super) fn store(&self, slot: usize, random: &mut Random) -> Image {
        let mut image = Image::new(STORE_MAX);
        let chunk = self.chunks[slot];
        let geometry = Geometry::new(chunk, STORE_MAX, self.origin_max);
        for sector in 1..STORE_MAX / SECTOR {
            let start = sector * SECTOR;
            let mut bytes = encode(random.index(16), 77);
            if let Place::Area(_) = self.place(1 + slot, start) {
                for (index, entry) in bytes.chunks_exact_mut(16).enumerate() {
                    let new = geometry.skip_area(2 + (index as u64 + random.below(4)) % 6);
                    entry[..8].copy_from_slice(&random.below(16).to_le_bytes());
                    entry[8..].copy_from_slice(&new.to_le_bytes());
                }
            }
            image.write(start, &bytes);
        }
        image.zero(Range::new(0, SECTOR));
        image
    }

    /// Bytes that a new store of a slot uses.
    pub(super) fn store_size(&self, slot: usize, random: &mut Random) -> u64 {
        let chunk = self.chunks[slot];
        let most = STORE_MAX / chunk;
        let chunks = match random.below(4) {
            // Soon full.
            0 => 3 + random.below(8),
            1 => 3 + random.below(most - 2),
            _ => most,
        };
        chunks.min(most) * chunk
    }

    /// More than that, if there is more.
    pub(super) fn larger_store(&self, slot: usize, size: u64, random: &mut Random) -> u64 {
        let chunk = self.chunks[slot];
        (size + (1 + random.below(16)) * chunk).min(STORE_MAX / chunk * chunk)
    }

    pub(super) fn disk(&self, image: Image, random: &mut Random) -> Disk {
        let faults = Faults {
            discards: self.discards,
            residue: true,
            ..Faults::default()
        };
        Disk::new("disk", image, SECTOR as u32, faults, random.number())
    }

    /// What byte `start` of a leg is for.
    pub(super) fn place(&self, leg: usize, start: u64) -> Place {
        let Some(slot) = leg.checked_sub(1) else {
            return Place::Origin;
        };
        let chunk = self.chunks[slot];
        let per_area = chunk / 16;
        match start / chunk {
            0 => Place::Header,
            at if at % (per_area + 1) == 1 => Place::Area(at / (per_area + 1)),
            _ => Place::Data,
        }
    }
}

/// How many chunks a store has room for: a full area needs another one behind it.
pub(super) fn capacity(chunk: u64, store_size: u64) -> u64 {
    let (per_area, chunks) = (chunk / 16, store_size / chunk);
    let is_area = |at: &u64| at % (per_area + 1) == 1;
    let data = (2..chunks).filter(|at| !is_area(at)).count() as u64;
    let area_behind = 1 + (per_area + 1) * (data / per_area);
    if data > 0 && data.is_multiple_of(per_area) && area_behind >= chunks {
        data - 1
    } else {
        data
    }
}
