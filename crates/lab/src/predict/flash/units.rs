//! Which units of a flash disk have how much to do.
//!
//! A page is on unit `page mod n`. A request of five pages over four units gives the first two of
//! them, and where all requests begin on the same unit, that one decides.

use crate::disk::flash::FlashProfile;
use crate::predict::subject::{Load, Pattern, Shape, Volume};

/// Windows of a volume in which the work is counted.
const WINDOWS: u64 = 16;

/// Requests in each.
const REQUESTS: u64 = 512;

/// How many times the mean of all units the busiest one of `disk` has to do. Which units a request
/// needs repeats with the pages of all units, chunks and disks; requests of such periods are laid
/// out.
pub(in crate::predict) fn hottest(
    volume: &Volume,
    load: &Load,
    disk: usize,
    flash: &FlashProfile,
) -> f64 {
    let size = u64::from(flash.page_blocks);
    let step = match load.pattern {
        Pattern::Sequential => load.blocks,
        Pattern::Random { .. } => load.grain,
    };
    let width = volume.pieces.len() as u64;
    let around = size * flash.units as u64;
    let period = match volume.shape {
        Shape::Striped { chunk } => common(common(step, chunk * width), around * width),
        _ => common(step, around),
    };
    let slots = (load.region_blocks - load.blocks.min(load.region_blocks)) / step + 1;
    let period = period / step;
    let stride = if period <= REQUESTS {
        1
    } else {
        (period / REQUESTS) | 1
    };
    let count = if period <= REQUESTS {
        REQUESTS / period * period
    } else {
        REQUESTS
    };
    let mut work = vec![0u64; flash.units];
    for window in 0..WINDOWS {
        let first = (slots * (2 * window + 1) / (2 * WINDOWS)).min(slots.saturating_sub(count));
        for index in 0..count {
            let slot = (first + index * stride) % slots;
            let parts = match volume.shape {
                Shape::Mirror => vec![(disk, slot * step + load.region_start, load.blocks)],
                _ => volume.parts(slot * step + load.region_start, load.blocks),
            };
            for (piece, inside, count) in parts {
                let piece = volume.pieces[piece];
                if piece.disk == disk {
                    let start = piece.start + inside;
                    for page in start / size..(start + count).div_ceil(size) {
                        work[(page % flash.units as u64) as usize] += 1;
                    }
                }
            }
        }
    }
    let most = work.iter().copied().max().unwrap_or(0) as f64;
    let mean = work.iter().sum::<u64>() as f64 / flash.units as f64;
    (most / mean.max(1e-9)).max(1.0)
}

/// The least common multiple.
fn common(one: u64, other: u64) -> u64 {
    let (mut a, mut b) = (one, other);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    one / a * other
}
