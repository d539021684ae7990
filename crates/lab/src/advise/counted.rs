//! Arrays beside what is predicted: how much of the disks' work a load costs each level.
//!
//! ```text
//!   striped choice on most disks ─▸ its rate over requests for one of the load ─▸ at most so many
//!                                ╲─▸ array on the same disks, emulated ─▸ its place in the ranks
//! ```
//!
//! No formula predicts arrays, so none is a choice. But where requests suffice to keep all disks
//! busy, what is left of a striped volume's rate is what one request costs the array, counted
//! ([`crate::raid`]): reads and writes of disks are taken for equal. Fewer requests at once do
//! worse, since a small write waits for reads before it. Where the best choices are emulated, so
//! are the levels, as LVM2 makes them: in sync, with marks of regions of 2 MiB.

use dm::raid::Scheme;

use super::candidate::{FRONT, Place, Shape as Candidates, Wish};
use super::rank::{Choice, Metric};
use crate::error::Result;
use crate::layout::{Area, Array, Layout, Level, Segment};
use crate::predict::{Trial, trial};
use crate::raid::{Ask, Shape};
use crate::workload::fio::Mix;

/// The chunk of LVM2's, in bytes.
const CHUNK: u64 = 64 << 10;
/// What one of its marks covers, in bytes.
const REGION: u64 = 2 << 20;

/// A level on all of some disks.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// What LVM2 calls it.
    pub level: &'static str,
    /// How many disks it takes.
    pub disks: usize,
    /// Bytes that it could have on them.
    pub capacity: u64,
    /// How many of any disks it survives.
    pub survives: usize,
    /// Requests to disks for one of the load.
    pub requests: f64,
    /// The same with one disk lost.
    pub requests_degraded: f64,
    /// Requests per second of the load at most: a striped volume's over that.
    pub per_second: f64,
    /// What an emulation found; `None`: there was none, or the volume does not fit.
    pub emulated: Option<Ranked>,
}

/// An array that was emulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// What was seen.
    pub trial: Trial,
    /// Its place if it were among the choices, from 1.
    pub place: usize,
    /// How many choices there are.
    pub choices: usize,
}

/// The levels on as many disks as the widest striped choice has; with a seed they are emulated.
pub(super) fn counted(wish: &Wish, choices: &[Choice], seed: Option<u64>) -> Result<Vec<Counted>> {
    let is_striped = |choice: &&Choice| {
        let candidate = &choice.candidate;
        let is_wide = candidate.shape == Candidates::Striped { chunk: CHUNK };
        is_wide && candidate.place == Place::Outer
    };
    let striped = choices.iter().filter(is_striped);
    let Some(striped) = striped.max_by_key(|choice| choice.candidate.disks.len()) else {
        return Ok(Vec::new());
    };
    let disks = striped.candidate.disks.len();
    let share = striped.candidate.capacity / disks as u64;
    let mut found = Vec::new();
    for level in [Level::Five, Level::Six, Level::Ten] {
        let scheme = level.scheme();
        if disks < level.legs_min() || (level == Level::Ten && !disks.is_multiple_of(2)) {
            continue;
        }
        let shape = Shape {
            scheme,
            legs: disks,
            chunk: CHUNK,
        };
        let cost = |losses| of_load(&shape, losses, wish);
        let (Some(requests), Some(requests_degraded)) = (cost(0), cost(1)) else {
            continue;
        };
        assert!(requests > 0.0, "a request is at least one of a disk");
        let copies = if let Scheme::Copies(_) = scheme { 2 } else { 1 };
        let lost = match scheme {
            Scheme::Parity(parity, _) => parity.count() as u64,
            Scheme::Mirror | Scheme::Copies(_) => 0,
        };
        let per_second = striped.per_second.value / requests;
        let emulated = match (seed, array(level, &striped.candidate.layout)) {
            (Some(seed), Some(layout)) => {
                let trial = trial(&layout, &wish.job, per_second, seed)?;
                Some(Ranked::new(trial, choices))
            }
            _ => None,
        };
        found.push(Counted {
            level: level.name(),
            disks,
            capacity: share * (disks as u64 - lost) / copies,
            survives: scheme.redundancy(disks),
            requests,
            requests_degraded,
            per_second,
            emulated,
        });
    }
    Ok(found)
}

/// An array of this level on the disks of a striped volume, as large as that; `None`: no room.
fn array(level: Level, striped: &Layout) -> Option<Layout> {
    let legs = (0..striped.disks.len()).map(|disk| Area { disk, start: FRONT });
    let array = Array {
        level,
        len: striped.size(),
        chunk: CHUNK,
        region: REGION,
        begin: 0,
        legs: legs.collect(),
    };
    let layout = Layout {
        name: level.name().to_owned(),
        volume: vec![Segment::Raid(array)],
        ..striped.clone()
    };
    layout.validate().is_ok().then_some(layout)
}

impl Ranked {
    /// Among choices, which count by what was emulated of them, if anything was.
    fn new(trial: Trial, choices: &[Choice]) -> Self {
        let rate = |one: &&Choice| {
            let seen = one
                .emulated
                .map_or(one.per_second.value, |seen| seen.per_second);
            seen > trial.per_second
        };
        let response = |one: &&Choice| {
            let seen = one
                .emulated
                .map_or(one.response_ns.value, |seen| seen.response_ns);
            seen < trial.response_ns
        };
        let before = match choices[0].metric {
            Metric::PerSecond => choices.iter().filter(rate).count(),
            Metric::Response => choices.iter().filter(response).count(),
        };
        Self {
            trial,
            place: before + 1,
            choices: choices.len(),
        }
    }

    /// In words.
    fn words(&self) -> String {
        format!(
            " Emulated, it does {:.0} requests per second and answers after {:.1} ms on average: \
             number {} if it were among the {} above.",
            self.trial.per_second,
            self.trial.response_ns / 1e6,
            self.place,
            self.choices
        )
    }
}

impl Counted {
    /// In words.
    pub(super) fn words(&self) -> String {
        let counted = format!(
            "Counted, not predicted: {} over {} has room for {} MiB, survives {} of them, and does \
             {:.0} requests per second at most; each takes {:.2} requests to disks, {:.2} with one \
             lost.",
            self.level,
            self.disks,
            self.capacity >> 20,
            self.survives,
            self.per_second,
            self.requests,
            self.requests_degraded
        );
        counted
            + &self
                .emulated
                .map_or_else(String::new, |ranked| ranked.words())
    }
}

/// Requests to disks for one request of the load.
fn of_load(shape: &Shape, losses: usize, wish: &Wish) -> Option<f64> {
    let job = &wish.job;
    let read = || shape.mean(losses, Ask::Read, job.block[0]);
    let write = || shape.mean(losses, Ask::Write, job.block[1]);
    let reads = match job.mix {
        Mix::Reads => 1.0,
        Mix::Writes => 0.0,
        Mix::Both => f64::from(job.mix_percent) / 100.0,
    };
    let of_reads = if reads > 0.0 { read()?.requests() } else { 0.0 };
    let of_writes = if reads < 1.0 {
        write()?.requests()
    } else {
        0.0
    };
    Some(reads * of_reads + (1.0 - reads) * of_writes)
}

#[cfg(test)]
mod tests;
