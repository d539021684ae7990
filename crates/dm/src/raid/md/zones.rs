//! Where the bytes of arrays without redundancy are: stripes over legs of several sizes, and legs
//! that follow one another.
//!
//! Stripes go over all legs as far as the smallest one reaches; what the others have left is the
//! next zone, over fewer legs, and so on. Only whole chunks of a leg are used.
//!
//! ```text
//!   leg 0  0 3 6          leg 1  1 4 7 9 B          leg 2  2 5 8 A C D
//!          ╰zone 0╯              ╰zone 0╯╰1╯               ╰zone 0╯╰1╯╰zone 2
//! ```
//!
//! In zones behind the first one there are two orders. Kernels before 3.14 had the number of the
//! chunk in the array choose the leg, later ones its number in the zone, and nothing on the disks
//! said which until the layout did. Where the order matters and nobody said, nothing is served: a
//! wrong one looks like damage. The picture has the later order. The facts are those of
//! `drivers/md/raid0.c` and `md-linear.c`.

use crate::raid::geometry::{LEGS_MAX, Spot};
use crate::{Error, Kind, Result};

const SECTOR: u64 = 512;

/// Which leg a zone begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZoneOrder {
    /// The one that the chunk's number in the array says: kernels before 3.14.
    Original,
    /// Its first one: later kernels.
    Alternate,
}

/// Stripes over legs that may differ in size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones {
    chunk: u64,
    order: ZoneOrder,
    all: Vec<Zone>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Zone {
    /// Bytes of the array.
    start: u64,
    end: u64,
    /// Where it begins on its legs.
    leg_start: u64,
    legs: Vec<usize>,
}

/// A zone: stripes over legs, all from the same place on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripes {
    /// Bytes of the array.
    pub len: u64,
    /// Where they begin on each leg.
    pub leg_start: u64,
    /// The legs, in the order in which their turns come.
    pub legs: Vec<usize>,
}

/// Legs that follow one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    /// The byte of the array behind each leg.
    ends: Vec<u64>,
}

impl ZoneOrder {
    /// The one that md gives this number.
    pub fn from_md(layout: u32) -> Option<Self> {
        match layout {
            1 => Some(Self::Original),
            2 => Some(Self::Alternate),
            _ => None,
        }
    }
}

impl Zones {
    /// Stripes of chunks of `chunk` bytes over legs of these sizes.
    ///
    /// # Errors
    ///
    /// Such stripes cannot be, or the order matters and nobody said which it is.
    pub fn new(sizes: &[u64], chunk: u64, order: Option<ZoneOrder>) -> Result<Self> {
        check_legs(sizes)?;
        if chunk == 0 || !chunk.is_multiple_of(SECTOR) {
            return Err(invalid(format!("stripes with chunks of {chunk} bytes")));
        }
        let whole: Vec<u64> = sizes.iter().map(|size| size - size % chunk).collect();
        let mut zones = Vec::new();
        let (mut start, mut leg_start) = (0_u64, 0);
        loop {
            let is_longer = |leg: &usize| whole[*leg] > leg_start;
            let legs: Vec<usize> = (0..whole.len()).filter(is_longer).collect();
            let Some(smallest) = legs.iter().map(|leg| whole[*leg]).min() else {
                break;
            };
            let len = (smallest - leg_start).checked_mul(legs.len() as u64);
            let end = len.and_then(|len| start.checked_add(len));
            let end = end.ok_or_else(|| invalid("stripes of more than 2^64 bytes".into()))?;
            zones.push(Zone {
                start,
                end,
                leg_start,
                legs,
            });
            (start, leg_start) = (end, smallest);
        }
        if whole.contains(&0) {
            return Err(invalid(format!(
                "stripes over a leg of less than {chunk} bytes"
            )));
        }
        let order = match (order, zones.len()) {
            (Some(order), _) => order,
            (None, 1) => ZoneOrder::Original,
            (None, _) => {
                let what = "stripes over legs of several sizes, whose order nobody wrote down: \
                            assemble the array once with mdadm --assemble \
                            --update=layout-original or layout-alternate";
                return Err(invalid(what.into()));
            }
        };
        Ok(Self {
            chunk,
            order,
            all: zones,
        })
    }

    /// Bytes of the array.
    pub fn size(&self) -> u64 {
        self.all.last().map_or(0, |zone| zone.end)
    }

    /// Bytes of a chunk.
    pub fn chunk(&self) -> u64 {
        self.chunk
    }

    /// The zones, in order.
    pub fn stripes(&self) -> impl Iterator<Item = Stripes> + '_ {
        self.all.iter().map(|zone| {
            let mut legs = zone.legs.clone();
            if self.order == ZoneOrder::Original {
                let count = legs.len() as u64;
                legs.rotate_left((zone.start / self.chunk % count) as usize);
            }
            Stripes {
                len: zone.end - zone.start,
                leg_start: zone.leg_start,
                legs,
            }
        })
    }

    /// How many bytes from `offset` on follow one another on their leg.
    pub fn run(&self, offset: u64) -> u64 {
        assert!(offset < self.size(), "the array has so many bytes");
        self.chunk - offset % self.chunk
    }

    /// Where byte `offset` is.
    pub fn spot(&self, offset: u64) -> Spot {
        assert!(offset < self.size(), "the array has so many bytes");
        let index = self.all.partition_point(|zone| zone.end <= offset);
        let zone = &self.all[index];
        let count = zone.legs.len() as u64;
        let inside = (offset - zone.start) / self.chunk;
        let turn = match self.order {
            ZoneOrder::Original => offset / self.chunk,
            ZoneOrder::Alternate => inside,
        };
        let row = inside / count;
        Spot {
            leg: zone.legs[(turn % count) as usize],
            start: zone.leg_start + row * self.chunk + offset % self.chunk,
        }
    }
}

impl Spans {
    /// Legs of these sizes; with chunks only whole ones are used.
    ///
    /// # Errors
    ///
    /// Such an array cannot be.
    pub fn new(sizes: &[u64], chunk: u64) -> Result<Self> {
        check_legs(sizes)?;
        let mut end = 0_u64;
        let mut ends = Vec::with_capacity(sizes.len());
        for size in sizes {
            let used = if chunk == 0 {
                *size
            } else {
                size - size % chunk
            };
            let next = end.checked_add(used);
            end = next.ok_or_else(|| invalid("legs of more than 2^64 bytes".into()))?;
            ends.push(end);
        }
        debug_assert!(ends.is_sorted());
        Ok(Self { ends })
    }

    /// Bytes of the array.
    pub fn size(&self) -> u64 {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Bytes that are used of each leg.
    pub fn lengths(&self) -> impl Iterator<Item = u64> + '_ {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(end, start)| end - start)
    }

    /// Where byte `offset` is.
    pub fn spot(&self, offset: u64) -> Spot {
        assert!(offset < self.size(), "the array has so many bytes");
        let leg = self.ends.partition_point(|end| *end <= offset);
        let begin = if leg == 0 { 0 } else { self.ends[leg - 1] };
        Spot {
            leg,
            start: offset - begin,
        }
    }
}

fn check_legs(sizes: &[u64]) -> Result<()> {
    if sizes.is_empty() || sizes.len() > LEGS_MAX {
        let count = sizes.len();
        return Err(invalid(format!(
            "an array of {count} legs; 1 to {LEGS_MAX} are served"
        )));
    }
    Ok(())
}

fn invalid(what: String) -> Error {
    Error::new(Kind::InvalidLayout, what)
}

#[cfg(test)]
mod tests;
