//! Which rows of an array that becomes another one are old, which are new, and how far it may go.
//!
//! Rows are numbered from the start of the data, wherever on the legs that is; so the bytes that
//! are kept in sync are the same for both arrays, and never belong to both. A position is a byte of
//! the array:
//!
//! ```text
//!   forwards     new rows    │  neither     │ old rows         what grows goes forwards: the same
//!                0 ─────── new edge ─── old edge ──────── end   bytes take fewer rows than before
//!
//!   backwards    old rows    │  neither     │ new rows       what shrinks goes backwards: they
//!                0 ─────── old edge ─── new edge ──────── end   take more
//! ```
//!
//! Data begin elsewhere on the legs for either. What is written of new rows must not be where an
//! old row is that counts: so a step from a position ends where the first of these begins. Pure.

use super::assembly::Reshape;
use super::geometry::{Geometry, Scheme};
use super::superblock::{Extended, Position, Superblock};

const SECTOR: u64 = 512;

/// Bytes of each leg that one step moves at most: as long as it takes, nobody reaches them.
const STEP_MAX: u64 = 2 << 20;

/// One of the two arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) geometry: Geometry,
    /// Where its data begin on each leg, in bytes.
    pub(super) start: u64,
}

/// Bytes of the array in a row.
pub(super) fn row_len(geometry: &Geometry) -> u64 {
    geometry.chunk() * geometry.data_legs() as u64
}

impl Reshape {
    /// The array that it was, whose data begin here.
    pub(super) fn old(&self, data_start: u64) -> Side {
        Side {
            geometry: self.from,
            start: data_start,
        }
    }

    /// The array that it will be.
    pub(super) fn new_side(&self) -> Side {
        Side {
            geometry: self.to,
            start: self.new_start,
        }
    }

    /// Bytes that are kept in sync in front of which, or from which on, rows are new.
    pub(super) fn new_edge(&self) -> u64 {
        self.new_edge_at(self.position)
    }

    fn new_edge_at(&self, position: u64) -> u64 {
        position / row_len(&self.to) * self.to.chunk()
    }

    /// Bytes that are kept in sync from which on, or in front of which, rows are old.
    pub(super) fn old_edge(&self) -> u64 {
        let row = row_len(&self.from);
        let rows = if self.backwards {
            self.position.div_ceil(row)
        } else {
            self.position / row
        };
        rows * self.from.chunk()
    }

    /// Whose row a byte is in that is kept in sync; `None`: nobody's.
    pub(super) fn side(&self, sync: u64, data_start: u64) -> Option<Side> {
        let (new, old) = (self.new_edge(), self.old_edge());
        let (is_new, is_old) = if self.backwards {
            (sync >= new, sync < old)
        } else {
            (sync < new, sync >= old)
        };
        assert!(!(is_new && is_old), "no row is of both");
        if is_new {
            Some(self.new_side())
        } else {
            is_old.then(|| self.old(data_start))
        }
    }

    /// Whether superblocks say that it is under way.
    pub(super) fn has_begun(&self) -> bool {
        !self.backwards || self.position <= self.to.size()
    }

    /// Whether all is new.
    pub(super) fn is_over(&self) -> bool {
        if self.backwards {
            self.position == 0
        } else {
            self.position >= self.to.size()
        }
    }

    /// Bytes of the array that are moved together at least: whole rows of the new array, whose
    /// chunks are as long as the longest of both, which is what the kernel goes on from.
    fn unit(&self) -> u64 {
        let chunk = self.from.chunk().max(self.to.chunk());
        chunk * self.to.data_legs() as u64
    }

    /// The position behind the next step; `None`: there is no room on the legs for one.
    pub(super) fn next(&self, data_start: u64) -> Option<u64> {
        assert!(!self.is_over(), "something is left");
        let unit = self.unit();
        let most = (STEP_MAX / self.from.chunk().max(self.to.chunk())).max(1);
        let may = |next: &u64| {
            let new = self.new_start + self.new_edge_at(*next);
            let old = data_start + self.old_edge();
            if self.backwards {
                new >= old
            } else {
                new <= old
            }
        };
        let step = |count: u64| {
            if self.backwards {
                self.position.saturating_sub(count * unit)
            } else {
                (self.position + count * unit).min(self.to.size())
            }
        };
        // What is possible is so up to some count.
        let (mut can, mut cannot) = (0, most + 1);
        while cannot - can > 1 {
            let count = can.midpoint(cannot);
            if may(&step(count)) {
                can = count;
            } else {
                cannot = count;
            }
        }
        (can > 0).then(|| step(can))
    }

    /// Of an array that was the first and becomes the second one, of which nothing is moved yet:
    /// old and new data begin `room` bytes apart on each leg. Forwards the old ones lie behind.
    pub(super) fn begun((from, to): (Geometry, Geometry), room: u64, backwards: bool) -> Self {
        let (data_start, new_start) = if backwards { (0, room) } else { (room, 0) };
        let chunk = (to.chunk() / SECTOR) as u32;
        Self {
            from,
            to,
            position: if backwards { to.size() } else { 0 },
            backwards,
            new_start,
            says: Some(Extended {
                is_reshaping: true,
                backwards,
                delta_disks: to.legs() as i32 - from.legs() as i32,
                array_sectors: from.size().min(to.size()) / SECTOR,
                data_offset: data_start / SECTOR,
                new_data_offset: new_start / SECTOR,
                sectors: to.leg_size() / SECTOR,
                ..Extended::at_rest(to.scheme().md(), chunk)
            }),
        }
    }

    /// What is said of an array that becomes what this says of it at rest.
    pub(super) fn said_by(&self, at_rest: &Superblock) -> Superblock {
        let (level, layout) = self.from.scheme().md();
        let says = self.says.expect("who writes it knows");
        Superblock {
            level,
            layout,
            stripe_sectors: (self.from.chunk() / SECTOR) as u32,
            extended: Some(Extended {
                reshape_position: Position::Sector(self.position / SECTOR),
                ..says
            }),
            ..at_rest.clone()
        }
    }

    /// Why it is not gone on with; `None`: it is. Who reads it reads it all the same.
    pub(super) fn obstacle(&self, legs: usize, data_start: u64) -> Option<&'static str> {
        let (Scheme::Parity(before, _), Scheme::Parity(after, _)) =
            (self.from.scheme(), self.to.scheme())
        else {
            return Some("it is being reshaped, and copies are not moved");
        };
        if self.says.is_none() {
            return Some("it is being reshaped, which only md goes on with");
        }
        if before != after {
            return Some("it is being reshaped to another level");
        }
        if !self.has_begun() {
            return Some("it is to be reshaped, and does not know of it; LVM2 begins that");
        }
        let (old, new) = (self.from.legs(), self.to.legs());
        if old.max(new) != legs || old < new && self.backwards || old > new && !self.backwards {
            return Some("it is being reshaped from its wrong end");
        }
        let (one, other) = (self.from.chunk(), self.to.chunk());
        let whole = one.max(other);
        let is_even = whole.is_multiple_of(one)
            && whole.is_multiple_of(other)
            && self.to.leg_size().is_multiple_of(whole);
        if !is_even || !self.position.is_multiple_of(self.unit()) {
            return Some("it is being reshaped, and the position is inside a row");
        }
        if !self.is_over() && self.next(data_start).is_none() {
            return Some("it is being reshaped, and legs have no room beside their data");
        }
        None
    }
}

#[cfg(test)]
mod tests;
