//! What the cache does: how fast it answers, how many places it remembers, how far it reads ahead.

use super::probe::Probe;
use crate::error::Result;
use crate::stats::{Bootstrap, Interval, median};

/// Reads of each kind.
const SAMPLES: usize = 12;
/// Places that are told apart.
const PLACES_MAX: usize = 64;
/// Blocks of the longest hit, and of the longest read-ahead that is looked for.
const LONG: u64 = 64;
const AHEAD_MAX: u64 = 1 << 15;
/// Long reads are cut where this many blocks divide the place.
const PIECE: u64 = 1024;
/// A disk has read ahead all that it will by then.
const IDLE_NS: u64 = 300_000_000;
/// The share of a hit's time that noise may add.
const NOISE: f64 = 0.02;
/// And at least this, in nanoseconds.
const NOISE_NS: f64 = 5_000.0;

/// What was learnt of the cache.
#[derive(Debug, Clone)]
pub(super) struct CacheFit {
    /// Whether there is one for reads.
    pub(super) present: bool,
    /// The answer to a read of one block that is in it.
    pub(super) hit_ns: Interval,
    /// What each further block takes.
    pub(super) block_ns: Interval,
    /// Places that it remembers.
    pub(super) segments: usize,
    /// Blocks of a place.
    pub(super) segment_blocks: u64,
    /// Blocks that are read ahead of a read of one block.
    pub(super) ahead: u64,
}

/// Numbers and where their middle may lie.
pub(super) fn interval(numbers: &[f64]) -> Interval {
    let estimate = median(numbers).unwrap_or(0.0);
    let same = numbers
        .windows(2)
        .all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
    let point = Interval {
        low: estimate,
        estimate,
        high: estimate,
    };
    if same {
        return point;
    }
    match Bootstrap::default().intervals(numbers, median, [0.95]) {
        Ok([interval]) => interval,
        Err(_) => Interval {
            low: numbers.iter().copied().fold(f64::INFINITY, f64::min),
            estimate,
            high: numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        },
    }
}

pub(super) fn learn(probe: &mut Probe) -> Result<CacheFit> {
    let (mut firsts, mut hits, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let place = probe.somewhere();
        firsts.push(probe.read(place, LONG)?.took_ns() as f64);
        let one = probe.read(place, 1)?.took_ns() as f64;
        let long = probe.read(place, LONG)?.took_ns() as f64;
        hits.push(one);
        blocks.push((long - one) / (LONG - 1) as f64);
    }
    let (hit_ns, block_ns) = (interval(&hits), interval(&blocks));
    let present = hit_ns.estimate < median(&firsts).unwrap_or(0.0) / 3.0;
    let mut fit = CacheFit {
        present,
        hit_ns,
        block_ns,
        segments: 0,
        segment_blocks: 0,
        ahead: 0,
    };
    if !present {
        fit.hit_ns = interval(&[0.0]);
        return Ok(fit);
    }
    let slack = (hit_ns.estimate * NOISE)
        .max(NOISE_NS)
        .max(hit_ns.high - hit_ns.estimate);
    probe.hit_max_ns = (hit_ns.estimate + slack) as u64;
    fit.segments = segments(probe)?;
    probe.forget = fit.segments + 1;
    fit.ahead = reach(probe, |probe, place| probe.read(place, 1).map(|_| 1))?;
    let window = reach(probe, |probe, place| {
        probe.read(place, AHEAD_MAX).map(|_| AHEAD_MAX)
    })?;
    // After a long read the segment ends `window` blocks behind it; where does it begin?
    let held = backwards(probe, AHEAD_MAX)?;
    fit.segment_blocks = (held + window).max(fit.ahead + 1);
    Ok(fit)
}

fn is_hit(probe: &mut Probe, block: u64) -> Result<bool> {
    Ok(probe.read(block, 1)?.took_ns() <= probe.hit_max_ns)
}

/// Reads of other places after which one is forgotten: as many as there are segments.
fn segments(probe: &mut Probe) -> Result<usize> {
    let remembers = |probe: &mut Probe, others: usize| {
        let place = probe.somewhere();
        probe.read(place, 1)?;
        for _ in 0..others {
            let other = probe.somewhere();
            probe.read(other, 1)?;
        }
        // Twice, since a place may have been near by chance.
        is_hit(probe, place)
    };
    let mut count = 1;
    while count < PLACES_MAX && (remembers(probe, count)? || remembers(probe, count)?) {
        count += 1;
    }
    Ok(count)
}

/// A place where long reads are cut evenly, so that their last piece is a whole one.
fn aligned(probe: &mut Probe) -> u64 {
    let place = probe.somewhere();
    place - place % PIECE
}

/// Blocks after the end of what `prepare` reads that are there when the disk has been idle.
fn reach(probe: &mut Probe, prepare: impl Fn(&mut Probe, u64) -> Result<u64>) -> Result<u64> {
    let there = |probe: &mut Probe, ahead: u64| {
        let place = aligned(probe);
        probe.clear_cache(place)?;
        let count = prepare(probe, place)?;
        probe.idle(IDLE_NS);
        is_hit(probe, place + count - 1 + ahead)
    };
    largest(AHEAD_MAX, |ahead| there(probe, ahead))
}

/// Blocks before the end of a read of `count` that are still there when the disk has been idle.
fn backwards(probe: &mut Probe, count: u64) -> Result<u64> {
    let there = |probe: &mut Probe, back: u64| {
        let place = aligned(probe);
        probe.clear_cache(place)?;
        probe.read(place, count)?;
        probe.idle(IDLE_NS);
        is_hit(probe, place + count - back)
    };
    largest(count, |back| there(probe, back))
}

/// The largest number up to `limit` that passes, where all smaller ones but 0 do too; 0 if none.
fn largest(limit: u64, mut passes: impl FnMut(u64) -> Result<bool>) -> Result<u64> {
    let (mut low, mut high) = (0, 1);
    while high <= limit && passes(high)? {
        (low, high) = (high, high * 2);
    }
    high = high.min(limit + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if passes(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
