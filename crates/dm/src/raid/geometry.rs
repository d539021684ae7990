//! Which bytes of which leg are which bytes of an array: arithmetic alone.
//!
//! Nothing here knows whether a leg is there or right. Offsets and lengths are bytes, legs are
//! numbers from 0 in the order of the array. The formulas are md's (`drivers/md/raid5.c`,
//! `raid10.c`), and what they mean is pictured in the kernel's documentation of dm-raid.
//!
//! ```text
//!   mirror          each leg holds every byte, where the array has it
//!   parity          chunk after chunk to the data legs of row after row (rotation.rs)
//!   copies          near: each chunk on so many legs that follow one another
//!                   far: the same once more in another part of each leg, some legs further
//!                   offset: the same once more one chunk below, some legs further
//! ```
//!
//! Copies are near or far: where they would be both, md's formulas put two chunks in one place, and
//! nothing makes such arrays.

use super::rotation::{Parity, Rotation, Row};
use crate::{Error, Kind, Result};

/// Legs of an array at most: what a dm-raid superblock has bits for is 253 and md's 1.x 384, but
/// LVM2 stops at 64.
pub const LEGS_MAX: usize = 64;
/// Copies of a byte at most, in schemes with copies of chunks.
const COPIES_MAX: usize = 16;
/// A chunk in bytes is a multiple of this, and of a sector.
const SECTOR: u64 = 512;

/// How an array is laid out on its legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Each leg holds all (md level 1).
    Mirror,
    /// Rows of data and parity (md levels 4, 5 and 6).
    Parity(Parity, Rotation),
    /// Copies of chunks (md level 10).
    Copies(Copies),
}

/// How often chunks are there, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Copies {
    /// On so many legs that follow one another.
    pub near: usize,
    /// And all that so often.
    pub far: usize,
    /// Where the far ones are.
    pub place: FarPlace,
    /// Legs among which far copies turn: all of them, or `near * far` ("far sets").
    pub sets: FarSets,
}

/// Where far copies are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FarPlace {
    /// In another part of each leg.
    Apart,
    /// One chunk further ("offset").
    NextChunk,
}

/// Among which legs far copies turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FarSets {
    /// All.
    None,
    /// `legs / far` ("improved", with a mistake that arrays have kept).
    ByFar,
    /// `near * far` of them.
    ByCopies,
}

/// A byte of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spot {
    /// The leg.
    pub leg: usize,
    /// The byte.
    pub start: u64,
}

/// The arithmetic of one array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    scheme: Scheme,
    legs: usize,
    chunk: u64,
    leg_size: u64,
    /// Bytes of the array.
    size: u64,
    /// Bytes from a far copy to the next one.
    stride: u64,
}

impl Scheme {
    /// What md means by a level and a layout; `None`: nothing that has state and is known.
    pub fn from_md(level: u32, layout: u32) -> Option<Self> {
        let rows = |parity| {
            let rotation = Rotation::from_md(layout)?;
            let suits = rotation.suits(parity);
            suits.then_some(Self::Parity(parity, rotation))
        };
        match level {
            1 => Some(Self::Mirror),
            // Whatever the layout says.
            4 => Some(Self::Parity(Parity::One, Rotation::Last)),
            5 => rows(Parity::One),
            6 => rows(Parity::Two),
            10 => Self::copies_from_md(layout),
            _ => None,
        }
    }

    /// The level and the layout that md means it by; its level 4 is level 5 with a layout of its
    /// own, as for device-mapper.
    pub fn md(self) -> (u32, u32) {
        match self {
            Self::Mirror => (1, 0),
            Self::Parity(Parity::One, rotation) => (5, rotation.md()),
            Self::Parity(Parity::Two, rotation) => (6, rotation.md()),
            Self::Copies(copies) => (10, copies.md()),
        }
    }

    /// Copies of chunks as md's number says; `None`: it says nothing that can be.
    fn copies_from_md(layout: u32) -> Option<Self> {
        let (near, far) = (layout & 0xff, layout >> 8 & 0xff);
        let place = match layout >> 16 & 1 {
            0 => FarPlace::Apart,
            _ => FarPlace::NextChunk,
        };
        let sets = match layout >> 17 {
            0 => FarSets::None,
            1 => FarSets::ByFar,
            2 => FarSets::ByCopies,
            _ => return None,
        };
        (near > 0 && far > 0).then_some(Self::Copies(Copies {
            near: near as usize,
            far: far as usize,
            place,
            sets,
        }))
    }

