//! What RAID segments demand: counts, sizes, metadata, regions and stripes.

use alloc::format;

use super::kinds::same_length;
use super::{Checker, Place, RESTORE};
use crate::model::flags::TypeFlag;
use crate::model::ids::LvId;
use crate::model::raid_level::{RaidFamily, RaidLevel};
use crate::model::segment::{Raid, Segment};
use crate::{Extents, Sectors};

/// The most images of RAID 1.
const RAID1_IMAGES_MAX: usize = 10;
/// The most images of the other levels.
const IMAGES_MAX: usize = 64;
/// Superblock and bitmap superblock, in front of the bitmap's bits.
const META_BYTES: u64 = 8192;

pub(super) fn check(checker: &mut Checker<'_>, place: Place, segment: &Segment, raid: &Raid) {
    counts(checker, place, raid);
    metadata(checker, place, raid);
    regions(checker, place, segment, raid);
    stripes(checker, place, raid);
    data_offset(checker, place, segment, raid);
    // While a reshape runs, images are longer than the data needs.
    let is_reshaping = segment.reshape != Extents::ZERO || !segment.type_flags.is_empty();
    if segment.area_length().is_none() && !is_reshaping {
        let problem = format!("its {} do not divide by its images", segment.length);
        checker.segment_error(place, problem);
    }
    let images = raid.images.iter().map(|image| image.data);
    if is_reshaping {
        equal_lengths(checker, place, images, "images");
    } else {
        for image in images {
            same_length(checker, place, segment, image, "image");
        }
    }
    let metas = raid.images.iter().filter_map(|image| image.meta);
    equal_lengths(checker, place, metas, "metadata volumes");
    if raid
        .images
        .iter()
        .any(|image| image.meta == Some(image.data))
    {
        checker.segment_error(place, "one of its images is its own metadata");
    }
}

fn counts(checker: &mut Checker<'_>, place: Place, raid: &Raid) {
    let count = raid.images.len();
    let (min, max) = match raid.level.family() {
        RaidFamily::Raid0 => (1, IMAGES_MAX),
        RaidFamily::Raid1 => (1, RAID1_IMAGES_MAX),
        RaidFamily::Raid4 | RaidFamily::Raid5 => (2, IMAGES_MAX),
        RaidFamily::Raid6 => (5, IMAGES_MAX),
        RaidFamily::Raid10 => (4, IMAGES_MAX),
    };
    if count < min || count > max {
        let level = raid.level.name();
        let problem = format!("it has {count} images, and {level} has {min} to {max}");
        checker.segment_error(place, problem);
    }
    if let Some(copies) = raid.data_copies {
        let is_fitting = match raid.level.family() {
            // One is what stock says in the middle of a reshape.
            RaidFamily::Raid10 => copies >= 1 && count as u64 >= u64::from(raid.copies()),
            _ => true,
        };
        if !is_fitting {
            let problem = format!("it is to have {copies} copies on {count} images");
            checker.segment_error(place, problem);
        }
    }
}

fn metadata(checker: &mut Checker<'_>, place: Place, raid: &Raid) {
    let with_meta = raid
        .images
        .iter()
        .filter(|image| image.meta.is_some())
        .count();
    if with_meta != 0 && with_meta != raid.images.len() {
        checker.segment_error(place, "some of its images have metadata and some have none");
    }
    let problem = match raid.level {
        RaidLevel::Raid0 if with_meta > 0 => "it has metadata, and raid0 has none",
        // In between these two levels, a conversion passes through a state without metadata.
        RaidLevel::Raid0 | RaidLevel::Raid4 | RaidLevel::Raid5N => return,
        _ if with_meta == 0 => "its images have no metadata",
        _ => return,
    };
    checker.segment_error(place, problem);
}

fn regions(checker: &mut Checker<'_>, place: Place, segment: &Segment, raid: &Raid) {
    let region = raid.region_size;
    if raid.level.family() == RaidFamily::Raid0 {
        if region != Sectors::ZERO {
            checker.segment_error(place, format!("it has a region size of {region}"));
        }
        return;
    }
    if region == Sectors::ZERO {
        checker.segment_error(place, "its region size is zero");
        return;
    }
    if !region.0.is_power_of_two() {
        checker.segment_error(
            place,
            format!("its region size {region} is no power of two"),
        );
    }
    if let (Some(min), Some(max)) = (raid.min_recovery_rate, raid.max_recovery_rate)
        && max != 0
        && min > max
    {
        checker.segment_error(
            place,
            format!("it recovers at {min} at least and {max} at most"),
        );
    }
    bitmap_fits(checker, place, segment, raid);
}

/// The kernel writes one bit for each region behind its superblocks.
fn bitmap_fits(checker: &mut Checker<'_>, place: Place, segment: &Segment, raid: &Raid) {
    let vg = checker.vg;
    let synced = match raid.level.family() {
        RaidFamily::Raid10 => Some(segment.length),
        _ => segment.area_length(),
    };
    let Some(synced) = synced.and_then(|length| length.to_sectors(vg.extent_size)) else {
        return;
    };
    let needed = META_BYTES.saturating_add(synced.0.div_ceil(raid.region_size.0).div_ceil(8));
    for meta in raid.images.iter().filter_map(|image| image.meta) {
        let size = vg.lv(meta).size(vg.extent_size).and_then(Sectors::to_bytes);
        if size.is_some_and(|size| size.0 < needed) {
            let problem = format!(
                "its bitmap of {needed} bytes does not fit {}",
                checker.name(meta)
            );
            checker.segment_warning(place, problem, RESTORE);
        }
    }
}

fn stripes(checker: &mut Checker<'_>, place: Place, raid: &Raid) {
    let stripe = raid.stripe_size;
    if raid.level.family() == RaidFamily::Raid1 {
        if stripe != Sectors::ZERO {
            checker.segment_error(place, format!("it has a stripe size of {stripe}"));
        }
    } else if stripe == Sectors::ZERO {
        checker.segment_error(place, "its stripe size is zero");
    } else if !stripe.0.is_power_of_two() {
        checker.segment_error(
            place,
            format!("its stripe size {stripe} is no power of two"),
        );
    }
    let takes_write_behind = raid.level.family() == RaidFamily::Raid1;
    if !takes_write_behind && raid.write_behind.is_some_and(|writes| writes != 0) {
        checker.segment_error(place, "it has writebehind, which only raid1 has");
    }
}

fn data_offset(checker: &mut Checker<'_>, place: Place, segment: &Segment, raid: &Raid) {
    // 0 and 1 stand for no offset.
    let Some(offset) = raid.data_offset.filter(|offset| offset.0 > 1) else {
        return;
    };
    let extent = checker.vg.extent_size;
    let is_fitting = segment.type_flags.contains(&TypeFlag::ReshapeDataOffset)
        && extent != Sectors::ZERO
        && offset % extent == Sectors::ZERO;
    if !is_fitting {
        checker.segment_error(place, format!("its data offset of {offset} does not fit"));
    }
}

fn equal_lengths(
    checker: &mut Checker<'_>,
    place: Place,
    mut parts: impl Iterator<Item = LvId>,
    what: &str,
) {
    let vg = checker.vg;
    let Some(first) = parts.next().map(|part| vg.lv(part).extents()) else {
        return;
    };
    if parts.any(|part| vg.lv(part).extents() != first) {
        checker.segment_error(place, format!("its {what} are not of one size"));
    }
}
