//! What a superblock means, and whether it can.

use block::Range;

use super::{Feature, HEADER, ROLES_MAX, SECTOR, Superblock1};
use crate::raid::md::claim::{BadBlocks, Claim, Guard, LEVEL_STRIPED, Reshape, Role, Shape};
use crate::raid::md::places::Place;
use crate::raid::superblock::Position;

/// The first role that is no leg.
const ROLE_MAX: u16 = 0xff00;
pub(in crate::raid::md) const ROLE_SPARE: u16 = 0xffff;
pub(in crate::raid::md) const ROLE_FAULTY: u16 = 0xfffe;
const ROLE_JOURNAL: u16 = 0xfffd;
/// Sectors of data that the kernel wants.
const DATA_MIN: u64 = 10;
/// Sectors of a list of bad blocks at most, for the kernel.
const BAD_SECTORS_MAX: u16 = 8;
/// Sectors that such a list may count as one, as a power of two: more are no place.
const BAD_SHIFT_MAX: u8 = 40;
/// Sectors of the header of a log, and of a page of it.
const LOG_UNIT: u64 = 8;
const SECONDS: u64 = (1 << 40) - 1;
const FLAG_WRITE_MOSTLY: u8 = 1;

impl Superblock1 {
    /// What of it cannot be, on a device of so many bytes.
    pub(super) fn nonsense(&self, device: u64) -> Option<String> {
        let sectors = device / SECTOR;
        let here = self.super_offset;
        let place = self.place.offset(device);
        let is_here = here.checked_mul(SECTOR).is_some_and(|at| place == Some(at));
        if !is_here || self.place == Place::EndOld {
            return Some(format!("that it is at sector {here}, where it is not"));
        }
        if self.device_count == 0 || self.device_count > ROLES_MAX {
            return Some(format!("that its array has {} legs", self.device_count));
        }
        let end = self.data_offset.checked_add(self.data_size);
        if self.data_size < DATA_MIN || end.is_none_or(|end| end > sectors) {
            let (start, len) = (self.data_offset, self.data_size);
            return Some(format!(
                "that {len} sectors of data begin at sector {start}"
            ));
        }
        let superblock_end = here + (HEADER as u64 + 2 * self.roles.len() as u64).div_ceil(SECTOR);
        let new_start = self.new_data_offset();
        let overlaps = match self.place {
            Place::End => {
                let used = self.data_offset.checked_add(self.size);
                self.data_size > here || used.is_none_or(|end| end > here)
            }
            _ => {
                self.data_offset < superblock_end || new_start.is_none_or(|at| at < superblock_end)
            }
        };
        if overlaps || new_start.is_none_or(|at| at > sectors) {
            return Some("that data are where it is itself, or nowhere".into());
        }
        self.nonsense_details(sectors)
    }

    fn nonsense_details(&self, sectors: u64) -> Option<String> {
        let has = |feature| self.features.has(feature);
        let parities = [Feature::PartialParity, Feature::PartialParities];
        let guards = [Feature::Bitmap, Feature::Journal].into_iter().any(has);
        if parities.into_iter().any(has) && guards || parities.into_iter().all(has) {
            return Some("that it has several logs, of which one can be".into());
        }
        if parities.into_iter().any(has) && !self.has_room_for_log(sectors) {
            return Some("that its log of partial parity is where there is no room".into());
        }
        if has(Feature::StripedLayout) && self.level != LEVEL_STRIPED {
            return Some("that the layout of stripes counts, and that it has none".into());
        }
        if has(Feature::Bitmap)
            && self
                .beside(self.bitmap_offset)
                .is_none_or(|at| at >= sectors)
        {
            return Some("that its bitmap is where there is nothing".into());
        }
        if self.delta_disks.unsigned_abs() > ROLES_MAX {
            return Some(format!(
                "that its array gets {} legs more",
                self.delta_disks
            ));
        }
        if has(Feature::BadBlocks) {
            let len = self.bad_blocks_sectors;
            let start = self.beside(self.bad_blocks_offset);
            let end = start.and_then(|start| start.checked_add(u64::from(len)));
            let is_nowhere = end.is_none_or(|end| end > sectors);
            let is_impossible = self.bad_blocks_offset == 0 || is_nowhere;
            if is_impossible || len > BAD_SECTORS_MAX || self.bad_blocks_shift > BAD_SHIFT_MAX {
                return Some("that its list of bad blocks is where there is nothing".into());
            }
        }
        let positions = [
            (true, self.resync_offset),
            (has(Feature::Recovery), self.recovery_offset),
            (has(Feature::Reshape), self.reshape_position),
        ];
        let too_far = |value: u64| value != u64::MAX && value > u64::MAX / SECTOR;
        if positions
            .iter()
            .any(|(counts, value)| *counts && too_far(*value))
        {
            return Some("that something is done behind all sectors".into());
        }
        let is_block = |len: u32| len == 0 || len.is_power_of_two() && len >= SECTOR as u32;
        (!is_block(self.logical_block)).then(|| format!("blocks of {} bytes", self.logical_block))
    }

