//! The time of a revolution: ends of reads of one block are whole revolutions apart.

use super::probe::Probe;
use crate::error::{Error, Kind, Result};
use crate::stats::Interval;
use crate::stats::real::student_point;

/// Reads, and how many of them the first guess is made of: it is two revolutions where all but two
/// of these happen to be an even number of them apart, once in 30,000 disks.
const SAMPLES: usize = 60;
const FIRST: usize = 24;
/// Revolutions are looked for from 3,000 to 20,000 per minute.
const LONGEST_NS: f64 = 20_000_000.0;
const SHORTEST_NS: f64 = 3_000_000.0;
/// The share of a revolution by which an end may miss it.
const MISS: f64 = 0.02;

/// The time of a revolution.
pub(super) fn learn(probe: &mut Probe) -> Result<Interval> {
    let place = probe.blocks() / 3;
    let mut ends = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        ends.push(probe.medium(place)?.end_ns);
        let forget = probe.forget.max(1);
        for _ in 0..forget {
            let other = probe.somewhere();
            probe.read(other, 1)?;
        }
    }
    let times: Vec<f64> = ends.iter().map(|&end| (end - ends[0]) as f64).collect();
    let mut turn_ns = first_guess(&times[..FIRST]).ok_or_else(|| {
        let what = "its answers do not repeat with any revolution from 3,000 to 20,000 per minute: \
                    this is no disk that turns, or the machine is too noisy";
        Error::new(Kind::Unsupported, what)
    })?;
    for count in FIRST..=SAMPLES {
        (turn_ns, _) = line(&times[..count], turn_ns);
    }
    let (turn_ns, error_ns) = line(&times, turn_ns);
    let spread_ns = error_ns * student_point(0.975, (SAMPLES - 2) as f64);
    Ok(Interval {
        low: turn_ns - spread_ns,
        estimate: turn_ns,
        high: turn_ns + spread_ns,
    })
}

/// The longest time of which all `times` are multiples.
fn first_guess(times: &[f64]) -> Option<f64> {
    let span = times.last()?;
    let fits = |turn_ns: f64| {
        let misses = times.iter().filter(|&&time| {
            let turns = time / turn_ns;
            (turns - turns.round()).abs() > 2.0 * MISS
        });
        // One in a dozen may be noise.
        misses.count() <= times.len() / 12
    };
    let mut turn_ns = LONGEST_NS;
    while turn_ns > SHORTEST_NS {
        if fits(turn_ns) {
            let refined = line(times, turn_ns).0;
            return Some(refined);
        }
        turn_ns -= MISS / 2.0 * turn_ns * turn_ns / span;
    }
    None
}

/// The slope of the line through times over revolutions, and its error.
fn line(times: &[f64], turn_ns: f64) -> (f64, f64) {
    let points: Vec<(f64, f64)> = times
        .iter()
        .map(|&time| ((time / turn_ns).round(), time))
        .filter(|&(turns, time)| (time / turn_ns - turns).abs() < 5.0 * MISS)
        .collect();
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let (mut xx, mut xy) = (0.0, 0.0);
    for (x, y) in &points {
        xx += (x - mean_x) * (x - mean_x);
        xy += (x - mean_x) * (y - mean_y);
    }
    if xx == 0.0 {
        return (turn_ns, turn_ns);
    }
    let slope = xy / xx;
    let left = points.iter().map(|(x, y)| {
        let miss = y - mean_y - slope * (x - mean_x);
        miss * miss
    });
    let variance = left.sum::<f64>() / (count - 2.0).max(1.0);
    (slope, (variance / xx).sqrt())
}
