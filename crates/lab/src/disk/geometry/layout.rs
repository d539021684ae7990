//! From zones, spares, slips and remapped sectors to the list of extents.
//!
//! A sparing scheme cuts a zone into ranges (a track, a cylinder, some cylinders, the whole zone)
//! and keeps a few sectors free in each. A slip is a bad sector that was skipped when the blocks
//! were numbered, so that all later ones of its range move on by one; a remapped sector was found
//! bad later, and its block moved to a spare. The numbering of all schemes is the same walk: over
//! the usable slots of each range, as many as the range has blocks. In schemes that slip to the
//! end of the zone the range has as many blocks as it has usable slots.
//!
//! The schemes and the meaning of their numbers follow the parameter files that `DiskSim` 4
//! documents, so that drives measured for it can be read.

use std::collections::HashMap;
use std::ops::Range;

use super::{Extent, Geometry, SlipShift};
use crate::error::{Error, Kind, Result};

/// Extents that a map may have; drives have thousands, per-track sparing has one for each track.
const EXTENTS_MAX: usize = 8 << 20;

/// Sectors per track, heads and cylinders that a profile may claim.
const PER_TRACK_MAX: u32 = 100_000;
const HEADS_MAX: u32 = 256;
const CYLINDERS_MAX: u32 = 4_000_000;

/// Where the spares of a zone are, and what a slip moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sparing {
    /// No spares; slips are ignored.
    #[default]
    None,
    /// `spares` tracks at the end of the zone; slips and remaps name tracks.
    Tracks,
    /// `spares` sectors at the end of each cylinder.
    SectorsPerCylinder,
    /// `spares` sectors at the end of each track.
    SectorsPerTrack,
    /// `spares` sectors at the end of each cylinder; slips move all that follows in the zone.
    SectorsPerCylinderSlipToEnd,
    /// `spares` sectors at the begin of each cylinder.
    SectorsAtFront,
    /// `spares` sectors at the begin of each cylinder; slips move all that follows in the zone.
    SectorsAtFrontSlipToEnd,
    /// No spares but the end of the zone, into which slips push.
    SectorsAtEnd,
    /// `spares` sectors at the end of each range of so many cylinders.
    SectorsPerRange {
        /// Cylinders of a range.
        cylinders: u32,
    },
    /// `spares` sectors at the end of the zone.
    SectorsPerZone,
    /// `spares` sectors at the end of the zone that slips do not use up.
    SectorsPerZoneSlipToEnd,
}

/// In which cylinders the heads are used in the opposite order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Serpentine {
    /// Always from head 0 on.
    #[default]
    No,
    /// Reversed in every second cylinder, counted from the begin of the zone.
    WithinZone,
    /// Reversed in every second cylinder, counted from the outer edge.
    WholeDisk,
}

/// Cylinders with the same number of sectors per track.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Zone {
    /// First cylinder.
    pub first_cylinder: u32,
    /// Last cylinder, included.
    pub last_cylinder: u32,
    /// Sectors per track.
    pub per_track: u32,
    /// Where the zone's first sector begins, in thousandths of a sector from angle 0.
    pub first_angle_millisectors: u64,
    /// Blocks' worth of usable sectors at the begin of the zone that hold none.
    pub empty_front: u64,
    /// By how much a track begins after the one before on the cylinder, in thousandths of a sector.
    pub track_skew_millisectors: u64,
    /// By how much a cylinder begins after the last track of the one before.
    pub cylinder_skew_millisectors: u64,
    /// Spares, in the unit and per range of the sparing scheme.
    pub spares: u64,
    /// Slots (or tracks) of the zone that were slipped, ascending.
    pub slips: Vec<u64>,
    /// Slots (or tracks) that went bad later, and where their content is now.
    pub remapped: Vec<(u64, u64)>,
}

/// All that says where blocks are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// Recording surfaces.
    pub heads: u32,
    /// Cylinders of the disk.
    pub cylinders: u32,
    /// The zones, from the outer edge, without overlap.
    pub zones: Vec<Zone>,
    /// The sparing scheme of all zones.
    pub sparing: Sparing,
    /// The order of the heads.
    pub serpentine: Serpentine,
}

impl Zone {
    /// Sectors of the zone, spares and all.
    pub fn slots(&self, heads: u32) -> u64 {
        self.tracks(heads) * u64::from(self.per_track)
    }

    fn tracks(&self, heads: u32) -> u64 {
        u64::from(self.last_cylinder - self.first_cylinder + 1) * u64::from(heads)
    }
}

