//! The superblocks of md's formats 1.0, 1.1 and 1.2, which differ in where they are only.
//!
//! ```text
//!     0  magic a92b4efc    4  major version 1    8  features   12  zeros
//!    16  UUID:16          32  name:32           64  created
//!    72  level   76  layout   80  sectors of a leg   88  sectors of a chunk   92  legs
//!    96  where the bitmap is, in sectors from here; signed. Or where the log of partial parity is,
//!        in 2 bytes, and how many sectors it has, in 2 more
//!   100  while reshaping: level, position:8, legs more or less, layout, chunk, data offset more
//!   128  data offset   136  sectors of data   144  sector of this superblock
//!   152  recovery offset or tail of the journal   160  number of this device   164  read errors
//!   168  UUID of the device:16   184  flags:1   185  bad blocks: shift:1, sectors:2, where:4
//!   192  written   200  events   208  resync offset   216  checksum   220  roles
//!   224  logical block (kernels since 6.19), zeros
//!   256  roles, of 2 bytes each: a leg, or ffff spare, fffe faulty, fffd journal
//!                                                                        all little-endian
//! ```
//!
//! Times have seconds in their lower 40 bits. Decoding checks what the kernel does when it loads
//! one and when it starts an array of it (`drivers/md/md.c`: `super_1_load`, `md_run`), so that
//! offsets lie on the device and data and superblock do not overlap. What only matters together
//! with other devices, or with levels, is checked where those are known.

mod meaning;

pub(super) use meaning::{ROLE_FAULTY, ROLE_SPARE, is_role_of_a_leg};

use super::fields::{ByteOrder, Fields, FieldsMut, checksum};
use super::places::Place;
use crate::{Error, Kind, Result};

pub(super) const MAGIC: u32 = 0xa92b_4efc;
const HEADER: usize = 256;
const SUM_AT: usize = 216;
/// Where padding begins that is checked.
const PADDING_AT: usize = 228;
/// Roles that there is room for.
const ROLES_MAX: u32 = ((Superblock1::LEN - HEADER) / 2) as u32;
const SECTOR: u64 = 512;

/// What a superblock may say besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Feature {
    /// There is a bitmap.
    Bitmap = 1,
    /// The recovery offset counts.
    Recovery = 2,
    /// The array is reshaped.
    Reshape = 4,
    /// The list of bad blocks is not empty.
    BadBlocks = 8,
    /// The device replaces another one.
    Replacement = 16,
    /// It is reshaped from the end on.
    Backwards = 32,
    /// Data will begin elsewhere.
    NewOffset = 64,
    /// What is rebuilt is what the bitmap says.
    RecoveryBitmap = 128,
    /// Several machines write.
    Clustered = 256,
    /// There is a journal.
    Journal = 512,
    /// There is a log of partial parity.
    PartialParity = 1024,
    /// There are several of them.
    PartialParities = 2048,
    /// The layout counts for stripes, too.
    StripedLayout = 4096,
}

/// A set of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u32);

impl Features {
    const ALL: u32 = 0x1fff;

    /// Whether a feature is among them.
    pub fn has(self, feature: Feature) -> bool {
        self.0 & feature as u32 != 0
    }

    /// The same, and this one.
    #[must_use]
    pub fn with(self, feature: Feature) -> Self {
        Self(self.0 | feature as u32)
    }

    /// The same, but not this one.
    #[must_use]
    pub fn without(self, feature: Feature) -> Self {
        Self(self.0 & !(feature as u32))
    }
}

/// What stands there, in sectors as it does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the essay has each of them")]
pub struct Superblock1 {
    pub place: Place,
    pub features: Features,
    pub uuid: [u8; 16],
    pub name: [u8; 32],
    pub created: u64,
    pub level: i32,
    pub layout: u32,
    pub size: u64,
    pub chunk_sectors: u32,
    pub device_count: u32,
    pub bitmap_offset: i32,
    pub new_level: i32,
    pub reshape_position: u64,
    pub delta_disks: i32,
    pub new_layout: u32,
    pub new_chunk_sectors: u32,
    pub new_offset: i32,
    pub data_offset: u64,
    pub data_size: u64,
    pub super_offset: u64,
    pub recovery_offset: u64,
    pub number: u32,
    pub corrected_reads: u32,
    pub device_uuid: [u8; 16],
    pub flags: u8,
    pub bad_blocks_shift: u8,
    pub bad_blocks_sectors: u16,
    pub bad_blocks_offset: i32,
    pub updated: u64,
    pub events: u64,
    pub resync_offset: u64,
    pub logical_block: u32,
    pub roles: Vec<u16>,
}

impl Superblock1 {
    /// Bytes of one, at most.
    pub const LEN: usize = 4096;

