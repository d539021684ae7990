//! A device that joins an array: it gets the superblock of a spare.
//!
//! A spare holds nothing, and says nothing of the array that the others do not say; so it is
//! written before the others know of it, and a cut leaves a spare. That it becomes a leg is written
//! by the machine that fills it. Its number is one that no device had before: who had it may come
//! back.

use super::claim::{Claim, Guard};
use super::kept::KeptSuperblock;
use super::places::Place;
use super::superblock1::{Feature, ROLE_SPARE, Superblock1};
use super::superblock090::{Descriptor, Superblock090};
use crate::{Error, Kind, Result};

const SECTOR: u64 = 512;
/// Numbers at most: roles of the new format, with some left.
const NUMBERS_MAX: u32 = 1024;

/// What a device gets that becomes a spare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSpare {
    /// What it says then.
    pub claim: Claim,
    /// Where its superblock is.
    pub at: u64,
    /// The bytes of that.
    pub bytes: Vec<u8>,
}

impl KeptSuperblock {
    /// The superblock of a spare on a device of so many bytes, of the array of which this is the
    /// freshest one, and these are all claims; what tells the device from others is its identity.
    ///
    /// # Errors
    ///
    /// The device is too small, or the array has no number left.
    pub fn spare(&self, claims: &[Claim], device: u64, identity: [u8; 16]) -> Result<NewSpare> {
        let used = claims.iter().map(|claim| claim.number);
        let spare = match self {
            Self::New(new) => {
                let next = used.map(|number| number + 1).max().unwrap_or_default();
                let number = next.max(new.roles.len() as u32).max(new.device_count);
                if number >= NUMBERS_MAX {
                    return Err(no_number());
                }
                Self::New(Box::new(new_spare(new, device, (number, identity))?))
            }
            Self::Old(old) => {
                let used: Vec<u32> = used.collect();
                let numbers = old.device_count..Superblock090::DESCRIPTORS as u32;
                let mut free = numbers.filter(|number| !used.contains(number));
                let number = free.next().ok_or_else(no_number)?;
                Self::Old(Box::new(old_spare(old, device, number)?))
            }
        };
        let (bytes, place) = (spare.encode(), spare.place());
        let decoded = Self::decode(&bytes, place, device)?;
        assert_eq!(decoded.as_ref(), Some(&spare), "what is written is read");
        let at = place.offset(device).expect("there is room");
        let claim = spare.claim(device);
        Ok(NewSpare { claim, at, bytes })
    }
}

fn new_spare(
    array: &Superblock1,
    device: u64,
    (number, identity): (u32, [u8; 16]),
) -> Result<Superblock1> {
    let at = array.place.offset(device).ok_or_else(|| small(device, 0))? / SECTOR;
    let has_bitmap = array.features.has(Feature::Bitmap);
    let end = match array.place {
        Place::End if has_bitmap => at.checked_add_signed(i64::from(array.bitmap_offset.min(0))),
        Place::End => match array.claim().guard {
            Guard::PartialParity(log) => {
                let before = (array.super_offset * SECTOR).checked_sub(log.start());
                at.checked_sub(before.unwrap_or(0) / SECTOR)
            }
            Guard::None | Guard::Journal => Some(at),
        },
        _ => Some(device / SECTOR),
    };
    let size = end.and_then(|end| end.checked_sub(array.data_offset));
    let needed = array.size * SECTOR;
    let size = size.filter(|size| *size >= array.size);
    let size = size.ok_or_else(|| small(device, needed))?;
    let mut roles = array.roles.clone();
    roles.resize(number as usize + 1, ROLE_SPARE);
    let features = array.features.without(Feature::Recovery);
    let features = features.without(Feature::RecoveryBitmap);
    let features = features.without(Feature::BadBlocks);
    Ok(Superblock1 {
        features: features.without(Feature::Replacement),
        data_size: size,
        super_offset: at,
        recovery_offset: 0,
        number,
        corrected_reads: 0,
        device_uuid: identity,
        flags: 0,
        bad_blocks_shift: 0,
        bad_blocks_sectors: 0,
        bad_blocks_offset: 0,
        roles,
        ..array.clone()
    })
}

fn old_spare(array: &Superblock090, device: u64, number: u32) -> Result<Superblock090> {
    let needed = u64::from(array.size_kib) * 1024;
    let room = Place::EndOld.offset(device);
    if room.is_none_or(|room| room < needed) {
        return Err(small(device, needed));
    }
    let mut spare = array.clone();
    spare.this = Descriptor {
        number,
        leg: number,
        ..Descriptor::default()
    };
    spare.descriptors[number as usize] = spare.this;
    Ok(spare)
}

fn small(device: u64, needed: u64) -> Error {
    let what = format!(
        "the device has {device} bytes; {needed} of data, and superblock and bitmap, have no room"
    );
    Error::new(Kind::DeviceTooSmall, what)
}

fn no_number() -> Error {
    let what = "the array has had so many devices that no number is left for another one";
    Error::new(Kind::TooComplex, what)
}

#[cfg(test)]
mod tests;
