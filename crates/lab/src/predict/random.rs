//! The service law of a drive under random commands: averages over pairs of sampled places.
//!
//! A command is a move from where the last one ended to where it begins, and a wait for its first
//! sector that is anywhere in a revolution. Who goes first decides the pairs:
//!
//! - FCFS: any two places, the sum of 2(n-d)/n² · t(d) over distances.
//! - LOOK: with q commands waiting the arm passes on average 2/3(q+1) of all places from one to the
//!   next (a sweep finds most where it was longest ago), exponentially distributed around that.
//! - SPTF: the least positioning time of q candidates.
//!
//! Reads may be found in the cache: by the share of the hot blocks that its segments hold.

use block::sim::Random;

use super::footprint::Part;
use super::mechanics::{Came, Cost, Mechanics, Way};
use crate::disk::profile::{Scheduler, WritePolicy};
use crate::disk::seek::Direction;
use crate::stats::real::ln;

/// Commands that are averaged over.
const COMMANDS: usize = 1200;

/// The fractional part of the golden ratio: its multiples fill an interval evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The parts of a load on a drive, as ways of its head.
#[derive(Debug)]
pub(super) struct Ways {
    reads: Vec<Way>,
    writes: Vec<Way>,
    /// The share of reads.
    share: f64,
    /// Indices in the order of cylinders.
    sorted: Vec<usize>,
    /// The chance that a read is in the cache.
    hit: f64,
}

/// Who waits when a command is picked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// Commands to choose from, on average.
    pub(super) candidates: f64,
    /// The chance that a command finds the drive idle.
    pub(super) idle: f64,
}

/// What commands cost on average.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Law {
    pub(super) cost: Cost,
    /// The second moment of `cost.busy`.
    pub(super) busy_square: f64,
    /// The standard deviation of `cost.response`.
    pub(super) deviation: f64,
}

impl Ways {
    pub(super) fn new(mechanics: &Mechanics<'_>, parts: &[Part], share: f64) -> Self {
        let ways = |direction| -> Vec<Way> {
            parts
                .iter()
                .map(|&part| mechanics.way(part, direction))
                .collect()
        };
        let reads = ways(Direction::Read);
        let mut sorted: Vec<usize> = (0..reads.len()).collect();
        sorted.sort_by_key(|&index| reads[index].from);
        Self {
            writes: ways(Direction::Write),
            reads,
            share,
            sorted,
            hit: hit(mechanics, parts),
        }
    }

    /// The law of the commands of a load: reads, and writes that go to the medium at once.
    pub(super) fn law(&self, mechanics: &Mechanics<'_>, waiting: Waiting) -> Law {
        self.average(mechanics, waiting, self.share, Writes::AtOnce)
    }

    /// The law of the reads alone.
    pub(super) fn reads(&self, mechanics: &Mechanics<'_>, waiting: Waiting) -> Law {
        self.average(mechanics, waiting, 1.0, Writes::AtOnce)
    }

    /// The law of writing back, the nearest of `candidates` first.
    pub(super) fn destages(&self, mechanics: &Mechanics<'_>, candidates: f64) -> Law {
        let waiting = Waiting {
            candidates,
            idle: 0.0,
        };
        self.average(mechanics, waiting, 0.0, Writes::Cached)
    }