impl Layout {
    /// The map of this layout; fails if no disk can be laid out so.
    pub fn build(mut self) -> Result<Geometry> {
        self.validate()?;
        let mut extents = Vec::new();
        let mut block = 0;
        for number in 0..self.zones.len() {
            self.zones[number].slips.sort_unstable();
            self.zones[number].slips.dedup();
            block = self.lay_out(number, block, &mut extents)?;
        }
        if block == 0 {
            return Err(impossible("the disk has no block"));
        }
        let mut by_slot: Vec<u32> = (0..extents.len() as u32).collect();
        by_slot.sort_unstable_by_key(|&at| {
            let extent: &Extent = &extents[at as usize];
            (extent.zone, extent.slot)
        });
        let geometry = Geometry {
            heads: self.heads,
            cylinders: self.cylinders,
            blocks: block,
            zones: self.zones,
            serpentine: self.serpentine,
            slip_shift: shift_of(self.sparing),
            extents,
            by_slot,
        };
        if cfg!(debug_assertions) {
            geometry.check();
        }
        Ok(geometry)
    }

    fn validate(&self) -> Result<()> {
        if !(1..=HEADS_MAX).contains(&self.heads) {
            return Err(impossible(format!(
                "{} heads, but 1 to {HEADS_MAX} exist",
                self.heads
            )));
        }
        if !(1..=CYLINDERS_MAX).contains(&self.cylinders) {
            return Err(impossible(format!(
                "{} cylinders, but 1 to {CYLINDERS_MAX} exist",
                self.cylinders
            )));
        }
        let mut next = 0;
        for (number, zone) in self.zones.iter().enumerate() {
            let ordered = zone.first_cylinder >= next && zone.first_cylinder <= zone.last_cylinder;
            if !ordered || zone.last_cylinder >= self.cylinders {
                return Err(impossible(format!(
                    "zone {number} has cylinders {} to {}, of {}, after cylinder {next}",
                    zone.first_cylinder, zone.last_cylinder, self.cylinders
                )));
            }
            if !(1..=PER_TRACK_MAX).contains(&zone.per_track) {
                return Err(impossible(format!(
                    "zone {number} has {} sectors per track, but 1 to {PER_TRACK_MAX} exist",
                    zone.per_track
                )));
            }
            let skews = [
                zone.first_angle_millisectors,
                zone.track_skew_millisectors,
                zone.cylinder_skew_millisectors,
            ];
            if skews
                .iter()
                .any(|&skew| skew > u64::from(PER_TRACK_MAX) * 1000)
            {
                return Err(impossible(format!(
                    "zone {number} is skewed by over {PER_TRACK_MAX} sectors"
                )));
            }
            next = zone.last_cylinder + 1;
        }
        Ok(())
    }

    /// Adds the extents of a zone whose first block is `block`; the first block after it. A zone
    /// whose slips outnumber the spares of its last range has fewer blocks than its spares leave.
    fn lay_out(&self, number: usize, block: u64, extents: &mut Vec<Extent>) -> Result<u64> {
        let zone = &self.zones[number];
        let slots = zone.slots(self.heads);
        let mut walk = Walk {
            zone: number as u32,
            skip: zone.empty_front,
            left: u64::MAX,
            block,
            moved: self.moved(zone),
            extents,
        };
        let by_track = matches!(self.sparing, Sparing::Tracks);
        let unit = if by_track {
            u64::from(zone.per_track)
        } else {
            1
        };
        let slips: &[u64] = if self.sparing == Sparing::None {
            &[]
        } else {
            &zone.slips
        };
        let total = self.blocks_of(zone, slips.len() as u64).ok_or_else(|| {
            impossible(format!(
                "zone {number} has more spares and slips than sectors"
            ))
        })?;
        walk.left = total;
        for range in self.ranges(zone) {
            let mut usable = self.usable_in(zone, slots, &range);
            let first = slips.partition_point(|&slip| slip * unit < range.start);
            let mut from = range.start;
            for slip in &slips[first..] {
                let slip = slip * unit;
                if slip >= range.end {
                    break;
                }
                usable = walk.take(from..slip, usable);
                from = (slip + unit).max(from);
            }
            walk.take(from..range.end, usable);
            if walk.extents.len() > EXTENTS_MAX {
                return Err(impossible(format!(
                    "more than {EXTENTS_MAX} runs of blocks"
                )));
            }
        }
        Ok(walk.block)
    }

