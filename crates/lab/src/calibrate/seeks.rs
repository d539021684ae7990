//! Seek times: the shortest answer over all sectors of the track that the arm goes to.
//!
//! From a fixed block the answers of the sectors of another track rise evenly with their angle and
//! fall by a revolution at the first one that the head can reach. That one is found by halving.
//! The arm goes to lower blocks, which reading ahead does not bring into the cache.

use super::probe::Probe;
use super::tracks::{self, Track};
use super::zones::Cylinders;
use crate::error::Result;
use crate::stats::Interval;

/// Starting sectors of each distance: the true time is up to a sector below each.
const PAIRS: u64 = 4;
/// Each distance is by so much larger than the one before.
const GROWTH: f64 = 1.4;

/// Blocks at the end of the disk that are left alone.
const TAIL: u64 = 1 << 16;

/// A measured move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Move {
    pub(super) distance: u64,
    /// Command to answer, without waiting for the angle, with the time of the sector.
    pub(super) answer_ns: Interval,
    pub(super) sector_ns: f64,
}

/// The shortest time from the end of `from` to the end of any sector of `track`.
fn shortest(probe: &mut Probe, turn_ns: f64, from: u64, track: &Track) -> Result<f64> {
    let first = track.next - track.per_track;
    // A pair takes up to a revolution longer than it must, and more if it is long.
    let zero = probe.pair(from, first)? as f64;
    // On its own track only what lies before it is not read ahead.
    let (mut low, mut high) = (0, track.per_track.min(from - first));
    let mut best = zero;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let time = probe.pair(from, first + middle)? as f64;
        best = best.min(time);
        if time < zero + middle as f64 * track.sector_ns - turn_ns / 2.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(best)
}

/// The shortest answer over sectors of a track, from several sectors up to `from`, which is behind.
pub(super) fn reach(probe: &mut Probe, turn_ns: f64, from: u64, to: &Track) -> Result<Interval> {
    let (mut low, mut times) = (f64::INFINITY, Vec::new());
    for step in 0..PAIRS {
        // Odd steps, so that the angles differ by parts of a sector of the other track.
        let time = shortest(probe, turn_ns, from - step * 7, to)?;
        low = low.min(time);
        times.push(time);
    }
    // Each is above the truth by a random part of a sector: the least of n by 1/(n+1) of it.
    let above = to.sector_ns / (PAIRS + 1) as f64;
    Ok(Interval {
        low: low - to.sector_ns,
        estimate: low - above,
        high: low,
    })
}

/// Distances of about equal ratio, up to the whole stroke.
fn distances(cylinders: u64) -> Vec<u64> {
    let mut list = vec![1];
    let mut next = 2.0;
    while next < cylinders as f64 * 0.97 {
        list.push(next as u64);
        next = (next * GROWTH).max(next + 1.0);
    }
    list.push(cylinders * 98 / 100);
    list.dedup();
    list
}

/// Seeks of many distances; `each` is told how far it came, of a thousand.
pub(super) fn learn(
    probe: &mut Probe,
    turn_ns: f64,
    cylinders: &Cylinders,
    heads: u32,
    each: &mut dyn FnMut(u64),
) -> Result<Vec<Move>> {
    let list = distances(cylinders.count);
    let mut moves = Vec::new();
    let count = list.len() as u64;
    for (index, distance) in (0..).zip(list) {
        let room = cylinders.count - distance;
        let start = probe.draw(room.max(1));
        let last = probe.blocks() - TAIL;
        let begin = cylinders.block_of(start + distance).min(last);
        let from = tracks::track(probe, turn_ns, begin)?;
        let stroke = distance * from.per_track * u64::from(heads);
        let zone = cylinders.zone_of(from.next - 1);
        let (to, distance) = if from.next > zone.start + stroke + 2 * from.per_track {
            // Within a zone cylinders are equally long.
            let next = from.next - stroke;
            (Track { next, ..from }, distance)
        } else {
            let to = tracks::track(probe, turn_ns, cylinders.block_of(start))?;
            let here = cylinders.of_block(from.next - 1);
            let there = cylinders.of_block(to.next - 1);
            (to, here.saturating_sub(there).max(1))
        };
        let source = from.next - 1;
        moves.push(Move {
            distance,
            answer_ns: reach(probe, turn_ns, source, &to)?,
            sector_ns: to.sector_ns,
        });
        each((index + 1) * 1000 / count);
    }
    moves.sort_by_key(|one| one.distance);
    moves.dedup_by_key(|one| one.distance);
    Ok(moves)
}
