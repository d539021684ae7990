//! Arrays beside what is predicted: how much of the disks' work a load costs each level.
//!
//! No array is emulated, so none is ranked. But where requests suffice to keep all disks busy, what
//! is left of a striped volume's rate is what one request costs the array, counted
//! ([`crate::raid`]): reads and writes of disks are taken for equal. Fewer requests at once do
//! worse, since a small write waits for reads before it.

use dm::raid::{Parity, Rotation, Scheme};

use super::candidate::{Place, Shape as Candidates, Wish};
use super::rank::Choice;
use crate::raid::{Ask, Shape};
use crate::workload::fio::Mix;

/// The chunk of LVM2's, in bytes.
const CHUNK: u64 = 64 << 10;

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
}

/// The levels on as many disks as the widest striped choice has.
pub(super) fn counted(wish: &Wish, choices: &[Choice]) -> Vec<Counted> {
    let is_striped = |choice: &&Choice| {
        let candidate = &choice.candidate;
        let is_wide = candidate.shape == Candidates::Striped { chunk: CHUNK };
        is_wide && candidate.place == Place::Outer
    };
    let striped = choices.iter().filter(is_striped);
    let Some(striped) = striped.max_by_key(|choice| choice.candidate.disks.len()) else {
        return Vec::new();
    };
    let disks = striped.candidate.disks.len();
    let share = striped.candidate.capacity / disks as u64;
    let mut found = Vec::new();
    for (level, scheme, least) in levels() {
        if disks < least || (level == "raid10" && !disks.is_multiple_of(2)) {
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
        found.push(Counted {
            level,
            disks,
            capacity: share * (disks as u64 - lost) / copies,
            survives: scheme.redundancy(disks),
            requests,
            requests_degraded,
            per_second: striped.per_second.value / requests,
        });
    }
    found
}

/// LVM2's name, the layout, and how many images it takes at least.
fn levels() -> [(&'static str, Scheme, usize); 3] {
    let five = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let six = Scheme::Parity(Parity::Two, Rotation::ZeroRestart);
    [
        ("raid5", five, 3),
        ("raid6", six, 5),
        ("raid10", Scheme::near_copies(2), 4),
    ]
}

impl Counted {
    /// In words.
    pub(super) fn words(&self) -> String {
        format!(
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
        )
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
