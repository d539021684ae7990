//! A new array: what is written to each of its devices.
//!
//! ```text
//!   1.1    superblock · bitmap · … 1 MiB   data                      1.2   the same, 4 KiB later
//!   1.0    data   bitmap (64 KiB) · superblock                   0.90  data   superblock · bitmap
//! ```
//!
//! Places and sizes are such that mdadm and the kernel take them for their own. Nothing is written
//! where data are: copies and parity of what is there go together only where somebody says so
//! ([`FirstSync::Assumed`]); else the array is one that was never in sync, with all regions marked,
//! and whoever writes it first brings it in sync.
//!
//! Does not: journals, logs of partial parity, lists of bad blocks.

use super::claim::{LEVEL_LINEAR, LEVEL_STRIPED, Shape};
use super::fields::ByteOrder;
use super::kept::KeptSuperblock;
use super::places::Place;
use super::superblock1::{Feature, Features, ROLE_SPARE, Superblock1};
use super::superblock090::{Descriptor, STATE_BITMAP, STATE_CLEAN, Superblock090};
use crate::raid::bitmap::{Bitmap, Dirty, START, len_for};
use crate::raid::config::FirstSync;
use crate::raid::geometry::Geometry;
use crate::{Error, Kind, Result};

const SECTOR: u64 = 512;
/// Where data begin behind a superblock at the beginning.
const DATA_AT: u64 = 1 << 20;
/// What is kept for a bitmap in front of a superblock at the end.
const BITMAP_ROOM: u64 = 64 << 10;
/// Legs end on a multiple of this, whatever disks there are.
const UNIT: u64 = 4096;
/// Regions that a bitmap has where nobody says how large one is: a mark is a bit, and what is
/// brought in sync after a cut is a thousandth of the array for each of them.
const REGIONS: u64 = 1024;
const REGION_MIN: u64 = 1 << 20;
const REGION_MAX: u64 = 64 << 20;

/// An array to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArray {
    /// Where superblocks are, and so which format they have.
    pub place: Place,
    /// Which array it is.
    pub uuid: [u8; 16],
    /// What it is called; the old format has no names.
    pub name: String,
    /// When it is made, in seconds since 1970.
    pub created: u64,
    /// How it is laid out.
    pub shape: Shape,
    /// The first devices are legs, so many; others are spares.
    pub legs: usize,
    /// Whether its legs go together.
    pub first: FirstSync,
    /// Whether it has a bitmap.
    pub bitmap: NewBitmap,
}

/// The bitmap of an array to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewBitmap {
    /// There is none.
    None,
    /// One whose regions have so many bytes, or as many as suit.
    Internal(Option<u64>),
}

/// An array that can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formatted {
    /// What each device gets, and from which byte on; superblocks are last.
    pub devices: Vec<Vec<(u64, Vec<u8>)>>,
    /// Bytes of the array.
    pub size: u64,
    /// Bytes of a region of the bitmap.
    pub region: Option<u64>,
}

/// Where things are on a device.
struct Room {
    data: u64,
    len: u64,
    bitmap: u64,
    bitmap_len: u64,
}

impl NewArray {
    /// What is to be written to devices of these sizes; `identity` makes an identity for one.
    ///
    /// # Errors
    ///
    /// There can be no such array on them: why.
    pub fn format(
        &self,
        devices: &[u64],
        mut identity: impl FnMut() -> [u8; 16],
    ) -> Result<Formatted> {
        let has_legs_alike = !matches!(self.shape.level, LEVEL_LINEAR | LEVEL_STRIPED);
        self.require_sense(devices, has_legs_alike)?;
        let rooms = devices.iter().map(|device| self.room(*device));
        let rooms: Vec<Room> = rooms.collect::<Result<_>>()?;
        let unit = self.shape.chunk.max(UNIT);
        let lens = rooms.iter().map(|room| room.len);
        let leg = lens.clone().min().unwrap_or_default();
        let leg = leg - leg % unit;
        if leg == 0 {
            return Err(refused("its devices have no room for a chunk of data"));
        }
        let whole = lens.map(|len| len - len % unit);
        let has_order = self.place != Place::EndOld && self.shape.layout.is_some();
        if self.shape.level == LEVEL_STRIPED && !has_order && !whole.clone().all(|len| len == leg) {
            return Err(refused(
                "stripes over legs of several sizes have an order that only the formats 1.0, 1.1 \
                 and 1.2 write down",
            ));
        }
        let (mut bitmap, mut size) = (None, whole.sum());
        if has_legs_alike {
            let scheme = self.shape.scheme()?;
            let geometry = Geometry::new(scheme, self.legs, self.shape.chunk, leg)?;
            size = geometry.size();
            bitmap = self.new_bitmap(geometry.sync_size(), &rooms)?;
        }
        let mut all = Vec::new();
        for (number, (device, room)) in devices.iter().zip(&rooms).enumerate() {
            let superblock = if self.place == Place::EndOld {
                self.of_format_0(number, devices.len(), leg)
            } else {
                let used = if has_legs_alike { leg } else { 0 };
                self.of_format_1(number, (*device, room), used, identity())
            };
            let at = self.place.offset(*device).expect("there is room");
            let decoded = KeptSuperblock::decode(&superblock, self.place, *device)?;
            assert!(decoded.is_some(), "what is written is read");
            let mut writes = Vec::new();
            writes.extend(bitmap.iter().map(|bitmap| (room.bitmap, bitmap.encode())));
            writes.push((at, superblock));
            all.push(writes);
        }
        Ok(Formatted {
            devices: all,
            size,
            region: bitmap.map(|bitmap| bitmap.dirty.region()),
        })
    }

