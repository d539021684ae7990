//! What one device says of its array and of itself, whatever the format.
//!
//! Bytes, not sectors. Each claim has been held against the size of the device that made it, and
//! against nothing else: whether several devices say the same is for `members.rs`.

use block::Range;

use super::places::Place;
use crate::raid::geometry::Scheme;
use crate::raid::superblock::Position;
use crate::{Error, Kind, Result};

/// md's number for arrays of devices that follow one another.
pub(super) const LEVEL_LINEAR: i32 = -1;
/// md's number for stripes without parity.
pub(super) const LEVEL_STRIPED: i32 = 0;

/// What a device says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Where it says so.
    pub place: Place,
    /// Which array it is of.
    pub uuid: [u8; 16],
    /// The array's name, often with the host in front of it; none in the old format.
    pub name: String,
    /// When the array was made, in seconds since 1970.
    pub created: u64,
    /// When this was written, in seconds since 1970.
    pub updated: u64,
    /// What the array is; what it was, while it is reshaped.
    pub shape: Shape,
    /// Legs of the array; those that it will have, while it is reshaped.
    pub device_count: u32,
    /// Bytes of a leg; nothing where legs may differ.
    pub leg_size: u64,
    /// How often superblocks were written.
    pub events: u64,
    /// What was in sync when this was written; all of it means that the array was clean.
    pub resync: Position,
    /// What the array becomes.
    pub reshape: Option<Reshape>,
    /// What else is needed after a crash.
    pub guard: Guard,
    /// Several machines write to it at once.
    pub is_clustered: bool,
    /// Which of the roles is this device's.
    pub number: u32,
    /// What each device of the array is for.
    pub roles: Vec<Role>,
    /// The bytes of the device that hold data.
    pub data: Range,
    /// Where they begin when the array is reshaped.
    pub new_data_start: u64,
    /// What of this leg is rebuilt; `None`: it is not being rebuilt.
    pub recovery: Option<Position>,
    /// It is filled to take another one's place, which is still there.
    pub is_replacement: bool,
    /// It is not read where another one can be.
    pub is_write_mostly: bool,
    /// Where the write-intent bitmap begins.
    pub bitmap: Option<u64>,
    /// Where the list of blocks that cannot be read is, if there are some.
    pub bad_blocks: Option<BadBlocks>,
}

/// What an array is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// md's number.
    pub level: i32,
    /// md's number; `None`: nobody said.
    pub layout: Option<u32>,
    /// Bytes of a chunk; 0 where there are none.
    pub chunk: u64,
}

/// What an array becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reshape {
    /// Sectors of the array that are done, or with [`Reshape::backwards`] not done.
    pub position: Position,
    /// From the end on.
    pub backwards: bool,
    /// What it will be.
    pub shape: Shape,
    /// Legs that it gets, or loses.
    pub delta: i32,
}

/// What else is needed after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Nothing, or the bitmap.
    None,
    /// A device with a journal.
    Journal,
    /// Logs of partial parity on each leg: where on this device its log is.
    PartialParity(Range),
}

/// What a device is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It is this leg.
    Leg(u32),
    /// It waits, or it is not there.
    Spare,
    /// It failed.
    Faulty,
    /// It holds the journal.
    Journal,
}

/// A list of blocks that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadBlocks {
    /// Where the list is.
    pub place: Range,
    /// Bytes of what it counts.
    pub unit: u64,
}

impl Shape {
    /// How legs with redundancy are laid out.
    ///
    /// # Errors
    ///
    /// Arrays of that level have none, or are not served.
    pub fn scheme(self) -> Result<Scheme> {
        let layout = self.layout.unwrap_or_default();
        let level = u32::try_from(self.level).ok();
        let scheme = level.and_then(|level| Scheme::from_md(level, layout));
        scheme.ok_or_else(|| {
            let level = self.level;
            let what = format!("arrays of level {level} with layout {layout:#x} are not served");
            Error::new(Kind::InvalidLayout, what)
        })
    }
}

impl Claim {
    /// What it says that its device is for.
    pub fn role(&self) -> Role {
        let role = self.roles.get(self.number as usize);
        role.copied().unwrap_or(Role::Spare)
    }

    /// Whether it says that some device is this leg.
    pub fn knows_leg(&self, leg: u32) -> bool {
        self.roles.contains(&Role::Leg(leg))
    }

    /// Legs that there are before and after a reshape, whichever are more.
    pub fn positions(&self) -> u32 {
        let delta = self.reshape.map_or(0, |reshape| reshape.delta);
        self.device_count
            .saturating_add(delta.min(0).unsigned_abs())
    }
}

impl BadBlocks {
    /// The blocks on the list, by their bytes among the data of the leg.
    ///
    /// # Errors
    ///
    /// One of them lies where there are no bytes.
    pub fn decode(self, list: &[u8]) -> Result<Vec<Range>> {
        let entries = self.entries(list)?;
        Ok(entries.into_iter().map(|(_, range)| range).collect())
    }

    /// The same, with the entries as they stand there.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn entries(self, list: &[u8]) -> Result<Vec<(u64, Range)>> {
        let mut entries = Vec::new();
        for bytes in list.as_chunks::<8>().0 {
            let entry = u64::from_le_bytes(*bytes);
            // Ones end it; the upper bits are a place, the lower ten a length.
            if entry == u64::MAX {
                break;
            }
            let start = (entry >> 10).checked_mul(self.unit);
            let len = (entry & 0x3ff) * self.unit;
            let range = start.and_then(|start| Range::checked(start, len));
            let range = range.ok_or_else(|| {
                let what = format!("its list of bad blocks has an entry {entry:#x}");
                Error::new(Kind::Damaged, what)
            })?;
            entries.push((entry, range));
        }
        Ok(entries)
    }
}
