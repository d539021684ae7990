//! Where superblocks of md's arrays are.
//!
//! ```text
//!   1.1    at byte 0
//!   1.2    at byte 4096
//!   1.0    at the last multiple of 4 KiB that has 8 KiB behind it
//!   0.90   at the last multiple of 64 KiB that has 64 KiB behind it
//! ```
//!
//! A device may hold several, from arrays that it was in before. As with mdadm the one of the array
//! that was made last counts. What cannot be told apart here: a superblock near the end of a disk
//! is also one of the disk's last partition, if that goes to the end.

use block::Range;

use super::claim::Claim;
use super::superblock1::Superblock1;
use super::superblock090::Superblock090;
use crate::{Error, Result};

/// Where a superblock is, and so which format it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// At the beginning: 1.1.
    Start,
    /// A block behind it: 1.2.
    SecondBlock,
    /// Near the end: 1.0.
    End,
    /// Near the end, the old format: 0.90.
    EndOld,
}

/// Bytes that are read at each place.
const LEN: u64 = Superblock1::LEN as u64;
const OLD_UNIT: u64 = 64 << 10;

impl Place {
    /// The version that mdadm calls what is there.
    pub fn version(self) -> &'static str {
        match self {
            Self::Start => "1.1",
            Self::SecondBlock => "1.2",
            Self::End => "1.0",
            Self::EndOld => "0.90",
        }
    }

    /// Where that is on a device of so many bytes; `None`: the device is too small.
    pub fn offset(self, device: u64) -> Option<u64> {
        let end = |unit: u64, behind: u64| {
            let last = device.checked_sub(behind)?;
            Some(last - last % unit)
        };
        let offset = match self {
            Self::Start => 0,
            Self::SecondBlock => 4096,
            // md counts whole sectors.
            Self::End => end(4096, 8192 + device % 512)?,
            Self::EndOld => (device / OLD_UNIT).checked_sub(1)? * OLD_UNIT,
        };
        let fits = offset.checked_add(LEN).is_some_and(|end| end <= device);
        fits.then_some(offset)
    }
}

/// The places where a device of so many bytes may hold a superblock.
pub fn candidates(device: u64) -> Vec<(Place, Range)> {
    let all = [Place::Start, Place::SecondBlock, Place::End, Place::EndOld];
    let places = all
        .into_iter()
        .filter_map(|place| Some((place, place.offset(device)?)));
    places
        .map(|(place, offset)| (place, Range::new(offset, LEN)))
        .collect()
}

/// What a device of so many bytes says; `None`: it holds no superblock.
///
/// # Errors
///
/// Reading failed, or all superblocks that there are are damaged.
pub fn find(device: u64, mut read: impl FnMut(Range) -> Result<Vec<u8>>) -> Result<Option<Claim>> {
    let mut found: Option<Claim> = None;
    let mut damage: Option<Error> = None;
    for (place, range) in candidates(device) {
        let bytes = read(range)?;
        let claim = match place {
            Place::EndOld => {
                Superblock090::decode(&bytes, device).map(|read| read.map(|old| old.claim(device)))
            }
            _ => Superblock1::decode(&bytes, place, device)
                .map(|read| read.map(|superblock| superblock.claim())),
        };
        match claim {
            Ok(Some(claim)) => {
                if found
                    .as_ref()
                    .is_none_or(|best| claim.created > best.created)
                {
                    found = Some(claim);
                }
            }
            Ok(None) => {}
            Err(error) => damage = Some(error),
        }
    }
    match (found, damage) {
        (None, Some(error)) => Err(error),
        (found, _) => Ok(found),
    }
}

#[cfg(test)]
mod tests;
