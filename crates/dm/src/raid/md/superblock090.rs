//! The superblock of md's format 0.90, in the byte order of whoever wrote it.
//!
//! 1,024 words of 32 bits, by their numbers:
//!
//! ```text
//!     0  magic a92b4efc    1  version 0, 90 (91 while reshaping), patch    5  UUID, a word
//!     6  created    7  level    8  KiB of a leg    9  devices   10  legs   11  minor number
//!    13  UUID, three words more
//!    32  written   33  state (bit 0: clean, bit 8: has a bitmap)   34  devices that are active,
//!        that work, that failed, that wait   38  checksum
//!    39  events, 64 bits   41  events of the last checkpoint   43  sector that it is at
//!    44  while reshaping: position, 64 bits, level, legs more or less, layout, bytes of a chunk
//!    64  layout   65  bytes of a chunk
//!   128  27 descriptors of 32 words: number, major, minor, leg, state
//!   992  the descriptor of this device
//! ```
//!
//! A descriptor's state has bit 0 for faulty, 1 for active, 2 for in sync, 3 for removed and 9 for
//! a leg that is written only. How far a leg is rebuilt is not said: it is none yet. The checksum
//! is compared folded to 16 bits, as some machines have only ever written those. A leg has 4 TiB at
//! most. The facts are those of `drivers/md/md.c` (`super_90_load`, `super_90_validate`).

use block::Range;

use super::claim::{Claim, Guard, LEVEL_STRIPED, Reshape, Role, Shape};
use super::fields::{ByteOrder, Fields, FieldsMut, checksum};
use super::places::Place;
use super::superblock1::MAGIC;
use crate::raid::superblock::Position;
use crate::{Error, Kind, Result};

const SUM_AT: usize = 4 * 38;
const DESCRIPTORS_AT: usize = 4 * 128;
const THIS_AT: usize = 4 * 992;
const DESCRIPTOR_LEN: usize = 4 * 32;
const VERSION: u32 = 90;
const VERSION_RESHAPING: u32 = 91;
pub(super) const STATE_CLEAN: u32 = 1;
pub(super) const STATE_BITMAP: u32 = 1 << 8;
const SECTOR: u64 = 512;
const KIB: u64 = 1024;

/// What stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the essay has each of them")]
pub struct Superblock090 {
    pub order: ByteOrder,
    pub minor_version: u32,
    pub patch_version: u32,
    pub uuid: [u32; 4],
    pub created: u32,
    pub level: i32,
    pub size_kib: u32,
    pub nr_disks: u32,
    pub device_count: u32,
    pub md_minor: u32,
    pub updated: u32,
    pub state: u32,
    pub counts: [u32; 4],
    pub events: u64,
    pub checkpoint_events: u64,
    pub checkpoint: u32,
    pub reshape_position: u64,
    pub new_level: i32,
    pub delta_disks: i32,
    pub new_layout: u32,
    pub new_chunk: u32,
    pub layout: u32,
    pub chunk: u32,
    pub descriptors: [Descriptor; Self::DESCRIPTORS],
    pub this: Descriptor,
}

/// What it says of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the essay has each of them")]
pub struct Descriptor {
    pub number: u32,
    pub major: u32,
    pub minor: u32,
    pub leg: u32,
    pub state: u32,
}

impl Descriptor {
    /// State: it failed.
    pub const FAULTY: u32 = 1;
    /// State: it is a leg.
    pub const ACTIVE: u32 = 2;
    /// State: it is in sync.
    pub const SYNC: u32 = 4;
    /// State: it is not there.
    pub const REMOVED: u32 = 8;
    /// State: it is not read.
    pub const WRITE_MOSTLY: u32 = 1 << 9;

    fn decode(fields: Fields<'_>, at: usize) -> Self {
        Self {
            number: fields.word(at),
            major: fields.word(at + 4),
            minor: fields.word(at + 8),
            leg: fields.word(at + 12),
            state: fields.word(at + 16),
        }
    }

    fn encode(self, fields: &mut FieldsMut<'_>, at: usize) {
        let words = [self.number, self.major, self.minor, self.leg, self.state];
        for (index, word) in words.into_iter().enumerate() {
            fields.word(at + 4 * index, word);
        }
    }

    fn has(self, state: u32) -> bool {
        self.state & state != 0
    }

