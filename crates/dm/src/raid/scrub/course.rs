//! The way through an array: what goes together, piece by piece, in the order of its legs.
//!
//! ```text
//!   parity    a part of a chunk of each leg, at the same place
//!   mirror    the same, wherever
//!   copies    a part of a chunk of the array, with all its copies
//! ```
//!
//! A piece lies where the same is believed of all of it: it ends where a leg ends to be valid, at
//! the edge of a region where some are dirty, and where the array ends to be in sync.

use block::{Info, Range};

use super::judge::SECTOR;
use crate::raid::assembly::{Assembly, LegState};
use crate::raid::config::ArrayConfig;
use crate::raid::doubt::Doubt;
use crate::raid::geometry::{Geometry, Scheme};
use crate::raid::rotation::Row;
use crate::{Error, Kind, Result};

/// Bytes of each leg in one unit, at most.
const UNIT_MAX: u64 = 512 << 10;
/// Bytes of all legs in one unit, at most.
const UNIT_BYTES_MAX: u64 = 8 << 20;
/// Units are cut at multiples of this, which suits every disk.
const BLOCK: u64 = 4096;

/// What goes together, and is compared or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Bytes of each member.
    pub len: u64,
    /// Bytes of the array that it covers.
    pub covers: u64,
    /// Its first byte of what is kept in sync: of each leg, or with copies of the array.
    pub sync: u64,
    /// The row of chunks, from 0, in which its first member lies; a mirror has none.
    pub row_number: Option<u64>,
    /// Who holds what in the row, where there is parity.
    pub row: Option<Row>,
    /// The legs that are read, if it is compared.
    pub members: Vec<Member>,
    /// Legs that hold a part of it and are not read here.
    pub left_out: Vec<usize>,
    /// Why it is not compared.
    pub unchecked: Option<Unchecked>,
}

/// A leg's part of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The leg.
    pub leg: usize,
    /// Where on the leg's device it begins, in bytes.
    pub start: u64,
    /// What it holds.
    pub holds: Holds,
}

/// What a member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The array's bytes from this one on.
    Data(u64),
    /// The sum.
    P,
    /// The second sum.
    Q,
}

/// Why a part of an array is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unchecked {
    /// The array is being reshaped.
    Reshape,
    /// It was never brought in sync.
    NeverSynced,
    /// Its bitmap says that it was being written: what goes together may not, and that is known.
    Dirty,
    /// So few legs are there and believed that nothing is left to compare.
    TooFewLegs,
    /// The same, since what is there cannot be read.
    Unreadable,
}

/// The way through an array: an iterator over its units.
#[derive(Debug, Clone)]
pub struct Course {
    geometry: Geometry,
    assembly: Assembly,
    /// A byte of each leg, or of copies of chunks, of the array.
    at: u64,
    end: u64,
    /// Bytes of the array that it covers.
    size: u64,
    unit_max: u64,
}

impl Unchecked {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Reshape,
        Self::NeverSynced,
        Self::Dirty,
        Self::TooFewLegs,
        Self::Unreadable,
    ];
}

impl Course {
    /// The way through an array of which this is believed, on devices that say `devices` of
    /// themselves.
    ///
    /// # Errors
    ///
    /// They do not suffice, or do not fit; which, and why.
    pub fn new(config: &ArrayConfig, assembly: Assembly, devices: &[Info]) -> Result<Self> {
        config.validate(devices)?;
        assert_eq!(
            assembly.legs.len(),
            config.legs.len(),
            "each leg has a state"
        );
        let geometry = *config.geometry();
        let legs = config.legs.iter().filter_map(|leg| leg.data);
        let room = legs.map(|device| devices[device].size).min().unwrap_or(0);
        let end = assembly.data_start.checked_add(geometry.leg_size());
        if assembly.reshape.is_none() && end.is_none_or(|end| end > room) {
            let what = format!(
                "{}: its data begin at byte {} of legs of {room} bytes",
                config.name, assembly.data_start
            );
            return Err(Error::new(Kind::Damaged, what));
        }
        if !config.size.is_multiple_of(SECTOR as u64) {
            let what = format!(
                "{}: {} bytes are no whole sectors",
                config.name, config.size
            );
            return Err(Error::new(Kind::Misaligned, what));
        }
        let row = geometry.chunk() * geometry.data_legs() as u64;
        let rows = config.size.div_ceil(row);
        let (end, size) = match geometry.scheme() {
            Scheme::Parity(..) => (rows * geometry.chunk(), rows * row),
            Scheme::Mirror | Scheme::Copies(_) => (config.size, config.size),
        };
        let share = UNIT_BYTES_MAX / geometry.legs() as u64;
        Ok(Self {
            geometry,
            assembly,
            at: 0,
            end,
            size,
            unit_max: (share - share % BLOCK).clamp(BLOCK, UNIT_MAX),
        })
    }