    /// Blocks of a zone.
    fn blocks_of(&self, zone: &Zone, slips: u64) -> Option<u64> {
        let cylinders = u64::from(zone.last_cylinder - zone.first_cylinder + 1);
        let taken = match self.sparing {
            Sparing::None => 0,
            Sparing::Tracks => zone.spares.checked_mul(u64::from(zone.per_track))?,
            Sparing::SectorsPerTrack => zone.spares.checked_mul(zone.tracks(self.heads))?,
            Sparing::SectorsPerCylinder | Sparing::SectorsAtFront => {
                zone.spares.checked_mul(cylinders)?
            }
            Sparing::SectorsPerCylinderSlipToEnd | Sparing::SectorsAtFrontSlipToEnd => {
                zone.spares.checked_mul(cylinders)?.checked_add(slips)?
            }
            Sparing::SectorsAtEnd => slips,
            Sparing::SectorsPerRange { cylinders: range } => zone
                .spares
                .checked_mul(cylinders / u64::from(range.max(1)))?,
            Sparing::SectorsPerZone => zone.spares,
            Sparing::SectorsPerZoneSlipToEnd => zone.spares.checked_add(slips)?,
        };
        zone.slots(self.heads)
            .checked_sub(zone.empty_front)?
            .checked_sub(taken)
    }

    /// The ranges of slots within which spares are kept.
    fn ranges(&self, zone: &Zone) -> impl Iterator<Item = Range<u64>> + use<> {
        let slots = zone.slots(self.heads);
        let track = u64::from(zone.per_track);
        let cylinder = track * u64::from(self.heads);
        // Spares that slips do not use up stay where they are, at one end of the range.
        let kept = zone.spares.min(cylinder);
        let (size, front, back) = match self.sparing {
            Sparing::SectorsPerTrack => (track, 0, 0),
            Sparing::SectorsPerCylinder => (cylinder, 0, 0),
            Sparing::SectorsPerCylinderSlipToEnd => (cylinder, 0, kept),
            Sparing::SectorsAtFront | Sparing::SectorsAtFrontSlipToEnd => (cylinder, kept, 0),
            Sparing::SectorsPerRange { cylinders } => {
                (cylinder * u64::from(cylinders.max(1)), 0, 0)
            }
            _ => (slots, 0, 0),
        };
        (0..slots.div_ceil(size)).map(move |index| {
            let start = index * size;
            start + front..slots.min(start + size) - back
        })
    }

    /// How many usable slots of a range hold blocks.
    fn usable_in(&self, zone: &Zone, slots: u64, range: &Range<u64>) -> u64 {
        let size = range.end - range.start;
        match self.sparing {
            Sparing::SectorsPerTrack | Sparing::SectorsPerCylinder => {
                size.saturating_sub(zone.spares)
            }
            Sparing::SectorsPerRange { .. } if range.end < slots => {
                size.saturating_sub(zone.spares)
            }
            _ => size,
        }
    }

    /// The remapped slots, and where each is.
    fn moved(&self, zone: &Zone) -> HashMap<u64, u64> {
        if self.sparing != Sparing::Tracks {
            return zone.remapped.iter().copied().collect();
        }
        let track = u64::from(zone.per_track);
        let sectors = |&(from, to): &(u64, u64)| {
            (0..track).map(move |sector| (from * track + sector, to * track + sector))
        };
        zone.remapped.iter().flat_map(sectors).collect()
    }
}

/// The walk over the usable slots of a zone.
struct Walk<'a> {
    zone: u32,
    /// Usable slots at the front that stay empty.
    skip: u64,
    /// Blocks that the zone still has to place.
    left: u64,
    block: u64,
    moved: HashMap<u64, u64>,
    extents: &'a mut Vec<Extent>,
}

impl Walk<'_> {
    /// Places blocks into at most `usable` of `slots`; how many of `usable` remain.
    fn take(&mut self, slots: Range<u64>, usable: u64) -> u64 {
        let count = slots.end.saturating_sub(slots.start).min(usable);
        let skipped = count.min(self.skip);
        self.skip -= skipped;
        let first = slots.start + skipped;
        let placed = (count - skipped).min(self.left);
        if self.moved.is_empty() {
            self.push(first, placed);
        } else {
            for slot in first..first + placed {
                let at = self.moved.get(&slot).copied().unwrap_or(slot);
                self.push(at, 1);
            }
        }
        self.left -= placed;
        usable - count
    }

    fn push(&mut self, slot: u64, count: u64) {
        if count == 0 {
            return;
        }
        match self.extents.last_mut() {
            Some(last) if last.zone == self.zone && last.slot + last.count == slot => {
                last.count += count;
            }
            _ => self.extents.push(Extent {
                block: self.block,
                slot,
                count,
                zone: self.zone,
            }),
        }
        self.block += count;
    }
}

fn shift_of(sparing: Sparing) -> SlipShift {
    match sparing {
        Sparing::SectorsPerCylinder
        | Sparing::SectorsPerCylinderSlipToEnd
        | Sparing::SectorsAtFront
        | Sparing::SectorsAtFrontSlipToEnd => SlipShift::Cylinder,
        Sparing::SectorsPerTrack => SlipShift::Track,
        _ => SlipShift::None,
    }
}

fn impossible(context: impl Into<String>) -> Error {
    Error::new(Kind::Impossible, context)
}