    /// `near` copies on legs that follow one another, and no others: what LVM2 makes.
    pub fn near_copies(near: usize) -> Self {
        Self::Copies(Copies {
            near,
            far: 1,
            place: FarPlace::Apart,
            sets: FarSets::None,
        })
    }

    /// How many legs may be missing, whichever they are, of `legs`.
    pub fn redundancy(self, legs: usize) -> usize {
        match self {
            Self::Mirror => legs - 1,
            Self::Parity(parity, _) => parity.count(),
            Self::Copies(copies) => copies.near * copies.far - 1,
        }
    }
}

impl Copies {
    /// md's number.
    pub fn md(self) -> u32 {
        let place = match self.place {
            FarPlace::Apart => 0,
            FarPlace::NextChunk => 1 << 16,
        };
        let sets = match self.sets {
            FarSets::None => 0,
            FarSets::ByFar => 1 << 17,
            FarSets::ByCopies => 2 << 17,
        };
        self.near as u32 | (self.far as u32) << 8 | place | sets
    }

    fn set_size(self, legs: usize) -> usize {
        match self.sets {
            FarSets::None => legs,
            FarSets::ByFar => legs / self.far,
            FarSets::ByCopies => self.near.saturating_mul(self.far),
        }
    }
}

impl Geometry {
    /// An array of `legs` legs of `leg_size` bytes each, of which chunks of `chunk` bytes follow
    /// one another; of a mirror the chunk does not matter.
    ///
    /// # Errors
    ///
    /// Such an array cannot be; why.
    pub fn new(scheme: Scheme, legs: usize, chunk: u64, leg_size: u64) -> Result<Self> {
        let invalid = |what: String| Error::new(Kind::InvalidLayout, what);
        if legs == 0 || legs > LEGS_MAX {
            return Err(invalid(format!(
                "an array of {legs} legs; 1 to {LEGS_MAX} are served"
            )));
        }
        let chunk = match scheme {
            Scheme::Mirror => leg_size.max(1),
            _ if chunk == 0 || !chunk.is_multiple_of(SECTOR) => {
                return Err(invalid(format!("an array with chunks of {chunk} bytes")));
            }
            _ => chunk,
        };
        let is_possible = match scheme {
            Scheme::Mirror => true,
            Scheme::Parity(parity, rotation) => legs > parity.count() && rotation.suits(parity),
            Scheme::Copies(Copies { near: 0, .. } | Copies { far: 0, .. }) => false,
            Scheme::Copies(copies) if copies.near > 1 && copies.far > 1 => false,
            Scheme::Copies(copies) => {
                let all = copies.near.saturating_mul(copies.far);
                let set = copies.set_size(legs);
                all <= legs.min(COPIES_MAX) && set > 0 && set <= legs && set >= copies.far
            }
        };
        if !is_possible {
            return Err(invalid(format!("{scheme:?} on {legs} legs")));
        }
        let mut geometry = Self {
            scheme,
            legs,
            chunk,
            leg_size,
            size: leg_size,
            stride: 0,
        };
        if scheme != Scheme::Mirror {
            geometry
                .measure()
                .ok_or_else(|| invalid("an array of more than 2^64 bytes".into()))?;
        }
        Ok(geometry)
    }

    /// Finds out how large it is.
    fn measure(&mut self) -> Option<()> {
        let (rows, legs) = (self.leg_size / self.chunk, self.legs as u64);
        match self.scheme {
            Scheme::Mirror => {}
            Scheme::Parity(parity, _) => {
                let data = legs - parity.count() as u64;
                self.size = rows.checked_mul(data)?.checked_mul(self.chunk)?;
            }
            Scheme::Copies(copies) => {
                let (near, far) = (copies.near as u64, copies.far as u64);
                let chunks = (rows / far).checked_mul(legs)? / near;
                self.size = chunks.checked_mul(self.chunk)?;
                let used = chunks.checked_mul(near * far)?.div_ceil(legs);
                self.stride = match copies.place {
                    FarPlace::NextChunk => self.chunk,
                    FarPlace::Apart => (used / far) * self.chunk,
                };
            }
        }
        Some(())
    }