    fn average(
        &self,
        mechanics: &Mechanics<'_>,
        waiting: Waiting,
        share: f64,
        writes: Writes,
    ) -> Law {
        let mut random = Random::new(0x5eed);
        let mut law = Law::default();
        let each = 1.0 / COMMANDS as f64;
        let mut square = 0.0;
        let queue = &mechanics.profile.queue;
        // What is cached is not in the queue, so that its depth does not limit the choice.
        let (scheduler, candidates) = match writes {
            Writes::Cached => (Scheduler::Sptf, waiting.candidates),
            Writes::AtOnce => (
                queue.scheduler,
                waiting.candidates.min(queue.depth.max(1) as f64),
            ),
        };
        let candidates = candidates.max(1.0);
        for number in 0..COMMANDS {
            let even = |factor: f64| ((number as f64 + 0.5) * factor).fract();
            let read = uniform(&mut random) < share;
            let direction = if read {
                Direction::Read
            } else {
                Direction::Write
            };
            let ways = if read { &self.reads } else { &self.writes };
            let last = self.place(even(GOLDEN));
            let (to, seek, wait) = self.choose(
                mechanics,
                ways,
                (last, direction, scheduler),
                candidates,
                (number, &mut random),
            );
            let came = if even(GOLDEN * GOLDEN * 3.0) < waiting.idle {
                Came::Idle
            } else {
                Came::Busy
            };
            let cached = read && uniform(&mut random) < self.hit;
            let cost = match writes {
                Writes::Cached => written_back(mechanics, &ways[to], seek, wait),
                Writes::AtOnce if cached => self.found(mechanics, &ways[to], came),
                Writes::AtOnce if read => mechanics.read(&ways[to], seek, wait, came, self.share),
                Writes::AtOnce => {
                    let cost = mechanics.write(&ways[to], seek, wait, came, self.share);
                    early(mechanics, &ways[to], cost, came, self.share)
                }
            };
            law.cost.add(&cost, each);
            law.busy_square += cost.busy * cost.busy * each;
            square += cost.response * cost.response * each;
        }
        law.deviation = (square - law.cost.response.powi(2)).max(0.0).sqrt();
        law
    }

    /// A read that is in the cache.
    fn found(&self, mechanics: &Mechanics<'_>, way: &Way, came: Came) -> Cost {
        let host = host_read(mechanics, way.count, came, self.share);
        Cost {
            overhead: host,
            busy: host,
            response: host,
            ..Cost::default()
        }
    }

    /// The way at a share of all in the order of cylinders.
    fn place(&self, share: f64) -> usize {
        let index = (share * self.sorted.len() as f64) as usize;
        self.sorted[index.min(self.sorted.len() - 1)]
    }

    /// Who is next: the way, the seek and the wait.
    fn choose(
        &self,
        mechanics: &Mechanics<'_>,
        ways: &[Way],
        (last, direction, scheduler): (usize, Direction, Scheduler),
        candidates: f64,
        (number, random): (usize, &mut Random),
    ) -> (usize, f64, f64) {
        let from = ways[last].to;
        let turn = mechanics.turn;
        let wait = ((number as f64 + 0.5) * GOLDEN * 7.0).fract() * turn;
        match scheduler {
            Scheduler::Sptf if candidates > 1.0 => {
                let mut count = candidates as usize;
                count += usize::from(uniform(random) < candidates.fract());
                let mut best = (0, f64::MAX, 0.0);
                for _ in 0..count {
                    let to = self.place(uniform(random));
                    let seek = mechanics.seek(from, &ways[to], direction);
                    let wait = uniform(random) * turn;
                    if seek + wait < best.1 + best.2 {
                        best = (to, seek, wait);
                    }
                }
                best
            }
            Scheduler::Look if uniform(random) < candidates - 1.0 => {
                // Where a sweep is comes at the rate of what it finds there.
                let at = uniform(random).sqrt();
                let mean = 2.0 / (3.0 * (candidates + 1.0)) / (2.0 * at);
                let next = at - ln(uniform(random)) * mean;
                let next = if next > 1.0 {
                    (2.0 - next).max(0.0)
                } else {
                    next
                };
                let (from, to) = (self.place(at), self.place(next));
                let seek = mechanics.seek(ways[from].to, &ways[to], direction);
                (to, seek, wait)
            }
            _ => {
                let to = self.place(uniform(random));
                let seek = mechanics.seek(from, &ways[to], direction);
                (to, seek, wait)
            }
        }
    }
}

/// How writes go to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    AtOnce,
    Cached,
}

impl Cost {
    fn add(&mut self, other: &Self, weight: f64) {
        self.overhead += other.overhead * weight;
        self.seek += other.seek * weight;
        self.rotation += other.rotation * weight;
        self.transfer += other.transfer * weight;
        self.busy += other.busy * weight;
        self.response += other.response * weight;
        self.medium += other.medium * weight;
    }
}