    /// Bytes of the array that it covers: whole rows.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What is believed of its legs.
    pub fn legs(&self) -> &[LegState] {
        &self.assembly.legs
    }

    /// How many bytes from here on lie in one chunk, in one region, and are all in sync or not.
    fn len(&self) -> u64 {
        let mut len = (self.end - self.at).min(self.unit_max - self.at % self.unit_max);
        if self.geometry.scheme() != Scheme::Mirror {
            let chunk = self.geometry.chunk();
            len = len.min(chunk - self.at % chunk);
        }
        if let Doubt::Regions(dirty) = &self.assembly.dirty {
            len = len.min(dirty.region() - self.at % dirty.region());
        }
        if self.at < self.assembly.synced {
            len = len.min(self.assembly.synced - self.at);
        }
        assert!(len > 0, "each unit has bytes");
        len
    }

    /// Who holds what here.
    fn places(&self) -> (Option<Row>, Vec<Member>) {
        let (geometry, at) = (&self.geometry, self.at);
        if !matches!(geometry.scheme(), Scheme::Parity(..)) {
            let copies = (0..geometry.copies()).map(|copy| geometry.spot(at, copy));
            let member = |spot: crate::raid::Spot| Member {
                leg: spot.leg,
                start: spot.start,
                holds: Holds::Data(at),
            };
            return (None, copies.map(member).collect());
        }
        let (number, within) = (at / geometry.chunk(), at % geometry.chunk());
        let row = geometry.row(number);
        let count = row.data_count() as u64;
        let holds = |leg: usize| match row.index(leg) {
            Some(index) => Holds::Data((number * count + index as u64) * geometry.chunk() + within),
            None if leg == row.p => Holds::P,
            None => Holds::Q,
        };
        let member = |leg: usize| Member {
            leg,
            start: at,
            holds: holds(leg),
        };
        (Some(row), (0..geometry.legs()).map(member).collect())
    }

    /// Why these bytes are not compared, whatever legs there are.
    fn unchecked(&self, sync: Range) -> Option<Unchecked> {
        let assembly = &self.assembly;
        if assembly.reshape.is_some() {
            Some(Unchecked::Reshape)
        } else if sync.end() > assembly.synced {
            Some(Unchecked::NeverSynced)
        } else if assembly.dirty.overlaps(sync) {
            Some(Unchecked::Dirty)
        } else {
            None
        }
    }

    fn unit(&self) -> Unit {
        let mut len = self.len();
        let (row, mut members) = self.places();
        let valid = |member: &Member| match &self.assembly.legs[member.leg] {
            LegState::Valid { until } => until.saturating_sub(member.start),
            LegState::Missing | LegState::Untrusted(_) | LegState::Filling => 0,
        };
        let ends = members.iter().map(valid).filter(|valid| *valid > 0);
        len = ends.fold(len, u64::min);
        let row_number = match self.geometry.scheme() {
            Scheme::Mirror => None,
            Scheme::Parity(..) | Scheme::Copies(_) => {
                Some(members[0].start / self.geometry.chunk())
            }
        };
        let lost = members.extract_if(.., |member| valid(member) == 0);
        let left_out: Vec<usize> = lost.map(|member| member.leg).collect();
        for member in &mut members {
            member.start += self.assembly.data_start;
        }
        let unit = Unit {
            len,
            sync: self.at,
            covers: row.map_or(len, |row| len * row.data_count() as u64),
            row_number,
            row,
            members,
            left_out,
            unchecked: self.unchecked(Range::new(self.at, len)),
        };
        let is_enough = unit.is_enough(unit.members.len());
        let too_few = (!is_enough).then_some(Unchecked::TooFewLegs);
        Unit {
            unchecked: unit.unchecked.or(too_few),
            ..unit
        }
    }
}

impl Unit {
    /// Whether something can be compared when so many of its members are read.
    pub fn is_enough(&self, read: usize) -> bool {
        let all = self.members.len() + self.left_out.len();
        assert!(read <= all, "a unit has so many members");
        match &self.row {
            None => read > 1,
            Some(row) => read > row.data_count(),
        }
    }
}

impl Iterator for Course {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        if self.at >= self.end {
            return None;
        }
        let unit = self.unit();
        assert!(unit.len > 0, "it goes on");
        self.at += unit.len;
        assert!(self.at <= self.end, "and ends where the array does");
        Some(unit)
    }
}
