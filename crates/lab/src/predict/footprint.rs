//! Where a load touches which disk: the parts of evenly spread sample requests.
//!
//! The volume's own map cuts the samples, so that every layout, region, hot part and pair of
//! partitions is covered by the same few lines, and averages over them are sums over samples. Each
//! sample lies anywhere in its share of the region: at even distances all could hit one stripe.

use block::sim::Random;

use super::subject::{Load, Pattern, Shape, Volume};

/// Sample requests.
const SAMPLES: u64 = 1024;
/// Turns of a stripe from which on all its disks are used alike.
const TURNS: u64 = 64;

/// A part of a request on one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// First block, of the disk.
    pub(super) start: u64,
    /// How many.
    pub(super) count: u64,
}

/// What a load asks of the disks.
#[derive(Debug, Clone)]
pub(super) struct Footprint {
    /// The parts on each disk.
    pub(super) disks: Vec<Vec<Part>>,
    /// Parts of a request on each disk, on average; of a mirror as if all legs were used.
    pub(super) visits: Vec<f64>,
    /// The share of requests that use 1, 2, .. disks at a time; the first is for one.
    pub(super) width: Vec<f64>,
    /// Blocks of the largest part of those, beyond the mean of all parts.
    pub(super) excess: Vec<f64>,
}

impl Footprint {
    /// Of all requests of a load, reads and writes alike.
    pub(super) fn of(volume: &Volume, load: &Load) -> Self {
        let starts = starts(load);
        let each = 1.0 / starts.len() as f64;
        let mut disks = vec![Vec::new(); volume.disks.len()];
        let mut width = vec![0.0; volume.disks.len()];
        let mut largest = vec![0.0; volume.disks.len()];
        for &start in &starts {
            let mut used = vec![0; volume.disks.len()];
            for (piece, inside, count) in parts(volume, start, load.blocks) {
                let piece = volume.pieces[piece];
                used[piece.disk] += count;
                disks[piece.disk].push(Part {
                    start: piece.start + inside,
                    count,
                });
            }
            let count = used.iter().filter(|used| **used > 0).count();
            width[count - 1] += each;
            largest[count - 1] += each * used.iter().copied().max().unwrap_or(0) as f64;
        }
        let mut visits: Vec<f64> = disks
            .iter()
            .map(|parts| parts.len() as f64 * each)
            .collect();
        even(&mut visits, volume, load);
        let counts = disks.iter().flatten().map(|part: &Part| part.count);
        let parts = disks.iter().map(Vec::len).sum::<usize>() as f64;
        let used = parts.min(
            width
                .iter()
                .zip(1..)
                .map(|(share, n)| share * f64::from(n))
                .sum::<f64>()
                / each,
        );
        let mean = counts.sum::<u64>() as f64 / used;
        let excess = width
            .iter()
            .zip(&largest)
            .map(|(share, largest)| (largest / share.max(1e-12) - mean).max(0.0))
            .collect();
        Self {
            disks,
            visits,
            width,
            excess,
        }
    }
}

/// Stripes get the same number of parts each where many turns are used: what samples say beyond
/// that is chance, and the disk that chance favours would seem to hold up the others.
fn even(visits: &mut [f64], volume: &Volume, load: &Load) {
    let Shape::Striped { chunk } = volume.shape else {
        return;
    };
    let used = match load.pattern {
        Pattern::Random {
            hot_share,
            hot_blocks,
        } if hot_share > 0 => hot_blocks.min(load.region_blocks),
        _ => load.region_blocks,
    };
    let count = volume.pieces.len();
    if used / (chunk.max(1) * count as u64) < TURNS {
        return;
    }
    let share = visits.iter().sum::<f64>() / count as f64;
    visits.fill(0.0);
    for piece in &volume.pieces {
        visits[piece.disk] += share;
    }
}

/// The parts of a request; of a mirror, one on each leg.
fn parts(volume: &Volume, start: u64, count: u64) -> Vec<(usize, u64, u64)> {
    match volume.shape {
        Shape::Mirror => (0..volume.pieces.len())
            .map(|leg| (leg, start, count))
            .collect(),
        _ => volume.parts(start, count),
    }
}

/// The first blocks of the samples.
fn starts(load: &Load) -> Vec<u64> {
    let mut random = Random::new(0x5a3b);
    let mut within = |index: u64, count: u64, room: u64| {
        let slots = u128::from((room - load.blocks.min(room)) / load.grain + 1);
        let at = (u128::from(index) << 32) + u128::from(random.below(1 << 32));
        let slot = slots * at / (u128::from(count) << 32);
        load.region_start + slot as u64 * load.grain
    };
    match load.pattern {
        Pattern::Random {
            hot_share,
            hot_blocks,
        } => {
            let hot = SAMPLES * hot_share / 1000;
            let room = hot_blocks.min(load.region_blocks);
            let mut starts: Vec<u64> = (0..hot).map(|at| within(at, hot, room)).collect();
            let rest = SAMPLES - hot;
            starts.extend((0..rest).map(|at| within(at, rest, load.region_blocks)));
            starts
        }
        Pattern::Sequential => {
            let around = (load.region_blocks / load.blocks).max(1);
            let count = load.counted.clamp(1, around);
            let first = if count == around { 0 } else { load.warm_up };
            let samples = count.min(SAMPLES);
            (0..samples)
                .map(|index| {
                    let number = (first + count * index / samples) % around;
                    load.region_start + number * load.blocks
                })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests;
