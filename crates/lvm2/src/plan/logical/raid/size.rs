//! How much a bit of an array's bitmap covers, and how long its metadata is.
//!
//! The metadata of an image has a superblock, the head of the bitmap, and a bit for each region of
//! the image. The kernel's bitmaps have no more than 2^21 bits.

use alloc::format;

use crate::model::RaidLevel;
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, refused, wrong};
use crate::{Error, Extents, Kind, Result, SECTOR_SIZE, Sectors};

/// What a bit covers where nothing was said.
const REGION_SIZE_DEFAULT: Sectors = Sectors(4096);
/// A region is a page at least, and no machine has smaller pages than 4 KiB.
const REGION_SIZE_MIN: Sectors = Sectors(8);
/// Bits of a bitmap at most.
const REGIONS_MAX: u64 = 1 << 21;
/// The superblock and the head of the bitmap, in bytes.
const HEADS: u64 = 2 * 4096;
/// Bits in a byte of the bitmap.
const BITS: u64 = 8;

/// The region size of an array of `extents` of data; stock says so where it is not what was asked
/// for.
pub(super) fn region_size(
    draft: &mut Draft,
    asked: Option<Sectors>,
    extents: Extents,
) -> Result<Sectors> {
    let size = asked.unwrap_or(REGION_SIZE_DEFAULT);
    if !size.0.is_power_of_two() || size < REGION_SIZE_MIN {
        return Err(wrong(format!(
            "Region size {} is not a power of 2 of at least {}",
            display_size(size),
            display_size(REGION_SIZE_MIN)
        )));
    }
    let total = total(draft, extents)?;
    if total < REGION_SIZE_MIN {
        return Err(refused(format!(
            "An array of {} is smaller than a region of its bitmap: choose a size of at least {}",
            display_size(total),
            display_size(REGION_SIZE_MIN)
        )));
    }
    // No region is longer than the volume.
    let most = Sectors(1 << total.0.ilog2());
    if size > most {
        draft.note(format!(
            "Using reduced mirror region size of {}",
            display_size(most)
        ));
        return Ok(most);
    }
    Ok(countable(draft, size, total))
}

/// Fails where an array of `extents` of data cannot have regions of this size.
pub(super) fn check_region_size(draft: &Draft, size: Sectors, extents: Extents) -> Result<()> {
    let total = total(draft, extents)?;
    let is_possible = size.0.is_power_of_two() && size >= REGION_SIZE_MIN;
    if !is_possible || size > total || total.0.div_ceil(size.0) > REGIONS_MAX {
        return Err(refused(format!(
            "An array of {} cannot have regions of {}: they are a power of 2 of at least {}, no \
             larger than it is, and no more than {REGIONS_MAX}",
            display_size(total),
            display_size(size),
            display_size(REGION_SIZE_MIN)
        )));
    }
    Ok(())
}

/// The region size of an array that grows to `extents`: what it has, unless the bitmap would have
/// too many bits.
pub(super) fn grown_region_size(
    draft: &mut Draft,
    size: Sectors,
    extents: Extents,
) -> Result<Sectors> {
    let total = total(draft, extents)?;
    Ok(countable(draft, size, total))
}

fn total(draft: &Draft, extents: Extents) -> Result<Sectors> {
    assert!(extents > Extents::ZERO, "an array has extents");
    let total = extents.to_sectors(draft.vg.extent_size);
    total.ok_or_else(|| Error::new(Kind::Limit, "The array is too large"))
}

fn countable(draft: &mut Draft, size: Sectors, total: Sectors) -> Sectors {
    let mut enough = size;
    while enough > Sectors::ZERO && total.0.div_ceil(enough.0) > REGIONS_MAX {
        enough = Sectors(enough.0 * 2);
    }
    if enough != size {
        draft.note(format!(
            "Setting region size to {}: a bitmap has no more than {REGIONS_MAX} regions",
            display_size(enough)
        ));
    }
    assert!(enough >= size, "regions only become larger");
    enough
}

/// The extents of the metadata of an image of `length` extents; none for RAID 0 without metadata.
pub(super) fn meta_extents(
    level: RaidLevel,
    length: Extents,
    region: Sectors,
    extent_size: Sectors,
) -> Extents {
    if level == RaidLevel::Raid0 {
        return Extents::ZERO;
    }
    assert!(extent_size > Sectors::ZERO, "extents have a length");
    let sectors = length.0.saturating_mul(extent_size.0);
    let regions = sectors.checked_div(region.0).unwrap_or(0);
    let bytes = HEADS + regions.div_ceil(BITS);
    Extents(bytes.div_ceil(SECTOR_SIZE).div_ceil(extent_size.0))
}