    fn role(self, minor_version: u32) -> Role {
        let is_leg =
            self.has(Self::SYNC) || self.has(Self::ACTIVE) && minor_version == VERSION_RESHAPING;
        match () {
            () if self.has(Self::FAULTY) => Role::Faulty,
            () if is_leg => Role::Leg(self.leg),
            () => Role::Spare,
        }
    }
}

impl Superblock090 {
    /// Bytes of one.
    pub const LEN: usize = 4096;
    /// Devices that it tells apart.
    pub const DESCRIPTORS: usize = 27;

    /// Reads one of a device of so many bytes; `None`: no superblock.
    ///
    /// # Errors
    ///
    /// It is damaged, not understood, or says what cannot be on such a device.
    pub fn decode(bytes: &[u8], device: u64) -> Result<Option<Self>> {
        let bytes = bytes
            .get(..Self::LEN)
            .ok_or_else(|| damaged(format!("{} bytes hold no superblock of md", bytes.len())))?;
        let orders = [ByteOrder::Little, ByteOrder::Big];
        let mut all = orders.into_iter().map(|order| Fields { bytes, order });
        let Some(fields) = all.find(|fields| fields.word(0) == MAGIC) else {
            return Ok(None);
        };
        let (major, minor) = (fields.word(4), fields.word(8));
        // What is here may be the other format's.
        if major == 1 {
            return Ok(None);
        }
        if major != 0 || !(VERSION..=VERSION_RESHAPING).contains(&minor) {
            return Err(damaged(format!(
                "its md superblock has version {major}.{minor}"
            )));
        }
        if fold(checksum(fields, SUM_AT)) != fold(fields.word(SUM_AT)) {
            return Err(damaged("the checksum of its md superblock is wrong".into()));
        }
        let superblock = Self::fields(fields);
        match superblock.nonsense(device) {
            Some(what) => Err(damaged(format!("its md superblock says {what}"))),
            None => Ok(Some(superblock)),
        }
    }

    fn fields(fields: Fields<'_>) -> Self {
        let word = |number: usize| fields.word(4 * number);
        // Of two words the one that the byte order has first is first.
        let long = |number: usize| fields.long(4 * number);
        let descriptor =
            |index: usize| Descriptor::decode(fields, DESCRIPTORS_AT + index * DESCRIPTOR_LEN);
        Self {
            order: fields.order,
            minor_version: word(2),
            patch_version: word(3),
            uuid: [word(5), word(13), word(14), word(15)],
            created: word(6),
            level: word(7).cast_signed(),
            size_kib: word(8),
            nr_disks: word(9),
            device_count: word(10),
            md_minor: word(11),
            updated: word(32),
            state: word(33),
            counts: [word(34), word(35), word(36), word(37)],
            events: long(39),
            checkpoint_events: long(41),
            checkpoint: word(43),
            reshape_position: long(44),
            new_level: word(46).cast_signed(),
            delta_disks: word(47).cast_signed(),
            new_layout: word(48),
            new_chunk: word(49),
            layout: word(64),
            chunk: word(65),
            descriptors: std::array::from_fn(descriptor),
            this: Descriptor::decode(fields, THIS_AT),
        }
    }