    /// A sector so many behind this one, or in front of it.
    fn beside(&self, sectors: i32) -> Option<u64> {
        self.super_offset.checked_add_signed(i64::from(sectors))
    }

    /// The sectors of the log of partial parity: a header, and whole pages behind it.
    fn log(&self) -> Option<Range> {
        let place = self.bitmap_offset.cast_unsigned();
        let start = self.beside(i32::from((place as u16).cast_signed()))?;
        let len = u64::from((place >> 16) as u16);
        Range::checked(start, len - len % LOG_UNIT)
    }

    /// Whether the log of partial parity can be where it is.
    fn has_room_for_log(&self, sectors: u64) -> bool {
        let own = Range::new(self.super_offset, Self::LEN as u64 / SECTOR);
        let data = Range::new(self.data_offset, self.data_size);
        self.log().is_some_and(|log| {
            let is_apart = [own, data]
                .iter()
                .all(|other| log.intersection(*other).is_none());
            log.len() > LOG_UNIT && log.end() <= sectors && is_apart
        })
    }

    fn new_data_offset(&self) -> Option<u64> {
        let is_new = self.features.has(Feature::Reshape) && self.features.has(Feature::NewOffset);
        let more = if is_new { self.new_offset } else { 0 };
        self.data_offset.checked_add_signed(i64::from(more))
    }

    /// What it says. It must have been decoded, or be like one that was.
    pub fn claim(&self) -> Claim {
        let has = |feature| self.features.has(feature);
        let data = Range::new(self.data_offset * SECTOR, self.data_size * SECTOR);
        let new_start = self.new_data_offset().expect("it was checked");
        let at = |sectors: i32| self.beside(sectors).expect("it was checked") * SECTOR;
        let position = |sectors: u64| match sectors {
            u64::MAX => Position::End,
            sector => Position::Sector(sector),
        };
        let counts = self.level != LEVEL_STRIPED || has(Feature::StripedLayout);
        let text = self
            .name
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        Claim {
            place: self.place,
            uuid: self.uuid,
            name: String::from_utf8_lossy(text).into_owned(),
            created: self.created & SECONDS,
            updated: self.updated & SECONDS,
            shape: Shape {
                level: self.level,
                layout: counts.then_some(self.layout),
                chunk: u64::from(self.chunk_sectors) * SECTOR,
            },
            device_count: self.device_count,
            leg_size: self.size.saturating_mul(SECTOR),
            events: self.events,
            resync: position(self.resync_offset),
            reshape: has(Feature::Reshape).then(|| self.reshape(position(self.reshape_position))),
            guard: match () {
                () if has(Feature::Journal) => Guard::Journal,
                () if has(Feature::PartialParity) || has(Feature::PartialParities) => {
                    let log = self.log().expect("it was checked");
                    Guard::PartialParity(Range::new(log.start() * SECTOR, log.len() * SECTOR))
                }
                () => Guard::None,
            },
            is_clustered: has(Feature::Clustered),
            number: self.number,
            roles: self.roles.iter().map(|role| role_of(*role)).collect(),
            data,
            new_data_start: new_start * SECTOR,
            recovery: has(Feature::Recovery).then(|| position(self.recovery_offset)),
            is_replacement: has(Feature::Replacement),
            is_write_mostly: self.flags & FLAG_WRITE_MOSTLY != 0,
            bitmap: has(Feature::Bitmap).then(|| at(self.bitmap_offset)),
            bad_blocks: has(Feature::BadBlocks).then(|| BadBlocks {
                place: Range::new(
                    at(self.bad_blocks_offset),
                    u64::from(self.bad_blocks_sectors) * SECTOR,
                ),
                unit: SECTOR << self.bad_blocks_shift,
            }),
        }
    }

    fn reshape(&self, position: Position) -> Reshape {
        let is_flagged = self.delta_disks == 0 && self.features.has(Feature::Backwards);
        Reshape {
            position,
            backwards: self.delta_disks < 0 || is_flagged,
            shape: Shape {
                level: self.new_level,
                layout: Some(self.new_layout),
                chunk: u64::from(self.new_chunk_sectors) * SECTOR,
            },
            delta: self.delta_disks,
        }
    }
}

/// Whether a role is that of a leg.
pub(in crate::raid::md) fn is_role_of_a_leg(role: u16) -> bool {
    matches!(role_of(role), Role::Leg(_))
}

fn role_of(role: u16) -> Role {
    match role {
        ROLE_FAULTY => Role::Faulty,
        ROLE_JOURNAL => Role::Journal,
        ROLE_SPARE | ROLE_MAX.. => Role::Spare,
        leg => Role::Leg(u32::from(leg)),
    }
}
