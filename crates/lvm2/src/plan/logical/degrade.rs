//! A RAID volume goes on without the images that are gone.
//!
//! An image that stood on a lost physical volume becomes a segment of type `error`, and so does its
//! metadata, each as long as before: the volume keeps its level, its number of images and its size,
//! as stock's `vgreduce --removemissing --force` leaves it. Whoever activates it finds images that
//! cannot be read, and goes on with the others as far as the level allows. Where images have
//! checksums, those of one that is gone go with it.
//!
//! Nothing is removed, even where too few images are left: that is for people to decide. An image
//! that is being rebuilt does not hold all data yet; a volume that would be left to one is refused,
//! unless people name it.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::mirror::pvs_below;
use super::raid::checksums_under;
use super::repair::ImageStates;
use crate::Extents;
use crate::Result;
use crate::model::{
    Area, LvFlag, LvId, PvId, Raid, RaidFamily, RaidImage, Segment, SegmentType, VolumeGroup,
};
use crate::plan::draft::{Draft, refused};
use crate::plan::segments;

/// What a RAID volume still is without some of its images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::plan) enum Redundancy {
    /// All images are there.
    Whole,
    /// All data is there.
    Degraded,
    /// Data is gone.
    Lost,
}

/// Replaces the images of a RAID volume that stand on `gone`, and their metadata, by errors. Gives
/// the names in `states` that it made use of.
pub(in crate::plan) fn degrade_raid(
    draft: &mut Draft,
    id: LvId,
    gone: &BTreeSet<PvId>,
    states: &ImageStates,
) -> Result<Vec<String>> {
    let left = redundancy(&draft.vg, id, gone);
    if left == Redundancy::Whole {
        return Ok(Vec::new());
    }
    let used = require_rebuilt(draft, id, gone, states)?;
    let mut parts = Vec::new();
    for segment in &draft.vg.lv(id).segments {
        if let SegmentType::Raid(raid) = &segment.kind {
            parts.extend(raid.images.iter().map(|image| image.data));
            parts.extend(raid.images.iter().filter_map(|image| image.meta));
        }
    }
    let mut lost = 0;
    for part in parts {
        if pvs_below(&draft.vg, part).is_disjoint(gone) {
            continue;
        }
        let lv = draft.vg.lv(part);
        let under = checksums_under(&draft.vg, part);
        let mut areas = lv.segments.iter().flat_map(Segment::areas);
        if under.is_none() && areas.any(|area| matches!(area, Area::Lv { .. })) {
            return Err(refused(format!(
                "Logical volume {}/{} is made of other volumes and lost extents; it cannot be \
                 replaced yet",
                draft.vg.name,
                lv.name()
            )));
        }
        let extents = lv.extents();
        let error = segments::segment(Extents::ZERO, extents, SegmentType::Error);
        draft.vg.lv_mut(part).segments = vec![error];
        if let Some((origin, metadata)) = under {
            draft.vg.remove_lv(origin);
            draft.vg.remove_lv(metadata);
        }
        lost += 1;
    }
    let name = draft.vg.lv(id).name().to_owned();
    draft.warn(match left {
        Redundancy::Lost => format!(
            "RAID volume {name} lost {lost} of its parts, which is more than its level survives: \
             it is kept, but its data is gone unless they come back."
        ),
        _ => format!("RAID volume {name} lost {lost} of its parts, and goes on without them."),
    });
    Ok(used)
}