    fn require_sense(&self, devices: &[u64], has_legs_alike: bool) -> Result<()> {
        let (count, level) = (devices.len(), self.shape.level);
        if self.legs == 0 || count < self.legs {
            let legs = self.legs;
            return Err(refused(&format!("{count} devices, for {legs} legs")));
        }
        if !has_legs_alike && count > self.legs {
            return Err(refused(
                "stripes, and legs that follow one another, have no use for spares",
            ));
        }
        if !has_legs_alike && self.bitmap != NewBitmap::None {
            return Err(refused(
                "a bitmap says what copies and parity lack; this level has neither",
            ));
        }
        if level == LEVEL_LINEAR && self.shape.chunk != 0 && self.place != Place::EndOld {
            return Err(refused("legs that follow one another have no chunks"));
        }
        let has_chunks = !matches!(level, 1 | LEVEL_LINEAR);
        let is_chunk = self.shape.chunk.is_power_of_two() && self.shape.chunk >= UNIT;
        if has_chunks && !is_chunk {
            let chunk = self.shape.chunk;
            return Err(refused(&format!(
                "chunks of {chunk} bytes; they are powers of two, of {UNIT} at least"
            )));
        }
        if self.name.len() > 32 {
            return Err(refused("a name has 32 bytes at most"));
        }
        let old_max = Superblock090::DESCRIPTORS;
        if self.place == Place::EndOld && count > old_max {
            let what = format!("{count} devices; the format 0.90 tells {old_max} apart");
            return Err(refused(&what));
        }
        if self.place == Place::EndOld && devices.iter().any(|device| device / 1024 > 1 << 31) {
            return Err(refused("a leg of the format 0.90 has 2 TiB at most"));
        }
        Ok(())
    }

    /// Where things are on a device of so many bytes.
    fn room(&self, device: u64) -> Result<Room> {
        let small = || refused(&format!("a device of {device} bytes is too small"));
        let at = self.place.offset(device).ok_or_else(small)?;
        let has_bitmap = self.bitmap != NewBitmap::None;
        let room = match self.place {
            Place::Start | Place::SecondBlock => Room {
                data: DATA_AT,
                len: device.saturating_sub(DATA_AT),
                bitmap: at + START,
                bitmap_len: DATA_AT - at - START,
            },
            Place::End => {
                let bitmap_len = if has_bitmap { BITMAP_ROOM } else { 0 };
                let end = at.checked_sub(bitmap_len).ok_or_else(small)?;
                Room {
                    data: 0,
                    len: end,
                    bitmap: end,
                    bitmap_len,
                }
            }
            Place::EndOld => Room {
                data: 0,
                len: at,
                bitmap: at + Superblock090::LEN as u64,
                bitmap_len: (64 << 10) - Superblock090::LEN as u64,
            },
        };
        if room.len < UNIT.max(self.shape.chunk) {
            return Err(small());
        }
        let len = room.len - room.len % UNIT;
        Ok(Room { len, ..room })
    }

    fn new_bitmap(&self, sync_size: u64, rooms: &[Room]) -> Result<Option<Bitmap>> {
        let NewBitmap::Internal(said) = self.bitmap else {
            return Ok(None);
        };
        let room = rooms.iter().map(|room| room.bitmap_len).min();
        let room = room.expect("an array has devices");
        let suits = (sync_size / REGIONS).next_power_of_two();
        let mut region = said.unwrap_or_else(|| suits.clamp(REGION_MIN, REGION_MAX));
        if !region.is_power_of_two() || !(UNIT..=1 << 31).contains(&region) {
            return Err(refused(&format!(
                "regions of {region} bytes; they are powers of two, of {UNIT} at least"
            )));
        }
        while said.is_none() && len_for(sync_size.div_ceil(region)) > room {
            region *= 2;
        }
        if len_for(sync_size.div_ceil(region)) > room {
            return Err(refused(&format!(
                "a bitmap with regions of {region} bytes does not fit into {room} bytes"
            )));
        }
        let dirty = match self.first {
            FirstSync::Due => Dirty::full(region, sync_size)?,
            FirstSync::Assumed => Dirty::clean(region, sync_size)?,
        };
        Ok(Some(Bitmap {
            uuid: self.uuid,
            sectors_reserved: (room / SECTOR) as u32,
            ..Bitmap::new(sync_size, EVENTS, dirty)
        }))
    }

