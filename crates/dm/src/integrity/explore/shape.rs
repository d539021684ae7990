//! What a device is made of, and in which state it is at first.

use block::Access;
use block::sim::{Disk, Faults, Image, Random};

use super::fault::SeededFault;
use crate::explore::{SECTOR, encode};
use crate::integrity::config::Limits;
use crate::integrity::journal::{Round, section};
use crate::integrity::sums::tag;
use crate::integrity::{Discards, IntegrityConfig, Mode, Places, Superblock};

/// Where a request of the metadata is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Superblock,
    /// The journal, or the bitmap.
    Area,
    Checksums,
}

impl Place {
    pub(super) fn of(places: &Places, start: u64) -> Self {
        if start < Superblock::LEN as u64 {
            Self::Superblock
        } else if start < places.tags_start() {
            Self::Area
        } else {
            Self::Checksums
        }
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) mode: Mode,
    pub(super) block: u32,
    pub(super) sectors: u64,
    pub(super) places: Places,
    pub(super) limits: Limits,
    pub(super) fault: Option<SeededFault>,
    superblock: Superblock,
    is_new: bool,
}

impl Shape {
    pub(super) fn chosen(fault: Option<SeededFault>, random: &mut Random) -> Self {
        let either = [Mode::Journal, Mode::Bitmap][random.index(2)];
        let mode = fault.and_then(SeededFault::mode).unwrap_or(either);
        let log2_block = random.below(2) as u8;
        // Few devices hold more than a section does.
        let blocks = match random.below(12) {
            0 => 200 + random.below(100),
            _ => 16 + random.below(40),
        };
        let sectors = blocks << log2_block;
        let is_computed = random.chance(1, 2);
        let computed = if is_computed { sectors } else { 0 };
        let superblock = Superblock {
            version: 2,
            journal_sections: 1 + random.below(4) as u32,
            provided_sectors: sectors,
            log2_block,
            log2_bit: 2 + random.below(3) as u8,
            recalculated: (random.chance(3, 4) || !is_computed).then_some(computed),
            has_bitmap: mode == Mode::Bitmap && random.chance(1, 2),
            has_padding: false,
        };
        let data = sectors * SECTOR;
        let metadata = metadata_len(&superblock, data);
        let places = Places::new(&superblock, data, metadata).expect("it fits");
        Self {
            mode,
            block: SECTOR as u32 * (1 << log2_block),
            sectors,
            places,
            limits: Limits {
                sections: 1 + random.below(3),
                batch: SECTOR << random.below(6),
                piece: SECTOR << (1 + random.below(5)),
                note: SECTOR << random.below(8),
            },
            fault,
            superblock,
            is_new: random.chance(1, 6),
        }
    }

    /// What the disks hold at first: data, and metadata.
    pub(super) fn images(&self) -> Vec<Image> {
        let mut data = Image::new(self.sectors * SECTOR);
        for sector in 0..self.sectors {
            data.write(sector * SECTOR, &encode(sector as usize, 0));
        }
        let len = metadata_len(&self.superblock, self.sectors * SECTOR);
        let mut metadata = Image::new(len);
        if self.is_new {
            return vec![data, metadata];
        }
        metadata.write(0, &self.superblock.encode());
        let places = &self.places;
        if !self.superblock.has_bitmap {
            for number in 0..places.sections {
                let empty = section(places, (number, Round::FIRST), &[]);
                metadata.write(places.section_start(number), &empty);
            }
        }
        if self.superblock.recalculated != Some(0) {
            for block in 0..places.blocks() {
                let range = block::Range::new(block * places.block, places.block);
                let tag = tag(places.sector_of(block), &data.bytes(range));
                metadata.write(places.tags_of(block, 1).start(), &tag);
            }
        }
        vec![data, metadata]
    }

    pub(super) fn disk(image: Image, random: &mut Random) -> Disk {
        Disk::new("disk", image, 512, Faults::default(), random.number())
    }

    pub(super) fn config(&self, access: Access) -> IntegrityConfig {
        IntegrityConfig {
            name: "image".into(),
            access,
            mode: self.mode,
            block: self.block,
            discards: Discards::Refused,
            journal_sectors: None,
        }
    }
}

fn metadata_len(superblock: &Superblock, data: u64) -> u64 {
    let places = Places::new(superblock, data, u64::MAX).expect("there is room");
    let tags = places.tags_of(0, places.blocks());
    tags.end().next_multiple_of(4096)
}
