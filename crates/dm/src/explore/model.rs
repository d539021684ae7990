//! What each sector of a face may hold, whatever was lost.
//!
//! Versions of a sector count up with each write that is issued; version 0 was there at first. A
//! sector may hold any version from the last one that is certainly durable to the last one that
//! was issued. A version that was read after a cut is the one, as long as no leg is lost. And as
//! long as nothing fails, reads that began after a write did never go back behind it once one of
//! them has seen it. (Zeros do not count there: they are written piece by piece.)
//!
//! Some versions are zeros: they look the same, so zeros are any of them. All others differ, also
//! from those of other faces: what a face writes is of a series of its own.

use std::fmt;

use block::Range;

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// The version that legs hold which were never copied to.
pub(crate) const NEVER: u32 = u32::MAX;

/// What a version of a sector is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Value {
    Zeros,
    /// Written by the face of a series, as which version.
    Bytes {
        series: u32,
        version: u32,
    },
}

/// What [`NEVER`] is.
const WILD: Value = Value::Bytes {
    series: 0,
    version: NEVER,
};

/// One sector.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Sector {
    /// What the versions are; all that were issued.
    values: Vec<Value>,
    /// The version that is certain.
    floor: u32,
    /// The last one that was answered.
    done: u32,
    /// What had been issued when the power was cut last.
    at_cut: u32,
    /// What was read after a cut, and up to which version that excludes all others.
    read: Option<(u32, u32)>,
    /// A leg failed a read, and the region was not copied since: legs may answer by turns.
    loose: bool,
    /// The newest version that was read.
    seen: u32,
    /// Whether a write is in flight.
    busy: bool,
    /// It was not part of the device, and may hold what nobody wrote.
    wild: bool,
    /// The same, and what it holds may be in a cache only, and goes with the power.
    cached: bool,
}

impl Sector {
    /// A sector that holds the first version of a series.
    fn new(series: u32) -> Self {
        Self {
            values: vec![Value::Bytes { series, version: 0 }],
            floor: 0,
            done: 0,
            at_cut: 0,
            read: None,
            loose: false,
            seen: 0,
            busy: false,
            wild: false,
            cached: false,
        }
    }

    /// The last version that was issued.
    fn issued(&self) -> u32 {
        self.values.len() as u32 - 1
    }

    fn is_zero(&self, version: u32) -> bool {
        self.values.get(version as usize) == Some(&Value::Zeros)
    }

    /// Whether two versions cannot be told apart.
    fn is_same(&self, one: u32, other: u32) -> bool {
        one == other || (self.is_zero(one) && self.is_zero(other))
    }

    /// Whether no other version was read after the cut.
    fn allows(&self, version: u32) -> bool {
        self.read
            .is_none_or(|(read, until)| version > until || self.is_same(version, read))
    }
}

/// All sectors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Model {
    sectors: Vec<Sector>,
    /// What is written is of this one.
    series: u32,
    /// Whether what was read after a cut stays.
    pub(crate) is_sticky: bool,
    /// Whether what is read never becomes older.
    pub(crate) is_monotone: bool,
    /// Whether what was read may have come from a cache, and goes with the power.
    is_cached: bool,
    /// How often it changed which leg answers where they differ: a read that was in flight then may
    /// have been answered by either.
    turns: u32,
}

impl Model {
    /// So many sectors that hold version 0 of series 0.
    pub(crate) fn new(count: u64) -> Self {
        Self {
            sectors: vec![Sector::new(0); count as usize],
            series: 0,
            is_sticky: true,
            is_monotone: true,
            is_cached: false,
            turns: 0,
        }
    }

    pub(crate) fn is_busy(&self, range: Range) -> bool {
        sectors_of(range).any(|sector| self.sectors[sector].busy)
    }

    /// The first `count` sectors as they are now, as those of a face that writes another series.
    /// Nothing is being written.
    pub(crate) fn copy(&self, count: u64, series: u32) -> Self {
        let sectors = self.sectors[..count as usize].to_vec();
        assert!(
            sectors.iter().all(|sector| !sector.busy),
            "nothing is in flight"
        );
        Self {
            sectors,
            series,
            ..*self
        }
    }

    /// The first sectors become those of another face, whose series is written from now on.
    pub(crate) fn overlay(&mut self, other: &Self) {
        let count = other.sectors.len();
        self.sectors[..count].clone_from_slice(&other.sectors);
        self.series = other.series;
    }

