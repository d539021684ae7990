//! What a request costs an array, counted: which images are asked, and for how many bytes.
//!
//! No clock and no disk: the arithmetic of `dm::raid`, and the cheapest way to do what is asked.
//!
//! ```text
//!   read    its image is there       1 request for each chunk that is touched
//!           it is lost               what the others of its row make up for: as many as hold data
//!   write   of a whole row           data and parity, nothing is read
//!           read-modify-write        old data and old parity are read, both are written
//!           reconstruct-write        the data of the row that is not written is read instead
//!           decode                   what is lost is made up first: as many reads as hold data
//! ```
//!
//! Of the ways that are there, the one with the fewest reads is taken, and of those the one with
//! fewer bytes. Of a row more chunks are one plan: so writes that lie side by side share reads.
//!
//! Does not count: superblocks and bitmaps, which are written once for many requests, a journal
//! against the write hole, and requests that a queue joins. Nothing here was measured.

use block::Range;
use dm::raid::{Copies, Geometry, Rotation, Row, Scheme};

/// Positions that are averaged over at most.
const POSITIONS_MAX: u64 = 1 << 12;
/// Sets of lost images that are averaged over at most: all pairs of sixteen.
const LOSSES_MAX: usize = 120;

/// What is asked of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Bytes of it.
    Read,
    /// That it keeps bytes.
    Write,
}

/// What one request takes of the images together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes that are read.
    pub read_bytes: u64,
    /// Bytes that are written.
    pub written_bytes: u64,
}

/// The same on average.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeanCost {
    /// Reads.
    pub reads: f64,
    /// Writes.
    pub writes: f64,
    /// Bytes that are read.
    pub read_bytes: f64,
    /// Bytes that are written.
    pub written_bytes: f64,
}

/// Bytes of one leg that a request touches, from a place in its chunk on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Touched {
    leg: usize,
    from: u64,
    until: u64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
    }

    /// Requests of both kinds.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }
}

impl MeanCost {
    fn of(sum: Cost, count: u64) -> Self {
        assert!(count > 0, "something was counted");
        let share = |sum: u64| sum as f64 / count as f64;
        Self {
            reads: share(sum.reads),
            writes: share(sum.writes),
            read_bytes: share(sum.read_bytes),
            written_bytes: share(sum.written_bytes),
        }
    }

    /// Requests of both kinds.
    pub fn requests(&self) -> f64 {
        self.reads + self.writes
    }
}

/// What a request for `range` takes where the images in `lost` are not there. `None`: it cannot be
/// done, since too much is lost.
///
/// # Panics
///
/// The range goes past the end, or is empty.
pub fn cost(geometry: &Geometry, lost: &[usize], ask: Ask, range: Range) -> Option<Cost> {
    assert!(!range.is_empty() && range.end() <= geometry.size());
    match (geometry.scheme(), ask) {
        (Scheme::Parity(..), Ask::Read) => rows_read(geometry, lost, range),
        (Scheme::Parity(..), Ask::Write) => rows_written(geometry, lost, range),
        (Scheme::Mirror | Scheme::Copies(_), _) => copied(geometry, lost, ask, range),
    }
}

/// An array of any size: what its counts depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How it is laid out.
    pub scheme: Scheme,
    /// How many images it has.
    pub legs: usize,
    /// Bytes of a chunk; of mirrors it does not matter.
    pub chunk: u64,
}

impl Shape {
    /// The mean over all places that are multiples of `len`, and over all ways to lose `losses`
    /// images of which the array survives any. `None`: it does not survive so many.
    pub fn mean(&self, losses: usize, ask: Ask, len: u64) -> Option<MeanCost> {
        if losses > self.scheme.redundancy(self.legs) {
            return None;
        }
        self.mean_over(&sets(self.legs, losses), ask, len)
    }

    /// The same without these images.
    pub fn mean_without(&self, lost: &[usize], ask: Ask, len: u64) -> Option<MeanCost> {
        self.mean_over(&[lost.to_vec()], ask, len)
    }

    fn mean_over(&self, sets: &[Vec<usize>], ask: Ask, len: u64) -> Option<MeanCost> {
        assert!(len > 0 && self.chunk > 0, "something is asked of something");
        // Room for all places that differ, of whole rows.
        let chunks = (len.div_ceil(self.chunk) + 1) * self.period() * self.legs as u64;
        let leg_size = chunks.checked_mul(self.chunk)?;
        let geometry = Geometry::new(self.scheme, self.legs, self.chunk, leg_size).ok()?;
        // Within a chunk all places are alike.
        let is_within = geometry.chunk().is_multiple_of(len);
        let step = if is_within { geometry.chunk() } else { len };
        let positions = (geometry.size() / step).min(POSITIONS_MAX);
        let mut sum = Cost::default();
        for lost in sets {
            for place in 0..positions {
                let range = Range::new(place * step, len);
                sum.add(cost(&geometry, lost, ask, range)?);
            }
        }
        Some(MeanCost::of(sum, positions * sets.len() as u64))
    }

    /// After how many rows it begins again.
    fn period(&self) -> u64 {
        let legs = self.legs as u64;
        match self.scheme {
            Scheme::Mirror => 1,
            Scheme::Copies(Copies { near, far, .. }) => (near * far) as u64,
            Scheme::Parity(_, rotation) => match rotation {
                Rotation::First | Rotation::Last | Rotation::First6 => 1,
                Rotation::LeftAsymmetric6
                | Rotation::RightAsymmetric6
                | Rotation::LeftSymmetric6
                | Rotation::RightSymmetric6 => legs - 1,
                _ => legs,
            },
        }
    }
}