    /// Reads what is at a place of a device of so many bytes; `None`: no superblock.
    ///
    /// # Errors
    ///
    /// It is damaged, not understood, or says what cannot be on such a device.
    pub fn decode(bytes: &[u8], place: Place, device: u64) -> Result<Option<Self>> {
        let bytes = bytes
            .get(..Self::LEN)
            .ok_or_else(|| damaged(format!("{} bytes hold no superblock of md", bytes.len())))?;
        let order = ByteOrder::Little;
        let fields = Fields { bytes, order };
        if fields.word(0) != MAGIC || fields.word(4) == 0 {
            return Ok(None);
        }
        let (major, features, count) = (fields.word(4), fields.word(8), fields.word(220));
        if major != 1 {
            return Err(damaged(format!(
                "its md superblock has version {major}; 1 is understood"
            )));
        }
        if features & !Features::ALL != 0 {
            let what = format!("its md superblock has features {features:#x}, not all known");
            return Err(damaged(what));
        }
        if count > ROLES_MAX {
            return Err(damaged(format!("its md superblock is of {count} devices")));
        }
        let summed = Fields {
            bytes: &bytes[..HEADER + 2 * count as usize],
            order,
        };
        let sum = checksum(summed, SUM_AT);
        if sum != fields.word(SUM_AT) {
            return Err(damaged("the checksum of its md superblock is wrong".into()));
        }
        let padding = &bytes[PADDING_AT..HEADER];
        if fields.word(12) != 0 || padding.iter().any(|byte| *byte != 0) {
            return Err(damaged("its md superblock says something unknown".into()));
        }
        let superblock = Self::fields(fields, place);
        match superblock.nonsense(device) {
            Some(what) => Err(damaged(format!("its md superblock says {what}"))),
            None => Ok(Some(superblock)),
        }
    }

    fn fields(fields: Fields<'_>, place: Place) -> Self {
        let roles = 0..fields.word(220) as usize;
        Self {
            place,
            features: Features(fields.word(8)),
            uuid: fields.array(16),
            name: fields.array(32),
            created: fields.long(64),
            level: fields.signed(72),
            layout: fields.word(76),
            size: fields.long(80),
            chunk_sectors: fields.word(88),
            device_count: fields.word(92),
            bitmap_offset: fields.signed(96),
            new_level: fields.signed(100),
            reshape_position: fields.long(104),
            delta_disks: fields.signed(112),
            new_layout: fields.word(116),
            new_chunk_sectors: fields.word(120),
            new_offset: fields.signed(124),
            data_offset: fields.long(128),
            data_size: fields.long(136),
            super_offset: fields.long(144),
            recovery_offset: fields.long(152),
            number: fields.word(160),
            corrected_reads: fields.word(164),
            device_uuid: fields.array(168),
            flags: fields.bytes[184],
            bad_blocks_shift: fields.bytes[185],
            bad_blocks_sectors: fields.short(186),
            bad_blocks_offset: fields.signed(188),
            updated: fields.long(192),
            events: fields.long(200),
            resync_offset: fields.long(208),
            logical_block: fields.word(224),
            roles: roles.map(|role| fields.short(HEADER + 2 * role)).collect(),
        }
    }

    /// What is written at its place. Whether a device has such a place is not asked.
    pub fn encode(&self) -> Vec<u8> {
        assert!(
            self.roles.len() <= ROLES_MAX as usize,
            "there is no more room"
        );
        let mut bytes = vec![0; Self::LEN];
        let order = ByteOrder::Little;
        let mut fields = FieldsMut {
            bytes: &mut bytes,
            order,
        };
        fields.word(0, MAGIC);
        fields.word(4, 1);
        fields.word(8, self.features.0);
        fields.array(16, &self.uuid);
        fields.array(32, &self.name);
        fields.long(64, self.created);
        fields.signed(72, self.level);
        fields.word(76, self.layout);
        fields.long(80, self.size);
        fields.word(88, self.chunk_sectors);
        fields.word(92, self.device_count);
        fields.signed(96, self.bitmap_offset);
        fields.signed(100, self.new_level);
        fields.long(104, self.reshape_position);
        fields.signed(112, self.delta_disks);
        fields.word(116, self.new_layout);
        fields.word(120, self.new_chunk_sectors);
        fields.signed(124, self.new_offset);
        fields.long(128, self.data_offset);
        fields.long(136, self.data_size);
        fields.long(144, self.super_offset);
        fields.long(152, self.recovery_offset);
        fields.word(160, self.number);
        fields.word(164, self.corrected_reads);
        fields.array(168, &self.device_uuid);
        fields.array(184, &[self.flags, self.bad_blocks_shift]);
        fields.short(186, self.bad_blocks_sectors);
        fields.signed(188, self.bad_blocks_offset);
        fields.long(192, self.updated);
        fields.long(200, self.events);
        fields.long(208, self.resync_offset);
        fields.word(220, self.roles.len() as u32);
        fields.word(224, self.logical_block);
        for (index, role) in self.roles.iter().enumerate() {
            fields.short(HEADER + 2 * index, *role);
        }
        let len = HEADER + 2 * self.roles.len();
        let summed = Fields {
            bytes: &fields.bytes[..len],
            order,
        };
        let sum = checksum(summed, SUM_AT);
        fields.word(SUM_AT, sum);
        bytes
    }
}

fn damaged(what: String) -> Error {
    Error::new(Kind::Damaged, what)
}

#[cfg(test)]
pub(super) mod tests;
