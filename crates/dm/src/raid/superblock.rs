//! The superblock of an array that device-mapper runs: one on each metadata leg.
//!
//! It stands in the first sector of the leg, and says what the array is, which place the leg has in
//! it, and how far what is out of sync was brought back. All legs hold one; of those that differ
//! the one with the most events counts. A leg of zeros was never used.
//!
//! ```text
//!     0  magic "DmRd"        4  compatible features (bit 0: what is from byte 60 on counts)
//!     8  devices            12  position of this one
//!    16  events             24  failed devices, the first 64, a bit each
//!    32  recovery offset    40  resync offset        both in sectors; all ones: done
//!    48  level   52  layout   56  sectors of a chunk
//!    60  flags (1: it is reshaped, 2: from its end on)   64  reshape position
//!    72  new level   76  new layout   80  new sectors of a chunk   84  devices more or less
//!    88  sectors of the array   96  data offset   104  new data offset   112  sectors of a leg
//!   120  failed devices, the other 192              144  incompatible features
//!                                                                        all little-endian
//! ```
//!
//! Decoding refuses what no kernel writes or what ours would not understand; whether the values fit
//! an array that is described elsewhere is not asked here. Bits of `flags` without a meaning are
//! forgotten. The facts are those of `drivers/md/dm-raid.c`.

use super::geometry::{Geometry, Scheme};
use crate::{Error, Kind, Result};

const MAGIC: u32 = u32::from_le_bytes(*b"DmRd");
/// What is behind byte 60 counts.
const FEATURE_EXTENDED: u32 = 1;
const FLAG_RESHAPING: u32 = 1;
const FLAG_BACKWARDS: u32 = 2;
/// Devices of an array at most, for the kernel.
const DEVICES_MAX: u32 = 253;
/// The position of a device that has none.
const NO_POSITION: u32 = u32::MAX;
/// More often no superblock is written: there is room for the next ones.
const EVENTS_MAX: u64 = u64::MAX - (1 << 20);
/// Offsets and lengths of more sectors have no byte.
const SECTORS_MAX: u64 = u64::MAX / SECTOR;
const SECTOR: u64 = 512;
const LEVELS: [u32; 6] = [0, 1, 4, 5, 6, 10];
/// The level without chunks.
const LEVEL_MIRROR: u32 = 1;
/// Where failed devices from 64 on are.
const MORE_FAILED_AT: usize = 120;
const WORDS: usize = 4;

/// How far something went that goes from the first sector to the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Position {
    /// What is in front of this sector is done.
    Sector(u64),
    /// All is done.
    End,
}

/// What a metadata leg says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Legs of the array.
    pub device_count: u32,
    /// Which one this is, from 0; all ones: none of them.
    pub array_position: u32,
    /// How often superblocks were written: the most is the newest.
    pub events: u64,
    /// Legs that failed.
    pub failed: FailedDevices,
    /// What of this leg is rebuilt.
    pub disk_recovery_offset: Position,
    /// What of the array was in sync once, whatever was written since.
    pub array_resync_offset: Position,
    /// md's level.
    pub level: u32,
    /// md's number of the layout.
    pub layout: u32,
    /// A chunk; 0 of a mirror.
    pub stripe_sectors: u32,
    /// What kernels since 4.8 add.
    pub extended: Option<Extended>,
}

/// How an array becomes another one, and how large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extended {
    /// It does.
    pub is_reshaping: bool,
    /// From its end on.
    pub backwards: bool,
    /// How far, in sectors of the array; it counts while it is reshaped.
    pub reshape_position: Position,
    /// The level that it gets.
    pub new_level: u32,
    /// The layout that it gets.
    pub new_layout: u32,
    /// The chunk that it gets.
    pub new_stripe_sectors: u32,
    /// How many legs it gets, or loses.
    pub delta_disks: i32,
    /// Its size.
    pub array_sectors: u64,
    /// Where data begin on the data leg.
    pub data_offset: u64,
    /// Where they will begin.
    pub new_data_offset: u64,
    /// What of the data leg is used.
    pub sectors: u64,
}

impl Extended {
    /// Of an array that becomes no other one; it says nothing of sizes and places.
    pub(super) fn at_rest((level, layout): (u32, u32), stripe_sectors: u32) -> Self {
        Self {
            is_reshaping: false,
            backwards: false,
            reshape_position: Position::End,
            new_level: level,
            new_layout: layout,
            new_stripe_sectors: stripe_sectors,
            delta_disks: 0,
            array_sectors: 0,
            data_offset: 0,
            new_data_offset: 0,
            sectors: 0,
        }
    }
}

/// Legs by their numbers, up to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FailedDevices([u64; WORDS]);

impl Position {
    fn from_disk(value: u64) -> Self {
        match value {
            u64::MAX => Self::End,
            sector => Self::Sector(sector),
        }
    }

    fn to_disk(self) -> u64 {
        match self {
            Self::Sector(sector) => sector,
            Self::End => u64::MAX,
        }
    }