    /// How many sectors there are.
    pub(crate) fn count(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// From now on there are so many sectors; those that come hold version 0 of series 0.
    pub(crate) fn grow(&mut self, count: u64) {
        assert!(count >= self.count(), "nothing shrinks");
        self.sectors.resize(count as usize, Sector::new(0));
    }

    /// The version of a sector that is certain, the last one that was answered, and the last one
    /// that was issued.
    pub(crate) fn versions(&self, sector: u64) -> (u32, u32, u32) {
        let sector = &self.sectors[sector as usize];
        (sector.floor, sector.done, sector.issued())
    }

    /// This version of a sector is durable, whoever made it so.
    pub(crate) fn raise(&mut self, sector: u64, version: u32) {
        let sector = &mut self.sectors[sector as usize];
        assert!(version <= sector.done, "it was answered");
        sector.floor = sector.floor.max(version);
    }

    /// The bytes of the next versions of a range; they count as issued.
    pub(crate) fn issue(&mut self, range: Range, what: Content) -> Vec<u8> {
        let mut bytes = Vec::new();
        for index in sectors_of(range) {
            let sector = &mut self.sectors[index];
            sector.busy = true;
            let value = match what {
                Content::Zeros => Value::Zeros,
                Content::Bytes => Value::Bytes {
                    series: self.series,
                    version: sector.issued() + 1,
                },
            };
            sector.values.push(value);
            if let Value::Bytes { series, version } = value {
                bytes.extend(encode_of(series, index, version));
            }
        }
        bytes
    }

    /// A write was answered.
    pub(crate) fn written(&mut self, range: Range, durable: bool, done: bool) {
        for index in sectors_of(range) {
            let sector = &mut self.sectors[index];
            sector.busy = false;
            if done {
                sector.done = sector.issued();
            }
            if done && durable {
                sector.floor = sector.issued();
            }
        }
    }

    /// What a flush that begins now covers.
    pub(crate) fn answered(&self) -> Vec<u32> {
        self.sectors.iter().map(|sector| sector.done).collect()
    }

    /// What a read that begins now must not be older than, and what had been issued by then. If
    /// it is not `steady`, a later one may be read from another leg.
    pub(crate) fn expected(&self, steady: bool) -> Expected {
        let of = |what: fn(&Sector) -> u32| self.sectors.iter().map(what).collect();
        Expected {
            done: of(|sector| sector.done),
            seen: of(|sector| sector.seen),
            issued: of(Sector::issued),
            steady,
            turns: self.turns,
        }
    }

    /// A flush was done that covers these.
    pub(crate) fn flushed(&mut self, covered: &[u32]) {
        for (sector, version) in self.sectors.iter_mut().zip(covered) {
            sector.floor = sector.floor.max(*version);
        }
    }

    /// The power was cut: any version that is not excluded may be there.
    pub(crate) fn cut(&mut self) {
        if std::mem::take(&mut self.is_cached) {
            self.forget_reads();
        }
        self.turns = 0;
        for sector in &mut self.sectors {
            sector.done = sector.floor;
            sector.at_cut = sector.issued();
            sector.seen = 0;
            sector.busy = false;
            sector.loose = false;
            if std::mem::take(&mut sector.cached) {
                sector.read = None;
            }
        }
    }

    /// Who wrote was killed: what is in flight may be there or not, what was answered is.
    pub(crate) fn killed(&mut self) {
        self.is_cached = true;
        for sector in &mut self.sectors {
            sector.at_cut = sector.issued();
            sector.seen = 0;
            sector.busy = false;
        }
    }

    /// Sectors from this one on go, or come: nothing is known of them.
    pub(crate) fn dropped(&mut self, from: u64) {
        for sector in self.sectors.iter_mut().skip(from as usize) {
            assert!(!sector.busy, "nobody writes to a device that is suspended");
            sector.floor = 0;
            sector.done = 0;
            sector.seen = 0;
            sector.read = None;
            sector.at_cut = sector.issued();
            sector.wild = true;
            sector.cached = true;
        }
    }

    /// A leg is gone that may have been the one that was read.
    pub(crate) fn forget_reads(&mut self) {
        for sector in &mut self.sectors {
            sector.read = None;
        }
    }

    /// A leg failed. Of sectors that are not `copied` another leg answers: of a loss for good, of a
    /// read that failed now and then.
    pub(crate) fn failed(&mut self, how: Failure, copied: impl Fn(u64) -> bool) {
        self.turns += 1;
        for (index, sector) in self.sectors.iter_mut().enumerate() {
            if !copied(index as u64) {
                sector.read = None;
                sector.loose |= how == Failure::Read;
            }
        }
    }

    /// Takes note of what is `copied`: all legs answer the same there.
    pub(crate) fn settle(&mut self, copied: impl Fn(u64) -> bool) {
        for (index, sector) in self.sectors.iter_mut().enumerate() {
            if sector.loose && copied(index as u64) {
                sector.loose = false;
                self.turns += 1;
            }
        }
    }

    /// Judges what was read. `since` is what was so when the read began. What was not written
    /// since the cut stays the same from now on.
    pub(crate) fn judge(
        &mut self,
        range: Range,
        bytes: &[u8],
        since: &Expected,
    ) -> Result<(), String> {
        for (index, bytes) in sectors_of(range).zip(bytes.chunks(SECTOR as usize)) {
            let sector = &mut self.sectors[index];
            let sticks = since.turns == self.turns && !sector.loose;
            let allows = |version| !sticks || sector.allows(version);
            let seen = if self.is_monotone {
                since.seen[index]
            } else {
                0
            };
            let (from, to) = (since.done[index].max(seen), sector.issued());
            let (found, name) = if bytes.iter().all(|byte| *byte == 0) {
                let mut zeros = (from..=to).filter(|version| sector.is_zero(*version));
                (zeros.find(|version| allows(*version)), "zeros".into())
            } else if from == 0 && sector.wild && decode(index, bytes) == Some(WILD) {
                continue;
            } else if let Some(value) = decode(index, bytes) {
                let is = |version: &u32| sector.values[*version as usize] == value;
                let version = (from..=to).find(is).filter(|version| allows(*version));
                (version, value.to_string())
            } else {
                return Err(format!("sector {index} holds what was never written there"));
            };
            let Some(version) = found else {
                let read = sector.read;
                return Err(format!(
                    "sector {index} holds {name}, not {from} to {to}, read {read:?}"
                ));
            };
            if since.steady && version <= since.issued[index] && !sector.is_zero(version) {
                sector.seen = sector.seen.max(version);
            }
            if self.is_sticky && sticks && sector.issued() <= sector.at_cut {
                sector.read = Some((version, sector.at_cut));
            }
        }
        Ok(())
    }
}

/// What was so when a read began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The version of each sector that had been answered, seen, and issued.
    done: Vec<u32>,
    seen: Vec<u32>,
    issued: Vec<u32>,
    /// Whether what is read is seen.
    steady: bool,
    turns: u32,
}