/// Bytes of a whole row: what is written without a read.
pub fn row_bytes(geometry: &Geometry) -> u64 {
    match geometry.scheme() {
        Scheme::Mirror => 0,
        Scheme::Parity(..) | Scheme::Copies(_) => geometry.chunk() * geometry.data_legs() as u64,
    }
}

/// Sets of `count` of `legs` images; of very many, some at equal distances.
fn sets(legs: usize, count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = all.iter().flat_map(|set| {
            let first = set.last().map_or(0, |last| last + 1);
            (first..legs).map(move |leg| [&set[..], &[leg]].concat())
        });
        all = longer.collect();
    }
    let step = all.len().div_ceil(LOSSES_MAX).max(1);
    all.into_iter().step_by(step).collect()
}

/// Copies: one of each is read, all that are there are written.
fn copied(geometry: &Geometry, lost: &[usize], ask: Ask, range: Range) -> Option<Cost> {
    let mut cost = Cost::default();
    let mut at = range.start();
    while at < range.end() {
        let len = geometry.run(at).min(range.end() - at);
        let copies = (0..geometry.copies()).map(|copy| geometry.spot(at, copy).leg);
        let there = copies.filter(|leg| !lost.contains(leg)).count() as u64;
        if there == 0 {
            return None;
        }
        match ask {
            Ask::Read => {
                cost.reads += 1;
                cost.read_bytes += len;
            }
            Ask::Write => {
                cost.writes += there;
                cost.written_bytes += there * len;
            }
        }
        at += len;
    }
    Some(cost)
}

fn rows_read(geometry: &Geometry, lost: &[usize], range: Range) -> Option<Cost> {
    let mut cost = Cost::default();
    if lost.len() > geometry.scheme().redundancy(geometry.legs()) {
        return None;
    }
    let mut at = range.start();
    while at < range.end() {
        let len = geometry.run(at).min(range.end() - at);
        let is_lost = lost.contains(&geometry.spot(at, 0).leg);
        let reads = if is_lost {
            geometry.data_legs() as u64
        } else {
            1
        };
        cost.reads += reads;
        cost.read_bytes += reads * len;
        at += len;
    }
    Some(cost)
}

fn rows_written(geometry: &Geometry, lost: &[usize], range: Range) -> Option<Cost> {
    let width = row_bytes(geometry);
    let mut cost = Cost::default();
    let mut at = range.start();
    while at < range.end() {
        let end = (at / width + 1).saturating_mul(width).min(range.end());
        let row = geometry.row(at / width);
        let mut touched = Vec::new();
        while at < end {
            let len = geometry.run(at).min(end - at);
            let from = at % geometry.chunk();
            touched.push(Touched {
                leg: geometry.spot(at, 0).leg,
                from,
                until: from + len,
            });
            at += len;
        }
        cost.add(row_written(&row, &touched, lost)?);
    }
    Some(cost)
}

/// A row of which some chunks are written, or parts of them.
fn row_written(row: &Row, touched: &[Touched], lost: &[usize]) -> Option<Cost> {
    assert!(!touched.is_empty(), "something of the row is written");
    let is_there = |leg: &usize| !lost.contains(leg);
    let from = touched.iter().map(|one| one.from).min().unwrap_or(0);
    let until = touched.iter().map(|one| one.until).max().unwrap_or(0);
    let hull = until - from;
    let parity = [Some(row.p), row.q];
    let parity = parity.iter().flatten().filter(|leg| is_there(leg)).count() as u64;
    let data: Vec<usize> = (0..row.data_count()).map(|index| row.leg(index)).collect();
    let lost_data = data.iter().filter(|leg| !is_there(leg)).count() as u64;
    if lost_data > parity {
        return None;
    }
    let there = touched.iter().filter(|one| is_there(&one.leg));
    let own: u64 = there.clone().map(|one| one.until - one.from).sum();
    let count = there.count() as u64;
    let written = Cost {
        writes: count + parity,
        written_bytes: own + hull * parity,
        ..Cost::default()
    };
    if parity == 0 {
        return Some(written);
    }
    let read = |reads: u64, read_bytes: u64| Cost {
        reads,
        read_bytes,
        ..written
    };
    // What of each data chunk is not written.
    let rest = |leg: &usize| {
        let own = touched.iter().find(|one| one.leg == *leg);
        hull - own.map_or(0, |one| one.until - one.from)
    };
    let missing: Vec<(usize, u64)> = data.iter().map(|leg| (*leg, rest(leg))).collect();
    let missing: Vec<(usize, u64)> = missing.into_iter().filter(|one| one.1 > 0).collect();
    let all_count = data.len() as u64;
    let mut ways = vec![];
    if count == touched.len() as u64 {
        ways.push(read(count + parity, own + hull * parity));
    }
    if missing.iter().all(|(leg, _)| is_there(leg)) {
        let bytes = missing.iter().map(|one| one.1).sum();
        ways.push(read(missing.len() as u64, bytes));
    } else {
        ways.push(read(all_count, all_count * hull));
    }
    ways.into_iter()
        .min_by_key(|way| (way.reads, way.read_bytes))
}

#[cfg(test)]
mod tests;
