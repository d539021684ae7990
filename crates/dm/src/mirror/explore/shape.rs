//! What the mirror of one history is made of.
//!
//! Only [`SECTORS`] sectors of it are written and looked at. In a narrow mirror they are all there
//! are; in a wide one the second half of them lies behind so many regions that its bits are in
//! another block of the log. Everything that a mirror does in pieces has pieces of a sector or
//! two, so that there are always several.

use block::sim::{Discards, Random};
use block::{Info, Range};

use super::fault::SeededFault;
use crate::explore::SECTOR;
use crate::mirror::limits::Limits;
use crate::mirror::log_image::LogImage;
use crate::mirror::{LogPlace, Mirror, MirrorConfig, MirrorImage, Primary, Sync};

use super::world::Described;

/// Sectors that are looked at, and those of a region.
pub(super) const SECTORS: u64 = 16;
const REGION: u64 = 2;
/// Sectors that nobody looks at, in a wide mirror: a block of the log has the bits of them.
const GAP: u64 = SECTOR * 8 * REGION;
/// Legs have this number more in the record than their disk has.
const ID: u64 = 100;

/// What a mirror is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) legs: usize,
    pub(super) log: LogPlace,
    /// Sectors between the two halves of those that are looked at.
    gap: u64,
    pub(super) discards: Discards,
    pub(super) fault: Option<SeededFault>,
}

impl Shape {
    pub(super) fn chosen(random: &mut Random, fault: Option<SeededFault>) -> Self {
        let legs = if random.chance(1, 4) { 3 } else { 2 };
        let log = match random.below(8) {
            0 => LogPlace::Core,
            _ => LogPlace::Disk(legs),
        };
        let wide = log != LogPlace::Core && random.chance(1, 8);
        Self {
            legs,
            log,
            gap: if wide { GAP } else { 0 },
            discards: match random.below(4) {
                0 => Discards::Keep,
                _ => Discards::ReadZeroes,
            },
            fault,
        }
    }

    /// Bytes of each leg.
    pub(super) fn size(&self) -> u64 {
        self.size_of(SECTORS)
    }

    /// How many sectors that are looked at a mirror may have.
    pub(super) fn sectors(random: &mut Random) -> u64 {
        let half = SECTORS / 2;
        half + 1 + random.below(half)
    }

    /// Bytes of a mirror of which so many sectors are looked at.
    pub(super) fn size_of(&self, sectors: u64) -> u64 {
        assert!(sectors > SECTORS / 2, "both halves are there");
        (sectors + self.gap) * SECTOR
    }

    pub(super) fn regions(&self) -> u64 {
        (SECTORS + self.gap) / REGION
    }

    /// The region of one of the sectors that are looked at.
    pub(super) fn region_of(&self, sector: u64) -> u64 {
        self.sector(sector) / REGION
    }

    /// The regions that are looked at, once for each sector.
    pub(super) fn looked_at(&self) -> Vec<u64> {
        (0..SECTORS).map(|sector| self.region_of(sector)).collect()
    }

    /// Bytes of the log.
    pub(super) fn log_len(&self) -> u64 {
        LogImage::len_for(self.regions(), SECTOR as u32)
    }

    /// Where, in bytes, sectors are that are looked at: what of `range` lies in the half in which
    /// it begins.
    pub(super) fn place(&self, range: Range) -> Range {
        let start = self.sector(range.start() / SECTOR) * SECTOR;
        Range::new(start, range.len())
    }

    /// What of a range of sectors that are looked at is one range of the mirror.
    pub(super) fn clip(&self, range: Range) -> Range {
        let half = SECTORS / 2 * SECTOR;
        if self.gap == 0 || range.start() >= half || range.end() <= half {
            return range;
        }
        Range::new(range.start(), half - range.start())
    }

    fn sector(&self, sector: u64) -> u64 {
        if sector < SECTORS / 2 {
            sector
        } else {
            sector + self.gap
        }
    }

    /// The leg on a disk, as the log knows it, and back.
    pub(super) fn disk_of(id: u64) -> usize {
        (id - ID) as usize
    }

    /// What the mirror of these disks is made of, of which some may not be there.
    pub(super) fn config(&self, described: &Described, there: &[bool]) -> MirrorConfig {
        let leg = |disk: usize| MirrorImage {
            device: there[disk].then_some(disk),
            ..MirrorImage::missing(disk as u64 + ID)
        };
        let legs = described.order.iter().map(|disk| leg(*disk)).collect();
        let mut config =
            MirrorConfig::new("m", self.size_of(described.sectors), REGION * SECTOR, legs);
        config.log = self.log;
        (config.sync, config.primary) = if described.assumed {
            (Sync::Assumed, Primary::All)
        } else {
            (Sync::AsLogged, Primary::Image(0))
        };
        config
    }

    /// The mirror of these disks, of which some may not be there.
    pub(super) fn mirror(
        &self,
        described: &Described,
        there: &[bool],
        infos: &[Info],
    ) -> Result<Mirror, String> {
        let config = self.config(described, there);
        let mut mirror = Mirror::new(config, infos).map_err(|error| error.to_string())?;
        mirror.limits = Limits {
            copy_piece: SECTOR,
            zeroed_regions: 1,
            log_run: SECTOR as usize,
        };
        Ok(mirror)
    }
}