    /// The first byte that is not done; of the end, one that is behind all others.
    pub fn bytes(self) -> u64 {
        self.to_disk().saturating_mul(512)
    }
}

impl FailedDevices {
    /// How many legs it can tell apart.
    pub const LEN: usize = 64 * WORDS;

    /// Whether a leg is among them.
    pub fn contains(&self, leg: usize) -> bool {
        let word = self.0.get(leg / 64);
        word.is_some_and(|word| word >> (leg % 64) & 1 == 1)
    }

    /// Makes a leg one of them.
    ///
    /// # Panics
    ///
    /// There cannot be so many legs.
    pub fn insert(&mut self, leg: usize) {
        assert!(leg < Self::LEN, "an array has fewer legs");
        self.0[leg / 64] |= 1 << (leg % 64);
    }

    /// A leg is none of them any more.
    ///
    /// # Panics
    ///
    /// There cannot be so many legs.
    pub fn remove(&mut self, leg: usize) {
        assert!(leg < Self::LEN, "an array has fewer legs");
        self.0[leg / 64] &= !(1 << (leg % 64));
    }

    /// All of them, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..Self::LEN).filter(|leg| self.contains(*leg))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl FromIterator<usize> for FailedDevices {
    fn from_iter<T: IntoIterator<Item = usize>>(legs: T) -> Self {
        let mut failed = Self::default();
        legs.into_iter().for_each(|leg| failed.insert(leg));
        failed
    }
}

impl Superblock {
    /// What the leg in this place says of an array of `size` bytes all of which is in sync, with no
    /// events yet.
    pub(super) fn in_sync(geometry: &Geometry, size: u64, place: usize) -> Self {
        assert!(place < geometry.legs(), "it is one of the array's");
        let (level, layout) = geometry.scheme().md();
        let stripe_sectors = match geometry.scheme() {
            Scheme::Mirror => 0,
            _ => (geometry.chunk() / SECTOR) as u32,
        };
        Self {
            device_count: geometry.legs() as u32,
            array_position: place as u32,
            events: 0,
            failed: FailedDevices::default(),
            disk_recovery_offset: Position::End,
            array_resync_offset: Position::End,
            level,
            layout,
            stripe_sectors,
            extended: Some(Extended {
                array_sectors: size / SECTOR,
                sectors: geometry.leg_size() / SECTOR,
                ..Extended::at_rest((level, layout), stripe_sectors)
            }),
        }
    }

    /// Bytes of one, from the beginning of the leg.
    pub const LEN: usize = 512;

    /// Reads one; `None`: the leg was never used.
    ///
    /// # Errors
    ///
    /// It is not one, or one that is not understood; the sentence says why, and the caller whose.
    pub fn decode(sector: &[u8]) -> Result<Option<Self>> {
        let Some(bytes) = sector.first_chunk::<{ Self::LEN }>() else {
            let what = format!("{} bytes hold no superblock of an array", sector.len());
            return Err(damaged(what));
        };
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let (magic, features) = (word(bytes, 0), word(bytes, 4));
        if magic != MAGIC {
            let what = format!("no superblock of an array begins with {magic:#010x}");
            return Err(damaged(what));
        }
        if features & !FEATURE_EXTENDED != 0 {
            let what = format!("its superblock has features {features:#x}, not all of them known");
            return Err(damaged(what));
        }
        let incompatible = word(bytes, 144);
        if incompatible != 0 {
            let what =
                format!("its superblock needs features {incompatible:#x}, which are unknown");
            return Err(damaged(what));
        }
        let is_extended = features == FEATURE_EXTENDED;
        let mut failed = FailedDevices::default();
        failed.0[0] = long(bytes, 24);
        if is_extended {
            for (index, word) in failed.0.iter_mut().enumerate().skip(1) {
                *word = long(bytes, MORE_FAILED_AT + 8 * (index - 1));
            }
        }
        let superblock = Self {
            device_count: word(bytes, 8),
            array_position: word(bytes, 12),
            events: long(bytes, 16),
            failed,
            disk_recovery_offset: Position::from_disk(long(bytes, 32)),
            array_resync_offset: Position::from_disk(long(bytes, 40)),
            level: word(bytes, 48),
            layout: word(bytes, 52),
            stripe_sectors: word(bytes, 56),
            extended: is_extended.then(|| Extended::decode(bytes)),
        };
        match superblock.nonsense() {
            Some(what) => Err(damaged(format!("its superblock says {what}"))),
            None => Ok(Some(superblock)),
        }
    }

