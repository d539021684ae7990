//! What metadata begins with, of legs that get new metadata before anybody uses them.

use super::assembly::{Described, Reshape};
use super::bitmap::{self, Bitmap, Dirty};
use super::geometry::Geometry;
use super::superblock::Superblock;
use crate::Result;

/// New superblocks were written once.
const FIRST_EVENTS: u64 = 1;

/// What metadata says, from its start on, of a leg in sync of an array of `size` bytes that is
/// described so: for one whose legs get other places, and so other metadata.
///
/// # Errors
///
/// It would have more regions than a bitmap has.
pub fn head_in_sync(described: &Described, size: u64, place: usize) -> Result<Vec<u8>> {
    head(
        described,
        &Superblock::in_sync(&described.geometry, size, place),
    )
}

/// The same of an array in sync that was `before` and begins to become what is described: its data
/// lie `space` bytes behind the start of each leg, and will begin there. Where it gets fewer legs
/// it is the other way round.
///
/// # Errors
///
/// It would have more regions than a bitmap has.
pub fn head_of_reshape(
    described: &Described,
    before: &Geometry,
    space: u64,
    place: usize,
) -> Result<Vec<u8>> {
    let after = &described.geometry;
    let begun = Reshape::begun((*before, *after), space, before.legs() > after.legs());
    let at_rest = Superblock {
        // It may be one that goes.
        array_position: place as u32,
        ..Superblock::in_sync(after, before.size(), 0)
    };
    head(described, &begun.said_by(&at_rest))
}

fn head(described: &Described, superblock: &Superblock) -> Result<Vec<u8>> {
    let size = described.geometry.sync_size();
    let clean = Dirty::clean(described.region_size, size)?;
    let superblock = Superblock {
        events: FIRST_EVENTS,
        ..superblock.clone()
    };
    Ok(record(&superblock, size, clean))
}

/// A superblock, and a bitmap of so many bytes as old as it.
pub(super) fn record(superblock: &Superblock, sync_size: u64, dirty: Dirty) -> Vec<u8> {
    let mut bytes = superblock.encode().to_vec();
    bytes.resize(bitmap::START as usize, 0);
    bytes.extend(Bitmap::new(sync_size, superblock.events, dirty).encode());
    bytes
}

#[cfg(test)]
mod tests;