    /// What is written at its place.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; Self::LEN];
        let order = self.order;
        let mut fields = FieldsMut {
            bytes: &mut bytes,
            order,
        };
        let [active, working, failed, spare] = self.counts;
        let words = [
            (0, MAGIC),
            (2, self.minor_version),
            (3, self.patch_version),
            (5, self.uuid[0]),
            (6, self.created),
            (7, self.level.cast_unsigned()),
            (8, self.size_kib),
            (9, self.nr_disks),
            (10, self.device_count),
            (11, self.md_minor),
            (13, self.uuid[1]),
            (14, self.uuid[2]),
            (15, self.uuid[3]),
            (32, self.updated),
            (33, self.state),
            (34, active),
            (35, working),
            (36, failed),
            (37, spare),
            (43, self.checkpoint),
            (46, self.new_level.cast_unsigned()),
            (47, self.delta_disks.cast_unsigned()),
            (48, self.new_layout),
            (49, self.new_chunk),
            (64, self.layout),
            (65, self.chunk),
        ];
        for (number, word) in words {
            fields.word(4 * number, word);
        }
        fields.long(4 * 39, self.events);
        fields.long(4 * 41, self.checkpoint_events);
        fields.long(4 * 44, self.reshape_position);
        for (index, descriptor) in self.descriptors.iter().enumerate() {
            descriptor.encode(&mut fields, DESCRIPTORS_AT + index * DESCRIPTOR_LEN);
        }
        self.this.encode(&mut fields, THIS_AT);
        let written = Fields {
            bytes: fields.bytes,
            order,
        };
        let sum = checksum(written, SUM_AT);
        fields.word(SUM_AT, sum);
        bytes
    }

    /// What of it cannot be, on a device of so many bytes.
    fn nonsense(&self, device: u64) -> Option<String> {
        let Some(room) = Place::EndOld.offset(device) else {
            return Some("that it is on a larger device".into());
        };
        if self.device_count == 0 || self.device_count as usize > Self::DESCRIPTORS {
            return Some(format!("that its array has {} legs", self.device_count));
        }
        if self.this.number as usize >= Self::DESCRIPTORS {
            return Some(format!("that this is device {}", self.this.number));
        }
        if self.delta_disks.unsigned_abs() as usize > Self::DESCRIPTORS && self.is_reshaping() {
            return Some(format!(
                "that its array gets {} legs more",
                self.delta_disks
            ));
        }
        if self.level > 0 && u64::from(self.size_kib) * KIB > room {
            return Some(format!(
                "that legs have {} KiB, more than are here",
                self.size_kib
            ));
        }
        let position = self.reshape_position;
        let is_too_far = position != u64::MAX && position > u64::MAX / SECTOR;
        if self.is_reshaping() && is_too_far {
            return Some("that something is done behind all sectors".into());
        }
        let state = self.own().state;
        let is_leg = state & (Descriptor::SYNC | Descriptor::ACTIVE) != 0;
        (is_leg && self.own().leg as usize >= Self::DESCRIPTORS)
            .then(|| format!("that this is leg {}", self.own().leg))
    }

    fn is_reshaping(&self) -> bool {
        self.minor_version == VERSION_RESHAPING
    }

    /// What the list says of this device, which counts.
    pub(super) fn own(&self) -> Descriptor {
        self.descriptors[self.this.number as usize]
    }

    /// What it says, on a device of so many bytes. It must have been decoded, or be like one that
    /// was.
    pub fn claim(&self, device: u64) -> Claim {
        let room = Place::EndOld.offset(device).expect("it was checked");
        let mut uuid = [0; 16];
        for (bytes, word) in uuid.as_chunks_mut::<4>().0.iter_mut().zip(self.uuid) {
            *bytes = word.to_le_bytes();
        }
        let position = |sectors: u64| match sectors {
            u64::MAX => Position::End,
            sector => Position::Sector(sector),
        };
        let is_clean = self.state & STATE_CLEAN != 0;
        let resync = match () {
            () if is_clean => Position::End,
            () if self.events == self.checkpoint_events => {
                Position::Sector(u64::from(self.checkpoint))
            }
            () => Position::Sector(0),
        };
        let own = self.own();
        let role = |descriptor: &Descriptor| descriptor.role(self.minor_version);
        let is_rebuilt = !own.has(Descriptor::SYNC) && matches!(role(&own), Role::Leg(_));
        Claim {
            place: Place::EndOld,
            uuid,
            name: String::new(),
            created: u64::from(self.created),
            updated: u64::from(self.updated),
            shape: Shape {
                level: self.level,
                layout: (self.level != LEVEL_STRIPED).then_some(self.layout),
                chunk: u64::from(self.chunk),
            },
            device_count: self.device_count,
            leg_size: u64::from(self.size_kib) * KIB,
            events: self.events,
            resync,
            reshape: self.is_reshaping().then(|| Reshape {
                position: position(self.reshape_position),
                backwards: self.delta_disks < 0,
                shape: Shape {
                    level: self.new_level,
                    layout: Some(self.new_layout),
                    chunk: u64::from(self.new_chunk),
                },
                delta: self.delta_disks,
            }),
            guard: Guard::None,
            is_clustered: false,
            number: self.this.number,
            roles: self.descriptors.iter().map(role).collect(),
            data: Range::new(0, room),
            new_data_start: 0,
            recovery: is_rebuilt.then_some(Position::Sector(0)),
            is_replacement: false,
            is_write_mostly: own.has(Descriptor::WRITE_MOSTLY),
            bitmap: (self.state & STATE_BITMAP != 0).then_some(room + Self::LEN as u64),
            bad_blocks: None,
        }
    }
}

/// A sum as 16 bits, with what is carried.
fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

fn damaged(what: String) -> Error {
    Error::new(Kind::Damaged, what)
}

#[cfg(test)]
pub(super) mod tests;