/// How a leg failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It is not asked any more.
    Lost,
    /// It did not answer a read.
    Read,
}

/// What a write writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Bytes that tell the version.
    Bytes,
    Zeros,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zeros => f.write_str("zeros"),
            Self::Bytes { series: 0, version } => write!(f, "version {version}"),
            Self::Bytes { series, version } => write!(f, "version {version} of series {series}"),
        }
    }
}

fn sectors_of(range: Range) -> std::ops::Range<usize> {
    (range.start() / SECTOR) as usize..(range.end() / SECTOR) as usize
}

/// The bytes of a sector of series 0.
pub(crate) fn encode(sector: usize, version: u32) -> [u8; SECTOR as usize] {
    encode_of(0, sector, version)
}

fn encode_of(series: u32, sector: usize, version: u32) -> [u8; SECTOR as usize] {
    let mut bytes = [0; SECTOR as usize];
    bytes[..4].copy_from_slice(&(sector as u32 + 1).to_le_bytes());
    bytes[4..8].copy_from_slice(&version.to_le_bytes());
    bytes[8..12].copy_from_slice(&series.to_le_bytes());
    bytes
}

/// What wrote a sector's bytes.
fn decode(sector: usize, bytes: &[u8]) -> Option<Value> {
    let word = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes).ok();
    let (version, series) = (word(4)?, word(8)?);
    (word(0)? == sector as u32 + 1).then_some(Value::Bytes { series, version })
}
