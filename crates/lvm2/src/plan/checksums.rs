//! Images with checksums: until what changes them knows about these, they stay what they are.
//!
//! An image with checksums is two volumes, and who adds an extent to it, takes one away, or puts
//! another image in its place has to change both. Whatever a command does, its draft is compared:
//! arrays over such images keep their images, and these their parts, or all of them go. Checksums
//! alone may go, where the data stay.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::draft::refused;
use crate::Result;
use crate::model::{LvId, SegmentType, VolumeGroup};

/// Refuses a change of what stands on checksums, or is made of them.
pub(super) fn require_checksums_kept(old: &VolumeGroup, new: &VolumeGroup) -> Result<()> {
    for (image, lv) in old.lvs() {
        let has_checksums = |kind: &SegmentType| matches!(kind, SegmentType::Integrity(_));
        if !lv
            .segments
            .iter()
            .any(|segment| has_checksums(&segment.kind))
        {
            continue;
        }
        let (whole, all) = together(old, image);
        let present = |id: &&LvId| new.lv_by_uuid(&old.lv(**id).uuid).is_some();
        let left = all.iter().filter(present).count();
        let is_same = |id: &LvId| {
            let was = old.lv(*id);
            let is = new.lv_by_uuid(&was.uuid).map(|id| new.lv(id));
            is.is_some_and(|is| is.segments == was.segments)
        };
        let is_kept = left == all.len() && all.iter().all(is_same);
        if left == 0 || is_kept || are_taken_away(old, new, image) {
            continue;
        }
        return Err(refused(format!(
            "Logical volume {}/{} has checksums (raidintegrity): it can be renamed and removed; \
             lvconvert --raidintegrity n takes them away, and --raidintegrity y makes new ones",
            old.name,
            old.lv(whole).name()
        )));
    }
    Ok(())
}

/// Whether an image is what its data were, and its checksums are gone; the array is as it was.
fn are_taken_away(old: &VolumeGroup, new: &VolumeGroup, image: LvId) -> bool {
    let Some(SegmentType::Integrity(parts)) = old.lv(image).first() else {
        return false;
    };
    let now = |id: LvId| new.lv_by_uuid(&old.lv(id).uuid).map(|id| new.lv(id));
    let (whole, _) = together(old, image);
    let is_gone = |id: LvId| now(id).is_none();
    is_gone(parts.origin)
        && parts.metadata.is_none_or(is_gone)
        && now(image).is_some_and(|is| is.segments == old.lv(parts.origin).segments)
        && now(whole).is_some_and(|is| is.segments == old.lv(whole).segments)
}

/// The volume that people know, and what an image goes with: that volume, its data and its
/// checksums. Where the superblock of its array lies does not matter to either.
fn together(vg: &VolumeGroup, image: LvId) -> (LvId, Vec<LvId>) {
    let mut all = vec![image];
    for segment in &vg.lv(image).segments {
        segment.for_each_reference(|part, _| all.push(part));
    }
    let mut whole = image;
    for (user, lv) in vg.lvs() {
        let mut is_user = false;
        let is_array = |kind: &SegmentType| matches!(kind, SegmentType::Raid(_));
        for segment in lv.segments.iter().filter(|segment| is_array(&segment.kind)) {
            segment.for_each_reference(|part, _| is_user |= part == image);
        }
        if is_user {
            whole = user;
            all.push(user);
        }
    }
    debug_assert!(all.contains(&whole), "it is one of them");
    (whole, all)
}

#[cfg(test)]
mod tests;
