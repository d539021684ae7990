//! How the legs of a history keep what is said of their array: as device-mapper does, or as md.

use block::Range;
use block::sim::{Image, Random};

use super::shape::Shape;
use crate::explore::SECTOR;
use crate::raid::bitmap::{Bitmap, Dirty, START};
use crate::raid::keeping::{Activity, Keeping, Said};
use crate::raid::md::{
    ByteOrder, Descriptor, Features, Kept, KeptBitmap, KeptLeg, KeptSuperblock, Place, Superblock1,
    Superblock090,
};
use crate::raid::{Position, Scheme, Superblock};

/// Bytes of a disk of md's: superblocks and data lie within.
const DEVICE: u64 = 2 << 20;
const UUID: [u8; 16] = [7; 16];

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    Mapper,
    Md(Format, Marks),
}

/// The format of superblocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    New,
    Old,
}

/// Whether there is a bitmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    None,
    Kept,
}

impl Keeps {
    /// One of md's.
    pub(super) fn md(random: &mut Random) -> Self {
        let format = [Format::New, Format::Old][random.index(2)];
        Self::Md(format, [Marks::None, Marks::Kept][random.index(2)])
    }

    /// Whether a cut may leave a superblock that is none.
    pub(super) fn tears(self) -> bool {
        matches!(self, Self::Md(Format::Old, _))
    }

    /// How these disks keep it.
    pub(super) fn keeping(self, shape: &Shape, images: &[Image]) -> Keeping {
        let Self::Md(format, marks) = self else {
            return Keeping::Mapper;
        };
        let read = |leg: usize| {
            let bytes = images[2 * leg + 1].bytes(Range::new(0, START));
            let found = KeptSuperblock::decode(&bytes, format.place(), DEVICE);
            found.ok().flatten()
        };
        let legs: Vec<KeptSuperblock> = (0..shape.legs())
            .map(|leg| read(leg).unwrap_or_else(|| format.fresh(shape, leg)))
            .collect();
        let events = |leg: &&KeptSuperblock| leg.claim(DEVICE).events;
        let freshest = legs.iter().max_by_key(events).expect("it has legs").clone();
        let legs = legs.into_iter().map(|superblock| {
            Some(KeptLeg {
                device: DEVICE,
                superblock,
            })
        });
        Keeping::Md(Box::new(Kept {
            legs: legs.collect(),
            freshest,
            bitmap: (marks == Marks::Kept).then_some(KeptBitmap {
                daemon_sleep: 5,
                write_behind: 0,
                sectors_reserved: 0,
            }),
            opened: 1_700_000_000,
        }))
    }

    /// What legs keep of an array of md's that says this; `None`: it is not one.
    pub(super) fn image(
        self,
        shape: &Shape,
        (leg, superblock): (usize, &Superblock),
        (activity, dirty): (Activity, &Dirty),
    ) -> Option<Image> {
        let Self::Md(format, marks) = self else {
            return None;
        };
        let blank: Vec<Image> = (0..2 * shape.legs())
            .map(|_| Image::new(shape.meta_len()))
            .collect();
        let Keeping::Md(mut kept) = self.keeping(shape, &blank) else {
            unreachable!("it is md's");
        };
        for (number, leg) in kept.legs.iter_mut().flatten().enumerate() {
            leg.superblock = format.numbered(shape, number, number);
        }
        let said = Said {
            superblock,
            recovered: &vec![Position::End; shape.legs()],
            activity,
            now: std::time::Duration::ZERO,
        };
        let mut image = Image::new(shape.meta_len());
        image.write(0, &kept.superblock(leg, &said));
        if marks == Marks::Kept {
            let bitmap = Bitmap {
                events_cleared: superblock.events.saturating_sub(1),
                ..Bitmap::new(shape.sync_size(), superblock.events, dirty.clone())
            };
            image.write(START, &kept.bitmap(bitmap).encode());
        }
        Some(image)
    }
}

impl Format {
    fn place(self) -> Place {
        match self {
            Self::New => Place::SecondBlock,
            Self::Old => Place::EndOld,
        }
    }

    /// The superblock of a leg that is added: a leg of the old format that is filled is a spare.
    fn fresh(self, shape: &Shape, leg: usize) -> KeptSuperblock {
        let number = match self {
            Self::New => leg,
            Self::Old => shape.legs() + leg,
        };
        self.numbered(shape, leg, number)
    }

    fn numbered(self, shape: &Shape, leg: usize, number: usize) -> KeptSuperblock {
        let (level, layout) = shape.geometry.scheme().md();
        let chunk = match shape.geometry.scheme() {
            Scheme::Mirror => 0,
            _ => shape.geometry.chunk() as u32,
        };
        let (level, count) = (level.cast_signed(), shape.legs() as u32);
        match self {
            Self::New => KeptSuperblock::New(Box::new(Superblock1 {
                place: self.place(),
                features: Features::default(),
                uuid: UUID,
                name: [0; 32],
                created: 1,
                level,
                layout,
                size: shape.geometry.leg_size() / SECTOR,
                chunk_sectors: chunk / SECTOR as u32,
                device_count: count,
                bitmap_offset: 0,
                new_level: 0,
                reshape_position: 0,
                delta_disks: 0,
                new_layout: 0,
                new_chunk_sectors: 0,
                new_offset: 0,
                data_offset: 64,
                data_size: 1024,
                super_offset: 8,
                recovery_offset: 0,
                number: number as u32,
                corrected_reads: 0,
                device_uuid: [leg as u8; 16],
                flags: 0,
                bad_blocks_shift: 0,
                bad_blocks_sectors: 0,
                bad_blocks_offset: 0,
                updated: 1,
                events: 0,
                resync_offset: 0,
                logical_block: 0,
                roles: (0..count as u16).collect(),
            })),
            Self::Old => {
                let old = old(shape, (leg, number), (level, layout, chunk));
                KeptSuperblock::Old(Box::new(old))
            }
        }
    }
}

fn old(
    shape: &Shape,
    (leg, number): (usize, usize),
    (level, layout, chunk): (i32, u32, u32),
) -> Superblock090 {
    let is_leg = Descriptor::ACTIVE | Descriptor::SYNC;
    let descriptor = |number: u32, state: u32| Descriptor {
        number,
        major: 8,
        minor: 16 * number,
        leg: number,
        state,
    };
    let count = shape.legs() as u32;
    let mut descriptors = [Descriptor::default(); Superblock090::DESCRIPTORS];
    for (number, one) in descriptors.iter_mut().enumerate().take(shape.legs()) {
        *one = descriptor(number as u32, is_leg);
    }
    Superblock090 {
        order: ByteOrder::Little,
        minor_version: 90,
        patch_version: 3,
        uuid: [7; 4],
        created: 1,
        level,
        size_kib: (shape.geometry.leg_size() / 1024) as u32,
        nr_disks: count,
        device_count: count,
        md_minor: 0,
        updated: 1,
        state: 0,
        counts: [count, count, 0, 0],
        events: 0,
        checkpoint_events: 0,
        checkpoint: 0,
        reshape_position: 0,
        new_level: 0,
        delta_disks: 0,
        new_layout: 0,
        new_chunk: 0,
        layout,
        chunk,
        this: descriptor(number as u32, if number == leg { is_leg } else { 0 }),
        descriptors,
    }
}
