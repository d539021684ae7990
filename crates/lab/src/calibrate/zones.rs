//! Zones: where tracks begin to have fewer sectors.

use super::probe::Probe;
use super::tracks;
use crate::error::Result;

/// Places at which the length of tracks is taken first.
const PLACES: u64 = 48;
/// Zones are told apart to this share of the disk.
const RESOLUTION: u64 = 8192;
/// Blocks at the end of the disk that are left alone.
const TAIL: u64 = 1 << 16;

/// Tracks of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneFit {
    /// The first block.
    pub start: u64,
    /// The block after the last.
    pub end: u64,
    /// Sectors of a track.
    pub per_track: u64,
}

/// The zones, from the first block on; `each` is told how far it came, of a thousand.
pub(super) fn learn(
    probe: &mut Probe,
    turn_ns: f64,
    each: &mut dyn FnMut(u64),
) -> Result<Vec<ZoneFit>> {
    let last = probe.blocks() - TAIL;
    let resolution = (probe.blocks() / RESOLUTION).max(2048);
    let mut known: Vec<(u64, u64)> = Vec::new();
    for index in 0..=PLACES {
        let place = last / PLACES * index;
        known.push((place, tracks::per_track(probe, turn_ns, place)?));
        each(index * 500 / PLACES);
    }
    let mut zones: Vec<ZoneFit> = Vec::new();
    let mut start = 0;
    for (index, pair) in (0..).zip(known.windows(2)) {
        // Borders between two places, nearest first.
        let mut left = vec![(pair[0], pair[1])];
        while let Some((low, high)) = left.pop() {
            if low.1 == high.1 {
                continue;
            }
            if high.0 - low.0 > resolution {
                let middle = low.0 + (high.0 - low.0) / 2;
                let middle = (middle, tracks::per_track(probe, turn_ns, middle)?);
                left.push((middle, high));
                left.push((low, middle));
                continue;
            }
            let end = low.0 + (high.0 - low.0) / 2;
            zones.push(ZoneFit {
                start,
                end,
                per_track: low.1,
            });
            start = end;
        }
        each(500 + (index + 1) * 500 / PLACES);
    }
    let inner = known.last().map_or(1, |place| place.1);
    zones.push(ZoneFit {
        start,
        end: probe.blocks(),
        per_track: inner,
    });
    Ok(zones)
}

/// Zones and heads together: which cylinder a block is on, and the other way round.
#[derive(Debug, Clone)]
pub(super) struct Cylinders {
    zones: Vec<(ZoneFit, u64)>,
    heads: u64,
    pub(super) count: u64,
}

impl Cylinders {
    pub(super) fn new(zones: &[ZoneFit], heads: u32) -> Self {
        let heads = u64::from(heads);
        let mut first = 0;
        let mut list = Vec::new();
        for zone in zones {
            list.push((*zone, first));
            let per_cylinder = zone.per_track * heads;
            first += (zone.end - zone.start + per_cylinder / 2) / per_cylinder;
        }
        Self {
            zones: list,
            heads,
            count: first.max(1),
        }
    }

    /// The cylinders of each zone: first and last.
    pub(super) fn of_zones(&self) -> Vec<(u64, u64)> {
        let ends = self
            .zones
            .iter()
            .skip(1)
            .map(|zone| zone.1)
            .chain([self.count]);
        self.zones
            .iter()
            .zip(ends)
            .map(|(zone, end)| (zone.1, end.max(zone.1 + 1) - 1))
            .collect()
    }

    pub(super) fn of_block(&self, block: u64) -> u64 {
        let index = self
            .zones
            .partition_point(|zone| zone.0.start <= block)
            .max(1)
            - 1;
        let (zone, first) = &self.zones[index];
        first + (block - zone.start) / (zone.per_track * self.heads)
    }

    /// A block in the middle of a cylinder.
    pub(super) fn block_of(&self, cylinder: u64) -> u64 {
        let index = self.zones.partition_point(|zone| zone.1 <= cylinder).max(1) - 1;
        let (zone, first) = &self.zones[index];
        zone.start + (cylinder - first) * zone.per_track * self.heads
    }

    /// The zone of a block.
    pub(super) fn zone_of(&self, block: u64) -> &ZoneFit {
        let index = self
            .zones
            .partition_point(|zone| zone.0.start <= block)
            .max(1)
            - 1;
        &self.zones[index].0
    }
}
