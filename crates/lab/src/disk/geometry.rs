//! Geometry: which sector of which track holds a block, and at which angle it lies.
//!
//! A disk is cut into zones of cylinders with the same number of sectors per track. Within a zone
//! the sectors are counted track by track, head after head, cylinder after cylinder: the *slot*.
//! Not every slot holds a block: spares, sectors that were slipped at the factory and empty space
//! do not, and remapped ones hold theirs elsewhere. What is left is a list of extents, runs of
//! blocks in consecutive slots, and all sparing schemes are only different ways to make that list:
//!
//! ```text
//!   slot    0    1    2    3    4    5    6    7 ...
//!         | b0 | b1 | slip | b2 | b3 | spare | b4 | ...
//!   extents: (block 0, slot 0, 2) (block 2, slot 3, 2) (block 4, slot 6, ..)
//! ```
//!
//! The first sector of each track is turned against the one before by the track skew, or by the
//! cylinder skew where the arm moves, so that a sequential transfer finds it after the switch.
//! Skews may be fractions of a sector and are kept in thousandths.
//!
//! A block is found by bisection over the extents, O(log extents); drives have a few thousand.

use super::rotation::{Angle, CIRCLE};

mod layout;

pub use layout::{Layout, Serpentine, Sparing, Zone};

/// Blocks in consecutive slots of one zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    /// First block.
    block: u64,
    /// First slot within the zone.
    slot: u64,
    count: u64,
    zone: u32,
}

/// The map of a disk, made from its [`Layout`].
#[derive(Debug, Clone)]
pub struct Geometry {
    heads: u32,
    cylinders: u32,
    blocks: u64,
    zones: Vec<Zone>,
    serpentine: Serpentine,
    /// Slips push the angle of what follows only under some sparing schemes.
    slip_shift: SlipShift,
    /// In the order of blocks.
    extents: Vec<Extent>,
    /// Indices of `extents` in the order of zone and slot; only remapped sectors differ.
    by_slot: Vec<u32>,
}

/// Which earlier slips turn the first sector of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlipShift {
    None,
    /// Those on earlier cylinders of the zone.
    Cylinder,
    /// Those on earlier tracks of the zone.
    Track,
}

/// Where a block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Cylinder, from the outer edge.
    pub cylinder: u32,
    /// Head.
    pub head: u32,
    /// Sector of the track, counted from its first one.
    pub sector: u32,
    /// Sectors of the track.
    pub per_track: u32,
    /// The angle at which the sector begins.
    pub angle: Angle,
    /// Blocks that follow in consecutive sectors of this track, this one included.
    pub run: u32,
}

impl Geometry {
    /// Blocks of 512 bytes that the disk offers.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Cylinders.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Heads, which is recording surfaces.
    pub fn heads(&self) -> u32 {
        self.heads
    }

    /// The zones, from the outer edge.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Where `block` lies.
    ///
    /// # Panics
    ///
    /// If `block` is past the end.
    pub fn locate(&self, block: u64) -> Place {
        assert!(block < self.blocks, "a block of the disk");
        let index = self.extents.partition_point(|extent| extent.block <= block) - 1;
        let extent = &self.extents[index];
        let zone = &self.zones[extent.zone as usize];
        let inside = block - extent.block;
        let slot = extent.slot + inside;
        let per_track = u64::from(zone.per_track);
        let (track, sector) = (slot / per_track, slot % per_track);
        let heads = u64::from(self.heads);
        let (cylinder, order) = (track / heads, track % heads);
        Place {
            cylinder: zone.first_cylinder + cylinder as u32,
            head: self.head_of(zone, cylinder as u32, order as u32),
            sector: sector as u32,
            per_track: zone.per_track,
            angle: self
                .track_angle(zone, cylinder, order)
                .plus(sector_angle(sector, per_track)),
            run: (per_track - sector).min(extent.count - inside) as u32,
        }
    }