/// A write from the cache to the medium.
fn written_back(mechanics: &Mechanics<'_>, way: &Way, seek: f64, wait: f64) -> Cost {
    let medium = mechanics.put(way, seek, wait, f64::MIN, 0.0, 0.0);
    Cost {
        seek,
        rotation: wait,
        transfer: medium - seek - wait,
        busy: medium,
        response: medium,
        medium,
        ..Cost::default()
    }
}

/// A write that is reported before it is on the medium, where the drive does that when idle.
fn early(mechanics: &Mechanics<'_>, way: &Way, cost: Cost, came: Came, reads: f64) -> Cost {
    if mechanics.profile.cache.write_policy != WritePolicy::BehindWhenIdle {
        return cost;
    }
    // The last of it comes when all but a segment's worth is written.
    let fits = f64::from(mechanics.profile.cache.segment_blocks) / way.count;
    let passed = cost.medium - way.media * fits.min(1.0);
    let response = host_write(mechanics, way.count, came, reads);
    let response = if fits < 1.0 {
        response.max(passed)
    } else {
        response
    };
    Cost {
        overhead: response,
        seek: 0.0,
        rotation: 0.0,
        transfer: 0.0,
        busy: cost.medium.max(response),
        response,
        medium: cost.medium,
    }
}

/// The time of a read that is in the cache.
pub(super) fn host_read(mechanics: &Mechanics<'_>, count: f64, came: Came, reads: f64) -> f64 {
    let overheads = &mechanics.profile.overheads;
    let begin = match came {
        Came::Idle => Mechanics::after(overheads.read_hit, reads),
        Came::Busy => overheads.reselect_first_ns as f64,
    };
    let fixed = overheads.data_preparation_ns + overheads.complete_read_ns;
    begin + fixed as f64 + count * mechanics.profile.bus.read_block_ns as f64
}

/// The time of a write into the cache.
pub(super) fn host_write(mechanics: &Mechanics<'_>, count: f64, came: Came, reads: f64) -> f64 {
    let overheads = &mechanics.profile.overheads;
    let begin = match came {
        Came::Idle => Mechanics::after(overheads.write_hit, reads),
        Came::Busy => overheads.reselect_first_ns as f64,
    };
    let fixed = overheads.data_preparation_ns + overheads.complete_write_ns;
    begin + fixed as f64 + count * mechanics.profile.bus.write_block_ns as f64
}

/// From its arrival, the time of a read that is in the cache and found others at the drive: the
/// controller does not know then that it is, and leaves the bus as for one that is not.
pub(super) fn queued_read(mechanics: &Mechanics<'_>, count: f64, reads: f64) -> f64 {
    let overheads = &mechanics.profile.overheads;
    Mechanics::after(overheads.read_miss, reads)
        + Mechanics::after(overheads.disconnect_read, reads)
        + host_read(mechanics, count, Came::Busy, reads)
}

/// The same of a write into the cache.
pub(super) fn queued_write(mechanics: &Mechanics<'_>, count: f64, reads: f64) -> f64 {
    let overheads = &mechanics.profile.overheads;
    Mechanics::after(overheads.write_hit, reads)
        + overheads.disconnect_write_ns as f64
        + host_write(mechanics, count, Came::Busy, reads)
}

/// The chance that a random read is in the cache: for places as likely as each other, the share of
/// the segments' content that fits a whole request.
fn hit(mechanics: &Mechanics<'_>, parts: &[Part]) -> f64 {
    let cache = &mechanics.profile.cache;
    let count = parts.iter().map(|part| part.count).sum::<u64>() as f64 / parts.len() as f64;
    let first = parts.iter().map(|part| part.start).min().unwrap_or(0);
    let end = parts
        .iter()
        .map(|part| part.start + part.count)
        .max()
        .unwrap_or(1);
    let window = f64::from(cache.segment_blocks);
    if count > window || cache.discard_delivered.is_yes() {
        return 0.0;
    }
    (cache.segments as f64 * count / (end - first) as f64).min(0.9)
}

/// A number from above 0 to 1.
fn uniform(random: &mut Random) -> f64 {
    ((random.number() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests;