    /// How it is laid out.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// How many legs it has.
    pub fn legs(&self) -> usize {
        self.legs
    }

    /// Bytes of a chunk; of a mirror, of a leg.
    pub fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Bytes of each leg.
    pub fn leg_size(&self) -> u64 {
        self.leg_size
    }

    /// Bytes of the array.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Legs whose worth of space is data, at least one.
    pub fn data_legs(&self) -> usize {
        match self.scheme {
            Scheme::Mirror => 1,
            Scheme::Parity(parity, _) => self.legs - parity.count(),
            Scheme::Copies(copies) => (self.legs / (copies.near * copies.far)).max(1),
        }
    }

    /// How often each byte is there, parity not counted.
    pub fn copies(&self) -> usize {
        match self.scheme {
            Scheme::Mirror => self.legs,
            Scheme::Parity(..) => 1,
            Scheme::Copies(copies) => copies.near * copies.far,
        }
    }

    /// How many bytes from `offset` on follow one another on their legs.
    pub fn run(&self, offset: u64) -> u64 {
        assert!(offset < self.size, "the array has so many bytes");
        let end = offset - offset % self.chunk + self.chunk;
        end.min(self.size) - offset
    }

    /// Where copy `copy` of byte `offset` is. Copies have an order: the first one is what md reads
    /// where copies may differ.
    pub fn spot(&self, offset: u64, copy: usize) -> Spot {
        assert!(offset < self.size, "the array has so many bytes");
        assert!(copy < self.copies(), "each byte is there so often");
        match self.scheme {
            Scheme::Mirror => Spot {
                leg: copy,
                start: offset,
            },
            Scheme::Parity(parity, _) => {
                let chunk = offset / self.chunk;
                let data = (self.legs - parity.count()) as u64;
                let (row, index) = (chunk / data, (chunk % data) as usize);
                Spot {
                    leg: self.row(row).leg(index),
                    start: row * self.chunk + offset % self.chunk,
                }
            }
            Scheme::Copies(copies) => self.copy_of(offset, copy, copies),
        }
    }

    fn copy_of(&self, offset: u64, copy: usize, copies: Copies) -> Spot {
        let legs = self.legs as u64;
        let first = offset / self.chunk * copies.near as u64;
        let near = (copy / copies.far) as u64;
        let mut leg = ((first + near) % legs) as usize;
        let rows_of_place = match copies.place {
            FarPlace::Apart => 1,
            FarPlace::NextChunk => copies.far as u64,
        };
        // A near copy that begins the legs again is one chunk below, wherever rows are.
        let wraps = (first % legs + near) / legs;
        let row = first / legs * rows_of_place + wraps;
        let mut start = row * self.chunk + offset % self.chunk;
        let size = copies.set_size(self.legs);
        for _ in 0..copy % copies.far {
            leg = self.next_far(leg, copies.near, size);
            start += self.stride;
        }
        Spot { leg, start }
    }

    /// The leg of the next far copy. The last set has the legs that are left over, too.
    fn next_far(&self, leg: usize, near: usize, set: usize) -> usize {
        let over = self.legs % set;
        let last = (self.legs / set - 1) * set;
        let begin = leg / set * set;
        let next = leg + near;
        if over > 0 && next > last {
            last + (next - last) % (set + over)
        } else {
            begin + (next - begin) % set
        }
    }

    /// Who holds what in row `row`.
    ///
    /// # Panics
    ///
    /// It has no parity.
    pub fn row(&self, row: u64) -> Row {
        let Scheme::Parity(parity, rotation) = self.scheme else {
            panic!("only rows with parity are asked for");
        };
        rotation.row(row, self.legs, parity)
    }

    /// How many bytes there are to be brought in sync: of each leg, but of copies of chunks the
    /// array's own. Positions in superblocks and bitmaps count these.
    pub fn sync_size(&self) -> u64 {
        match self.scheme {
            Scheme::Mirror | Scheme::Parity(..) => self.leg_size,
            Scheme::Copies(_) => self.size,
        }
    }
}

#[cfg(test)]
mod tests;
