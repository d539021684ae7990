//! What legs that are believed say of the size of their array, where it has changed.

use block::Range;

use super::{LegFound, LegState, SECTOR};
use crate::raid::geometry::Geometry;

/// Bytes of which legs that are believed know, where the array became larger since; all:
/// `u64::MAX`. Bitmaps are written before superblocks: those may be larger already, with all marked
/// that came.
pub(super) fn grown_from(found: &[LegFound], legs: &[LegState], geometry: &Geometry) -> u64 {
    let sync_size = geometry.sync_size();
    let knows = |(leg, state): (&LegFound, &LegState)| match (leg, state) {
        (LegFound::Holds(superblock, bits), LegState::Valid { .. }) => {
            let bitmap = bits.bitmap()?;
            let before = superblock.extended.as_ref();
            let before = before.map_or(u64::MAX, |one| one.sectors.saturating_mul(SECTOR));
            let is_announced = sync_size == geometry.leg_size()
                && bitmap.sync_size == sync_size
                && before < sync_size
                && bitmap
                    .dirty
                    .is_all_dirty(Range::new(before, sync_size - before));
            Some(if is_announced {
                before
            } else {
                bitmap.sync_size
            })
        }
        _ => None,
    };
    let known = found.iter().zip(legs).filter_map(knows);
    let smaller = known.filter(|known| *known < sync_size).min();
    smaller.unwrap_or(u64::MAX)
}

/// Whether all legs that are believed say what the array is: not that it was larger, nor nothing
/// yet, where others do.
pub(super) fn is_told(found: &[LegFound], legs: &[LegState], geometry: &Geometry) -> bool {
    let is_told = |(leg, state): (&LegFound, &LegState)| match (leg, state) {
        (LegFound::Holds(superblock, bits), LegState::Valid { .. }) => {
            let sectors = superblock.extended.as_ref().map_or(0, |one| one.sectors);
            let covers = bits.bitmap().map_or(0, |bitmap| bitmap.sync_size);
            covers <= geometry.sync_size() && sectors.saturating_mul(SECTOR) <= geometry.leg_size()
        }
        (LegFound::Blank, LegState::Valid { .. }) => false,
        _ => true,
    };
    found.iter().zip(legs).all(is_told)
}
