//! Tracks: how many sectors they have, where they end, how much the next one is turned.

use super::probe::Probe;
use crate::error::{Error, Kind, Result};

/// The first distance over which a sector's time is taken.
const SHORT: u64 = 16;
/// Tries to find sixteen sectors without the end of a track among them.
const TRIES: u64 = 12;
/// Tracks that are walked to see the heads.
const WALK_MAX: usize = 160;
/// Sectors by which a place may be off where no track ended.
const OFF: f64 = 0.6;

/// A track, from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::struct_field_names,
    reason = "sectors per track is what everybody calls it"
)]
pub(super) struct Track {
    /// The first block of the next track.
    pub(super) next: u64,
    pub(super) per_track: u64,
    pub(super) sector_ns: f64,
}

/// The heads and skews of a zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Heads {
    pub(super) count: u32,
    pub(super) track_skew_ns: f64,
    pub(super) cylinder_skew_ns: f64,
    /// The first block of a cylinder.
    pub(super) cylinder: u64,
    /// Whether the end of a cylinder could be told from that of a track.
    pub(super) certain: bool,
}

/// The time by which the angle of `second`, which comes later on the disk, is behind that of
/// `first`: less than a revolution.
fn turn(probe: &mut Probe, turn_ns: f64, first: u64, second: u64) -> Result<f64> {
    // Backwards, since reading ahead would bring the second into the cache.
    let late = probe.medium(second)?.end_ns;
    let early = probe.medium(first)?.end_ns;
    let apart = (early - late) as f64 / turn_ns;
    let part = 1.0 - (apart - apart.floor());
    Ok(if part >= 1.0 { 0.0 } else { part * turn_ns })
}

/// The time of a sector at `place`, over sixteen sectors that no end of a track parts.
fn sector(probe: &mut Probe, turn_ns: f64, place: u64) -> Result<(u64, f64)> {
    let mut before: Option<f64> = None;
    for step in 0..TRIES {
        let first = place + step * SHORT;
        let sector_ns = turn(probe, turn_ns, first, first + SHORT)? / SHORT as f64;
        if before.is_some_and(|before| (before - sector_ns).abs() < 0.02 * sector_ns) {
            return Ok((first - SHORT, sector_ns));
        }
        before = Some(sector_ns);
    }
    let what = format!("the sectors at block {place} do not follow each other evenly");
    Err(Error::new(Kind::Unsupported, what))
}

/// Sectors of the track at `place`, where the track need not be known.
pub(super) fn per_track(probe: &mut Probe, turn_ns: f64, place: u64) -> Result<u64> {
    track(probe, turn_ns, place).map(|track| track.per_track)
}

/// The track that holds `place` or begins just behind it.
pub(super) fn track(probe: &mut Probe, turn_ns: f64, place: u64) -> Result<Track> {
    let (first, mut sector_ns) = sector(probe, turn_ns, place)?;
    let mut same = 2 * SHORT;
    let limit = |sector_ns: f64| (turn_ns / sector_ns).round() as u64;
    if limit(sector_ns) < same {
        let what = format!("the sectors at block {place} take too long for their revolution");
        return Err(Error::new(Kind::Unsupported, what));
    }
    let mut other = loop {
        let next = (same * 2).min(limit(sector_ns));
        match follows(probe, turn_ns, (first, next), sector_ns)? {
            Some(better_ns) if next < limit(sector_ns) => (same, sector_ns) = (next, better_ns),
            // After a whole track one has ended, even if the next is not turned.
            _ => break next,
        }
    };
    while other - same > 1 {
        let middle = same + (other - same) / 2;
        match follows(probe, turn_ns, (first, middle), sector_ns)? {
            Some(better_ns) => (same, sector_ns) = (middle, better_ns),
            None => other = middle,
        }
    }
    Ok(Track {
        next: first + other,
        per_track: limit(sector_ns),
        sector_ns: turn_ns / limit(sector_ns) as f64,
    })
}

/// Whether `count` sectors after `first` the track is still the same; if so, a better time of a
/// sector.
fn follows(
    probe: &mut Probe,
    turn_ns: f64,
    (first, count): (u64, u64),
    sector_ns: f64,
) -> Result<Option<f64>> {
    let expected = sector_ns * count as f64;
    let found = turn(probe, turn_ns, first, first + count)?;
    let off = found - expected;
    let off = off - (off / turn_ns).round() * turn_ns;
    let same = off.abs() < OFF * sector_ns;
    Ok(same.then(|| (expected + off) / count as f64))
}

/// The heads of the zone that `place` lies in.
pub(super) fn heads(probe: &mut Probe, turn_ns: f64, place: u64) -> Result<(Track, Heads)> {
    let track = track(probe, turn_ns, place)?;
    let mut skews: Vec<f64> = Vec::new();
    let mut at = track.next;
    while skews.len() < WALK_MAX {
        let over = turn(probe, turn_ns, at - 1, at)? - track.sector_ns;
        skews.push(if over < -track.sector_ns / 2.0 {
            over + turn_ns
        } else {
            over
        });
        at += track.per_track;
        let near = |a: f64, b: f64| (a - b).abs() < track.sector_ns / 2.0;
        let repeats = |period: usize| {
            skews.len() > 2 * period
                && (period..skews.len()).all(|index| near(skews[index], skews[index - period]))
        };
        let all_same = skews.iter().all(|&skew| near(skew, skews[0]));
        let Some(period) = (2..=skews.len() / 2).find(|&period| repeats(period)) else {
            continue;
        };
        if all_same {
            continue;
        }
        // One in the period is the end of a cylinder: the odd one, or the larger of two.
        let count = |skew: f64| {
            skews[..period]
                .iter()
                .filter(|&&one| near(one, skew))
                .count()
        };
        let end = (0..period).min_by(|&a, &b| {
            let (a, b) = (skews[a], skews[b]);
            count(a).cmp(&count(b)).then(b.total_cmp(&a))
        });
        let end = end.unwrap_or(0);
        let heads = Heads {
            count: period as u32,
            track_skew_ns: skews[(end + 1) % period],
            cylinder_skew_ns: skews[end],
            cylinder: track.next + end as u64 * track.per_track,
            certain: true,
        };
        return Ok((track, heads));
    }
    let heads = Heads {
        count: 1,
        track_skew_ns: skews[0],
        cylinder_skew_ns: skews[0],
        cylinder: track.next,
        certain: false,
    };
    Ok((track, heads))
}