    fn of_format_1(
        &self,
        number: usize,
        (device, room): (u64, &Room),
        used: u64,
        identity: [u8; 16],
    ) -> Vec<u8> {
        let at = self.place.offset(device).expect("there is room");
        let mut features = Features::default();
        let mut bitmap_offset = 0;
        if self.bitmap != NewBitmap::None {
            features = features.with(Feature::Bitmap);
            let distance = room.bitmap.cast_signed() - at.cast_signed();
            bitmap_offset = (distance / SECTOR.cast_signed()) as i32;
        }
        if self.shape.level == LEVEL_STRIPED && self.shape.layout.is_some() {
            features = features.with(Feature::StripedLayout);
        }
        let mut name = [0; 32];
        name[..self.name.len()].copy_from_slice(self.name.as_bytes());
        let role = |number: usize| {
            if number < self.legs {
                number as u16
            } else {
                ROLE_SPARE
            }
        };
        let numbers = 0..self.legs.max(number + 1);
        Superblock1 {
            place: self.place,
            features,
            uuid: self.uuid,
            name,
            created: self.created,
            level: self.shape.level,
            layout: self.shape.layout.unwrap_or_default(),
            size: used / SECTOR,
            chunk_sectors: (self.shape.chunk / SECTOR) as u32,
            device_count: self.legs as u32,
            bitmap_offset,
            new_level: 0,
            reshape_position: 0,
            delta_disks: 0,
            new_layout: 0,
            new_chunk_sectors: 0,
            new_offset: 0,
            data_offset: room.data / SECTOR,
            data_size: room.len / SECTOR,
            super_offset: at / SECTOR,
            recovery_offset: 0,
            number: number as u32,
            corrected_reads: 0,
            device_uuid: identity,
            flags: 0,
            bad_blocks_shift: 0,
            bad_blocks_sectors: 0,
            bad_blocks_offset: 0,
            updated: self.created,
            events: EVENTS,
            resync_offset: match self.first {
                FirstSync::Assumed => u64::MAX,
                FirstSync::Due => 0,
            },
            logical_block: 0,
            roles: numbers.map(role).collect(),
        }
        .encode()
    }

    fn of_format_0(&self, number: usize, count: usize, leg: u64) -> Vec<u8> {
        let mut uuid = [0; 4];
        for (word, bytes) in uuid.iter_mut().zip(self.uuid.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut descriptors = [Descriptor::default(); Superblock090::DESCRIPTORS];
        for (number, descriptor) in descriptors.iter_mut().enumerate().take(count) {
            let is_leg = number < self.legs;
            *descriptor = Descriptor {
                number: number as u32,
                leg: number as u32,
                state: if is_leg {
                    Descriptor::ACTIVE | Descriptor::SYNC
                } else {
                    0
                },
                ..Descriptor::default()
            };
        }
        let is_clean = self.first == FirstSync::Assumed;
        let (legs, spares) = (self.legs as u32, (count - self.legs) as u32);
        let mut state = 0;
        if is_clean {
            state |= STATE_CLEAN;
        }
        if self.bitmap != NewBitmap::None {
            state |= STATE_BITMAP;
        }
        Superblock090 {
            order: ByteOrder::Little,
            minor_version: 90,
            patch_version: 0,
            uuid,
            created: self.created as u32,
            level: self.shape.level,
            size_kib: (leg / 1024) as u32,
            nr_disks: legs + spares,
            device_count: legs,
            md_minor: 0,
            updated: self.created as u32,
            state,
            counts: [legs, legs + spares, 0, spares],
            events: EVENTS,
            checkpoint_events: EVENTS,
            checkpoint: if is_clean { u32::MAX } else { 0 },
            reshape_position: 0,
            new_level: 0,
            delta_disks: 0,
            new_layout: 0,
            new_chunk: 0,
            layout: self.shape.layout.unwrap_or_default(),
            chunk: self.shape.chunk as u32,
            descriptors,
            this: descriptors[number],
        }
        .encode()
    }
}

/// Events of a new array: none would be one that nobody knows anything of.
const EVENTS: u64 = 1;

fn refused(why: &str) -> Error {
    Error::new(
        Kind::InvalidLayout,
        format!("there can be no such array: {why}"),
    )
}

#[cfg(test)]
mod tests;