    /// What a leg holds that says this.
    ///
    /// # Panics
    ///
    /// It says what decoding refuses.
    pub fn encode(&self) -> [u8; Self::LEN] {
        assert_eq!(self.nonsense(), None, "what is written can be read");
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, 0, &MAGIC.to_le_bytes());
        put(&mut bytes, 8, &self.device_count.to_le_bytes());
        put(&mut bytes, 12, &self.array_position.to_le_bytes());
        put(&mut bytes, 16, &self.events.to_le_bytes());
        put(&mut bytes, 24, &self.failed.0[0].to_le_bytes());
        let recovery = self.disk_recovery_offset.to_disk();
        put(&mut bytes, 32, &recovery.to_le_bytes());
        let resync = self.array_resync_offset.to_disk();
        put(&mut bytes, 40, &resync.to_le_bytes());
        put(&mut bytes, 48, &self.level.to_le_bytes());
        put(&mut bytes, 52, &self.layout.to_le_bytes());
        put(&mut bytes, 56, &self.stripe_sectors.to_le_bytes());
        let more = &self.failed.0[1..];
        if let Some(extended) = &self.extended {
            put(&mut bytes, 4, &FEATURE_EXTENDED.to_le_bytes());
            extended.encode(&mut bytes);
            for (index, word) in more.iter().enumerate() {
                put(&mut bytes, MORE_FAILED_AT + 8 * index, &word.to_le_bytes());
            }
        }
        let has_room = self.extended.is_some() || more.iter().all(|word| *word == 0);
        assert!(
            has_room,
            "without the extension only 64 legs can have failed"
        );
        bytes
    }

    /// What of it cannot be.
    fn nonsense(&self) -> Option<String> {
        let too_far =
            |position: Position| position != Position::End && is_too_far(position.to_disk());
        let position = self.array_position;
        if self.device_count == 0 || self.device_count > DEVICES_MAX {
            return Some(format!("that the array has {} legs", self.device_count));
        }
        if position >= DEVICES_MAX && position != NO_POSITION {
            return Some(format!("that it is leg {position} of the array"));
        }
        if too_far(self.disk_recovery_offset) || too_far(self.array_resync_offset) {
            return Some("that more sectors are in sync than there can be".into());
        }
        if self.events > EVENTS_MAX {
            return Some("that it was written more often than can be".into());
        }
        let Some(extended) = &self.extended else {
            return nonsense_layout(self.level, self.stripe_sectors);
        };
        let new = nonsense_layout(extended.new_level, extended.new_stripe_sectors);
        if extended.is_reshaping && new.is_some() {
            return new;
        }
        if extended.delta_disks.unsigned_abs() > DEVICES_MAX {
            let more = extended.delta_disks;
            return Some(format!("that the array gets {more} legs more"));
        }
        if too_far(extended.reshape_position) || extended.lengths().into_iter().any(is_too_far) {
            return Some("that there are more sectors than bytes".into());
        }
        nonsense_layout(self.level, self.stripe_sectors)
    }
}

impl Extended {
    fn decode(bytes: &[u8; Superblock::LEN]) -> Self {
        let flags = word(bytes, 60);
        Self {
            is_reshaping: flags & FLAG_RESHAPING != 0,
            backwards: flags & FLAG_BACKWARDS != 0,
            reshape_position: Position::from_disk(long(bytes, 64)),
            new_level: word(bytes, 72),
            new_layout: word(bytes, 76),
            new_stripe_sectors: word(bytes, 80),
            delta_disks: word(bytes, 84).cast_signed(),
            array_sectors: long(bytes, 88),
            data_offset: long(bytes, 96),
            new_data_offset: long(bytes, 104),
            sectors: long(bytes, 112),
        }
    }

    fn encode(&self, bytes: &mut [u8; Superblock::LEN]) {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let flags = flag(self.is_reshaping, FLAG_RESHAPING) | flag(self.backwards, FLAG_BACKWARDS);
        put(bytes, 60, &flags.to_le_bytes());
        put(bytes, 64, &self.reshape_position.to_disk().to_le_bytes());
        put(bytes, 72, &self.new_level.to_le_bytes());
        put(bytes, 76, &self.new_layout.to_le_bytes());
        put(bytes, 80, &self.new_stripe_sectors.to_le_bytes());
        put(bytes, 84, &self.delta_disks.to_le_bytes());
        for (index, length) in self.lengths().into_iter().enumerate() {
            put(bytes, 88 + 8 * index, &length.to_le_bytes());
        }
    }

    /// What counts sectors, in the order of the disk.
    fn lengths(&self) -> [u64; 4] {
        [
            self.array_sectors,
            self.data_offset,
            self.new_data_offset,
            self.sectors,
        ]
    }
}

fn nonsense_layout(level: u32, stripe_sectors: u32) -> Option<String> {
    if !LEVELS.contains(&level) {
        return Some(format!("that the array is one of level {level}"));
    }
    let lacks_chunks = level != LEVEL_MIRROR && stripe_sectors == 0;
    lacks_chunks.then(|| format!("that chunks of level {level} are empty"))
}

fn is_too_far(sectors: u64) -> bool {
    sectors > SECTORS_MAX
}

fn damaged(what: String) -> Error {
    Error::new(Kind::Damaged, what)
}

fn word(bytes: &[u8; Superblock::LEN], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8; Superblock::LEN], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn put(bytes: &mut [u8; Superblock::LEN], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[cfg(test)]
mod tests;