/// Fails where the volume would have all its data only with images that are being rebuilt; gives
/// those that people have named.
fn require_rebuilt(
    draft: &mut Draft,
    id: LvId,
    gone: &BTreeSet<PvId>,
    states: &ImageStates,
) -> Result<Vec<String>> {
    let vg = &draft.vg;
    let trusted = redundancy_with(vg, id, gone, Rebuilding::Trusted);
    if trusted == Redundancy::Lost || redundancy(vg, id, gone) != Redundancy::Lost {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for segment in &vg.lv(id).segments {
        if let SegmentType::Raid(raid) = &segment.kind {
            let images = raid.images.iter().filter(|image| is_rebuilding(vg, image));
            let left = images.filter(|image| pvs_below(vg, image.data).is_disjoint(gone));
            names.extend(left.map(|image| vg.lv(image.data).name().to_owned()));
        }
    }
    let volume = format!("{}/{}", vg.name, vg.lv(id).name());
    if !names.iter().all(|name| states.outdated.contains(name)) {
        return Err(refused(format!(
            "RAID volume {volume} is not changed: of the images that are left, {} is still being \
             rebuilt and does not hold all data; what it lacks is on a missing physical volume. \
             Bring that one back. To go on nevertheless, and lose that, add --useoutdated {}; to \
             give the volume up, remove {volume} first",
            names.join(" and "),
            names.join(" --useoutdated ")
        )));
    }
    draft.warn(format!(
        "RAID volume {volume} goes on with {}, which was being rebuilt: what it does not hold yet \
         is lost.",
        names.join(" and ")
    ));
    Ok(names)
}

/// What is thought of images that are being rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rebuilding {
    Trusted,
    Lost,
}

fn is_rebuilding(vg: &VolumeGroup, image: &RaidImage) -> bool {
    let parts = [Some(image.data), image.meta];
    let mut parts = parts.into_iter().flatten();
    parts.any(|part| vg.lv(part).flags.has(LvFlag::Rebuild))
}

/// What is left of a RAID volume without `gone`; images that are errors already, or are being
/// rebuilt, count as lost.
pub(in crate::plan) fn redundancy(vg: &VolumeGroup, id: LvId, gone: &BTreeSet<PvId>) -> Redundancy {
    redundancy_with(vg, id, gone, Rebuilding::Lost)
}

fn redundancy_with(
    vg: &VolumeGroup,
    id: LvId,
    gone: &BTreeSet<PvId>,
    rebuilding: Rebuilding,
) -> Redundancy {
    let is_lost = |lv: &LvId| {
        let is_error = matches!(vg.lv(*lv).first(), Some(SegmentType::Error));
        is_error || !pvs_below(vg, *lv).is_disjoint(gone)
    };
    let of_raid = |raid: &Raid| {
        let is_image_lost = |image: &RaidImage| {
            let counts = rebuilding == Rebuilding::Lost && is_rebuilding(vg, image);
            counts || is_lost(&image.data) || image.meta.as_ref().is_some_and(is_lost)
        };
        let lost: Vec<bool> = raid.images.iter().map(is_image_lost).collect();
        if survives(raid, &lost) {
            if lost.contains(&true) {
                Redundancy::Degraded
            } else {
                Redundancy::Whole
            }
        } else {
            Redundancy::Lost
        }
    };
    let segments = vg.lv(id).segments.iter();
    let states = segments.filter_map(|segment| match &segment.kind {
        SegmentType::Raid(raid) => Some(of_raid(raid)),
        _ => None,
    });
    states.max().unwrap_or(Redundancy::Whole)
}

/// Whether all data of a RAID is there without the images that are `lost`.
fn survives(raid: &Raid, lost: &[bool]) -> bool {
    assert_eq!(lost.len(), raid.images.len(), "each image is lost or not");
    let count = lost.iter().filter(|lost| **lost).count();
    match raid.level.family() {
        RaidFamily::Raid0 => count == 0,
        RaidFamily::Raid1 => count < lost.len(),
        RaidFamily::Raid4 | RaidFamily::Raid5 => count <= 1,
        RaidFamily::Raid6 => count <= 2,
        RaidFamily::Raid10 => {
            // Copies of a chunk stand on neighbours; with an even division always on the same.
            let copies = raid.copies() as usize;
            let step = if lost.len().is_multiple_of(copies) {
                copies
            } else {
                1
            };
            let mut starts = (0..lost.len()).step_by(step);
            !starts.any(|start| (0..copies).all(|next| lost[(start + next) % lost.len()]))
        }
    }
}