    /// The block in a sector, or none if it holds none: the inverse of [`Geometry::locate`].
    pub fn block_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let index = self
            .zones
            .partition_point(|zone| zone.first_cylinder <= cylinder);
        let number = index.checked_sub(1)?;
        let zone = &self.zones[number];
        if cylinder > zone.last_cylinder || head >= self.heads || sector >= zone.per_track {
            return None;
        }
        let inside = cylinder - zone.first_cylinder;
        let order = self.head_of(zone, inside, head);
        let track = u64::from(inside) * u64::from(self.heads) + u64::from(order);
        let slot = track * u64::from(zone.per_track) + u64::from(sector);
        let key = (number as u32, slot);
        let found = self.by_slot.partition_point(|&at| {
            let extent = &self.extents[at as usize];
            (extent.zone, extent.slot) <= key
        });
        let extent = &self.extents[self.by_slot[found.checked_sub(1)?] as usize];
        let inside = slot - extent.slot.min(slot);
        (extent.zone == key.0 && inside < extent.count).then_some(extent.block + inside)
    }

    /// The first block of the track of `block`, and the first one after it, on which blocks run on
    /// without a remapped one between.
    pub fn track_of(&self, block: u64) -> (u64, u64) {
        let index = self.extents.partition_point(|extent| extent.block <= block) - 1;
        let extent = &self.extents[index];
        let per_track = u64::from(self.zones[extent.zone as usize].per_track);
        let slot = extent.slot + (block - extent.block);
        let low = slot - slot % per_track;
        let high = low + per_track;
        let (mut first, mut end) = (index, index);
        while first > 0 && self.continues(first - 1, low) {
            first -= 1;
        }
        while end + 1 < self.extents.len() && self.starts_before(end + 1, extent.zone, low, high) {
            end += 1;
        }
        let (head, tail) = (&self.extents[first], &self.extents[end]);
        (
            head.block + low.saturating_sub(head.slot),
            tail.block + tail.count.min(high - tail.slot),
        )
    }

    /// Whether extent `index` and the one after it both have slots from `low` on, in one zone.
    fn continues(&self, index: usize, low: u64) -> bool {
        let (this, next) = (&self.extents[index], &self.extents[index + 1]);
        this.zone == next.zone && this.slot < next.slot && this.slot + this.count > low
    }

    fn starts_before(&self, index: usize, zone: u32, low: u64, high: u64) -> bool {
        let extent = &self.extents[index];
        extent.zone == zone && (low..high).contains(&extent.slot)
    }

    /// The head of the `order`-th track of a cylinder, and the other way round.
    fn head_of(&self, zone: &Zone, inside: u32, order: u32) -> u32 {
        let number = match self.serpentine {
            Serpentine::No => 0,
            Serpentine::WithinZone => inside,
            Serpentine::WholeDisk => inside + zone.first_cylinder,
        };
        if number % 2 == 1 {
            self.heads - 1 - order
        } else {
            order
        }
    }

    /// Where the first sector of a track begins.
    fn track_angle(&self, zone: &Zone, cylinder: u64, order: u64) -> Angle {
        let switches = order + u64::from(self.heads - 1) * cylinder;
        let per_track = u64::from(zone.per_track);
        let cutoff = match self.slip_shift {
            SlipShift::None => 0,
            SlipShift::Cylinder => cylinder * u64::from(self.heads) * per_track,
            SlipShift::Track => (cylinder * u64::from(self.heads) + order) * per_track,
        };
        let slips = zone.slips.partition_point(|&slip| slip < cutoff) as u64;
        let thousandths = zone.first_angle_millisectors
            + switches * zone.track_skew_millisectors
            + cylinder * zone.cylinder_skew_millisectors
            + slips * 1000;
        sector_angle(thousandths % (per_track * 1000), per_track * 1000)
    }

    /// What must always hold: every block is found in exactly one slot, in order, and back.
    pub fn check(&self) {
        let mut next = 0;
        for extent in &self.extents {
            assert_eq!(extent.block, next, "extents follow each other");
            assert!(extent.count > 0, "no extent is empty");
            let zone = &self.zones[extent.zone as usize];
            assert!(
                extent.slot + extent.count <= zone.slots(self.heads),
                "slots exist"
            );
            next += extent.count;
        }
        assert_eq!(next, self.blocks, "every block has a slot");
        for pair in self.by_slot.windows(2) {
            let (this, next) = (
                &self.extents[pair[0] as usize],
                &self.extents[pair[1] as usize],
            );
            assert!(
                (this.zone, this.slot + this.count) <= (next.zone, next.slot),
                "no slot holds two blocks"
            );
        }
    }
}

/// The angle of `sector` sectors of a track that has `per_track`.
fn sector_angle(sector: u64, per_track: u64) -> Angle {
    Angle::new(sector * CIRCLE / per_track)
}

#[cfg(test)]
mod tests;
