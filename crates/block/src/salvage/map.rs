//! What is known of each byte of a device that is being salvaged.
//!
//! Runs of one status each, without gaps from the first byte to the last; neighbours differ.
//! Setting a range costs the logarithm of their number, and each run takes some forty bytes of
//! memory; how many there may be is for [`super::RUNS_MAX`] where a map comes from a file.

use std::collections::BTreeMap;

use crate::Range;

/// Maps of so many runs are checked after each change in debug builds: all of them are looked at.
const CHECKED_RUNS_MAX: usize = 256;

/// What is known of a run of bytes, with the letter that it has in a map file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// `?`: never read, or said to be lost before it could be.
    NonTried,
    /// `*`: a large read that covers it failed.
    NonTrimmed,
    /// `/`: lies between two blocks that cannot be read.
    NonScraped,
    /// `-`: a block that was read alone, and failed.
    Bad,
    /// `+`: read, and stored.
    Finished,
}

impl Status {
    /// All of them, in the order in which a salvage goes through them.
    pub const ALL: [Self; 5] = [
        Self::NonTried,
        Self::NonTrimmed,
        Self::NonScraped,
        Self::Bad,
        Self::Finished,
    ];

    /// The letter in a map file.
    pub fn letter(self) -> char {
        match self {
            Self::NonTried => '?',
            Self::NonTrimmed => '*',
            Self::NonScraped => '/',
            Self::Bad => '-',
            Self::Finished => '+',
        }
    }

    /// What a letter means.
    pub fn from_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.letter() == letter)
    }
}

/// What is known of a device of a certain size, and where the salvage is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    size: u64,
    /// Where each run begins; it ends where the next one begins.
    runs: BTreeMap<u64, Status>,
    /// Bytes of each status, in the order of [`Status::ALL`].
    bytes: [u64; 5],
    /// What is worked on: the bytes of this status; [`Status::Finished`] when all is done.
    pub(super) phase: Status,
    /// Which pass of it, from 1 on.
    pub(super) pass: u32,
    /// The byte that was worked on last.
    pub(super) position: u64,
}

impl Map {
    /// Nothing is known of `size` bytes.
    pub fn new(size: u64) -> Self {
        let mut runs = BTreeMap::new();
        if size > 0 {
            runs.insert(0, Status::NonTried);
        }
        Self {
            size,
            runs,
            bytes: [size, 0, 0, 0, 0],
            phase: Status::NonTried,
            pass: 1,
            position: 0,
        }
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What is worked on: the bytes of this status; [`Status::Finished`] when all is done.
    pub fn phase(&self) -> Status {
        self.phase
    }

    /// Which pass of the phase, from 1 on.
    pub fn pass(&self) -> u32 {
        self.pass
    }

    /// How many bytes have this status.
    pub fn bytes(&self, status: Status) -> u64 {
        self.bytes[status as usize]
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// All runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = (Range, Status)> + '_ {
        self.within(Range::new(0, self.size))
    }

    /// The runs inside `range`, in order, those at its ends cut off there.
    pub fn within(&self, range: Range) -> impl Iterator<Item = (Range, Status)> + '_ {
        let first = self.run_at(range.start()).map_or(0, |(start, _)| start);
        let starts = self.runs.range(first..);
        let ends = self.runs.range(first..).skip(1).map(|(start, _)| *start);
        let runs = starts.zip(ends.chain([self.size]));
        let runs = runs.map(|((start, status), end)| (Range::new(*start, end - start), *status));
        runs.take_while(move |(run, _)| run.start() < range.end())
            .filter_map(move |(run, status)| Some((run.intersection(range)?, status)))
    }

    /// The first run of `status` that ends behind byte `from`, without what lies before that.
    pub fn next(&self, status: Status, from: u64) -> Option<Range> {
        let rest = Range::new(from, self.size.saturating_sub(from));
        let mut runs = self.within(rest);
        runs.find(|(_, found)| *found == status).map(|(run, _)| run)
    }

    /// The last run of `status` that begins before byte `to`, without what lies behind that.
    pub fn previous(&self, status: Status, to: u64) -> Option<Range> {
        let mut end = self.size;
        for (start, found) in self.runs.range(..to).rev() {
            if *found == status {
                end = self
                    .runs
                    .range(start + 1..)
                    .next()
                    .map_or(end, |(next, _)| *next);
                return Some(Range::new(*start, end.min(to) - start));
            }
        }
        None
    }

    /// Gives all of `range`, which lies inside, this status.
    pub fn set(&mut self, range: Range, status: Status) {
        assert!(range.end() <= self.size, "a range of the map");
        if range.is_empty() {
            return;
        }
        self.cut(range.start());
        self.cut(range.end());
        let old: Vec<(Range, Status)> = self.within(range).collect();
        for (run, found) in old {
            self.runs.remove(&run.start());
            debug_assert!(range.contains(run), "it was cut there");
            debug_assert!(
                self.bytes[found as usize] >= run.len(),
                "each byte is counted"
            );
            self.bytes[found as usize] -= run.len();
        }
        self.bytes[status as usize] += range.len();
        self.runs.insert(range.start(), status);
        for start in [range.start(), range.end()] {
            let before = self
                .runs
                .range(..start)
                .next_back()
                .map(|(_, found)| *found);
            if before.is_some() && self.runs.get(&start).copied() == before {
                self.runs.remove(&start);
            }
        }
        if cfg!(debug_assertions) && self.runs.len() <= CHECKED_RUNS_MAX {
            self.check();
        }
    }

    /// Widens what is not finished to whole blocks, so that it can be read.
    pub fn align(&mut self, block: u64) {
        let crooked: Vec<(Range, Status)> = self
            .runs()
            .filter(|(run, status)| *status != Status::Finished && !run.is_aligned(block))
            .collect();
        // What was tried least wins where two share a block.
        for wanted in Status::ALL.iter().rev() {
            for (run, _) in crooked.iter().filter(|(_, status)| status == wanted) {
                let start = run.start() - run.start() % block;
                let end = run.end().next_multiple_of(block).min(self.size);
                self.set(Range::new(start, end - start), *wanted);
            }
        }
    }

    fn run_at(&self, at: u64) -> Option<(u64, Status)> {
        let found = self.runs.range(..=at).next_back();
        found.map(|(start, status)| (*start, *status))
    }

    /// Lets a run begin at `at`, if that lies inside.
    fn cut(&mut self, at: u64) {
        if at < self.size
            && let Some((_, status)) = self.run_at(at)
        {
            self.runs.insert(at, status);
        }
    }

    /// The invariants: from the first byte on, neighbours differ, and the sums are right.
    pub(super) fn check(&self) {
        assert_eq!(self.size > 0, self.runs.contains_key(&0));
        let mut bytes = [0; 5];
        let mut last = None;
        for (run, status) in self.runs() {
            assert!(!run.is_empty() && last != Some(status), "{self:?}");
            bytes[status as usize] += run.len();
            last = Some(status);
        }
        assert_eq!(bytes, self.bytes);
    }
}

#[cfg(test)]
mod tests;
