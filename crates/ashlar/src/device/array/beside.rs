//! What stands beside the data of a leg: its superblock, and its bitmap or its log of partial
//! parity, as one device.
//!
//! ```text
//!   1.2     4096 superblock   bitmap   …   data                  1.0, 0.90     data   …   both
//!                  ╲             ╲
//!   device      0  superblock  4096  bitmap                      nothing else can be reached
//! ```
//!
//! Wherever md has them: the machine that writes an array writes to this device, and data to
//! another one, so that neither can be written over the other. Where they overlap, or the bitmap
//! has not enough room, the array is not written.

use std::sync::Arc;

use block::{Device, Range};
use dm::raid::bitmap::{START, len_for};
use dm::raid::md::{Claim, Guard, KeptSuperblock, Superblock1};
use dm::table::{Area, Piece};

use super::plain;

/// What is written at once, and suits every disk.
const BLOCK: u64 = 4096;

/// Where both are on a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beside {
    superblock: u64,
    bitmap: Option<Range>,
    log: Option<Range>,
}

impl Beside {
    /// Where all are on a device of so many bytes that says this; the bitmap has so many regions,
    /// if there is one, and of the log so many bytes are used.
    ///
    /// # Errors
    ///
    /// They are in each other's way, or too small: how.
    pub(super) fn find(
        claim: &Claim,
        superblock: &KeptSuperblock,
        (device, regions, log): (u64, Option<u64>, Option<u64>),
    ) -> Result<Self, String> {
        let at = claim.place.offset(device).ok_or("it is too small")?;
        let own = Range::new(at, Superblock1::LEN as u64);
        if own.intersection(claim.data).is_some() {
            return Err("its superblock lies among its data".into());
        }
        let bitmap = match (claim.bitmap, regions) {
            (Some(start), Some(regions)) => {
                let others = [Some(own), Some(claim.data), bad_blocks(superblock, at)];
                Some(room(start, regions, (device, &others))?)
            }
            (None, None) => None,
            _ => return Err("its legs do not agree whether there is a bitmap".into()),
        };
        let log = match (claim.guard, log) {
            (Guard::PartialParity(place), Some(len)) => {
                assert!(len <= place.len() && bitmap.is_none(), "it is used alone");
                let list = bad_blocks(superblock, at);
                if list.is_some_and(|list| list.intersection(place).is_some()) {
                    return Err(
                        "its log of partial parity and its list of bad blocks overlap".into(),
                    );
                }
                Some(Range::new(place.start(), len))
            }
            (_, None) => None,
            (_, Some(_)) => return Err("it has no log of partial parity, as others do".into()),
        };
        assert!(
            bitmap.is_none_or(|bitmap| bitmap.intersection(claim.data).is_none()),
            "a bitmap is not among data"
        );
        Ok(Self {
            superblock: at,
            bitmap,
            log,
        })
    }

    /// Both on a leg, as a device.
    pub(super) fn open(self, name: &str, leg: &Arc<dyn Device>) -> dm::Result<Arc<dyn Device>> {
        let piece = |start: u64, len: u64| Piece::of(len, Area::device(Arc::clone(leg), start));
        let mut pieces = vec![piece(self.superblock, START)];
        let others = [self.bitmap, self.log].into_iter().flatten();
        pieces.extend(others.map(|range| piece(range.start(), range.len())));
        plain(name, pieces, block::Access::ReadWrite)
    }
}

/// Where a list of blocks that cannot be read is, or may be one day.
fn bad_blocks(superblock: &KeptSuperblock, at: u64) -> Option<Range> {
    let KeptSuperblock::New(new) = superblock else {
        return None;
    };
    let start = at.checked_add_signed(i64::from(new.bad_blocks_offset) * 512)?;
    let len = u64::from(new.bad_blocks_sectors) * 512;
    (new.bad_blocks_offset != 0 && len > 0).then(|| Range::new(start, len))
}

/// What a bitmap that begins here may use.
fn room(
    start: u64,
    regions: u64,
    (device, others): (u64, &[Option<Range>]),
) -> Result<Range, String> {
    let others = others.iter().flatten();
    let behind = others.clone().map(|other| other.start());
    let next = behind.filter(|at| *at > start).chain([device]).min();
    let room = next.unwrap_or(device).saturating_sub(start);
    let needed = len_for(regions);
    let is_inside = others
        .clone()
        .any(|other| other.contains(Range::new(start, 512)));
    if room < needed || is_inside {
        return Err(format!(
            "its bitmap takes {needed} bytes at byte {start}, and there is no room for that"
        ));
    }
    // In whole blocks, where that is possible.
    Ok(Range::new(start, needed.next_multiple_of(BLOCK).min(room)))
}

#[cfg(test)]
mod tests;
