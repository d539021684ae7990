//! Images with checksums: whatever changes them has to change these, too.
//!
//! An image with checksums is three volumes, and who adds an extent to it, or puts another image in
//! its place, has to think of all of them. Whatever a command does, its draft is compared: an array
//! over such images may go as a whole, and its checksums alone may, where the data stay. Else it
//! stays what it is, but that
//!
//! ```text
//!   images grow          by extents behind their last one, and their checksums suffice
//!   images are replaced  as a whole, by others with checksums of the same kind
//!   a mirror             has more images of that kind, or fewer
//!   an image is lost     and is an error from now on, until it is replaced
//! ```
//!
//! That is what stock does with them. Who wants anything else takes the checksums away, and makes
//! new ones afterwards.

use alloc::format;

use super::draft::refused;
use super::segments;
use crate::model::{
    Integrity, IntegritySettings, LvId, Raid, RaidLevel, Segment, SegmentType, VolumeGroup,
};
use crate::{Error, Extents, Result, Sectors};

const MIB: u64 = 1 << 20;

/// Refuses a change of what stands on checksums, or is made of them, that leaves them behind.
pub(super) fn require_checksums_kept(old: &VolumeGroup, new: &VolumeGroup) -> Result<()> {
    for (image, lv) in old.lvs() {
        let parts = lv.segments.iter().find_map(|segment| match &segment.kind {
            SegmentType::Integrity(parts) => Some(parts),
            _ => None,
        });
        let Some(parts) = parts else { continue };
        let whole = array_over(old, image);
        let is_array_kept = || whole.is_none_or(|whole| is_array_kept(old, new, whole));
        let is_there = |id: &LvId| now(old, new, *id).is_some();
        let own = [Some(image), Some(parts.origin), parts.metadata];
        let own = || own.iter().flatten();
        let is_fine = if own().all(is_there) {
            is_image_kept(old, new, (image, parts)) && is_array_kept()
        } else if own().any(is_there) {
            are_taken_away(old, new, (image, parts))
                || is_lost(old, new, (image, parts)) && is_array_kept()
        } else {
            !whole.as_ref().is_some_and(is_there) || is_array_kept()
        };
        if !is_fine {
            return Err(left_behind(old, whole.unwrap_or(image)));
        }
    }
    Ok(())
}

/// Whether images of an array have checksums.
pub(super) fn has_checksums(vg: &VolumeGroup, whole: LvId) -> bool {
    let has = |lv: LvId| matches!(vg.lv(lv).first(), Some(SegmentType::Integrity(_)));
    raid(vg, whole).is_some_and(|(_, raid)| raid.images.iter().any(|image| has(image.data)))
}

/// Fails where they have.
pub(super) fn require_no_checksums(vg: &VolumeGroup, whole: LvId) -> Result<()> {
    if has_checksums(vg, whole) {
        return Err(left_behind(vg, whole));
    }
    Ok(())
}

/// What is said of a change that checksums do not go along with.
fn left_behind(vg: &VolumeGroup, whole: LvId) -> Error {
    let name = format!("{}/{}", vg.name, vg.lv(whole).name());
    refused(format!(
        "Logical volume {name} has checksums (raidintegrity), which do not go along with this: \
         take them away (lvconvert --raidintegrity n {name}), do it, and make new ones (lvconvert \
         --raidintegrity y {name})"
    ))
}

/// A volume as it is in the new group, if it is.
fn now(old: &VolumeGroup, new: &VolumeGroup, id: LvId) -> Option<LvId> {
    new.lv_by_uuid(&old.lv(id).uuid)
}

fn raid(vg: &VolumeGroup, id: LvId) -> Option<(&Segment, &Raid)> {
    match vg.lv(id).segments.as_slice() {
        [segment] => match &segment.kind {
            SegmentType::Raid(raid) => Some((segment, raid)),
            _ => None,
        },
        _ => None,
    }
}

/// The array that has this image.
fn array_over(vg: &VolumeGroup, image: LvId) -> Option<LvId> {
    let has = |raid: &Raid| raid.images.iter().any(|one| one.data == image);
    let mut all = vg.lvs().map(|(id, _)| id);
    all.find(|id| raid(vg, *id).is_some_and(|(_, raid)| has(raid)))
}

/// Whether an array is what it was, but that it may have grown and have other images, which all
/// have the checksums that its images had, or are lost.
fn is_array_kept(old: &VolumeGroup, new: &VolumeGroup, whole: LvId) -> bool {
    let is = now(old, new, whole).and_then(|whole| raid(new, whole));
    let (Some((was, before)), Some((is, after))) = (raid(old, whole), is) else {
        return false;
    };
    let kind = |vg: &VolumeGroup, image: LvId| match vg.lv(image).segments.as_slice() {
        [segment] if matches!(segment.kind, SegmentType::Integrity(_)) => {
            let settings = IntegritySettings::of(segment).ok()?;
            Some((settings.mode, settings.block_size))
        }
        _ => None,
    };
    let had = before.images.iter().find_map(|image| kind(old, image.data));
    let is_lost = |image: LvId| matches!(new.lv(image).first(), Some(SegmentType::Error));
    let mut images = after.images.iter().map(|image| image.data);
    let has_them = had.is_some() && images.all(|one| kind(new, one) == had || is_lost(one));
    let (count, regions) = (before.images.len(), before.region_size);
    has_them
        && shape(was) == shape(is)
        && is.length >= was.length
        && (is.length > was.length || after.region_size == regions)
        && (after.images.len() == count || after.level == RaidLevel::Raid1)
}

/// An array without what may become another one.
fn shape(array: &Segment) -> Segment {
    let mut shape = array.clone();
    shape.length = Extents::ZERO;
    if let SegmentType::Raid(raid) = &mut shape.kind {
        raid.images.clear();
        raid.region_size = Sectors::ZERO;
        raid.write_behind = None;
        (raid.min_recovery_rate, raid.max_recovery_rate) = (None, None);
    }
    shape
}

/// Whether an image has the data and the checksums that it had, or more of both.
fn is_image_kept(old: &VolumeGroup, new: &VolumeGroup, (image, parts): (LvId, &Integrity)) -> bool {
    let of = |id: LvId| {
        let now = now(old, new, id).map(|id| new.lv(id).segments.as_slice());
        (old.lv(id).segments.as_slice(), now.unwrap_or_default())
    };
    let (was, is) = of(image);
    let begins = |id: LvId| {
        let (was, is) = of(id);
        begins_as(was, is)
    };
    if !begins(parts.origin) || !parts.metadata.is_none_or(begins) {
        return false;
    }
    if was == is {
        return of(parts.origin).0 == of(parts.origin).1;
    }
    let ([was], [is], Some(metadata)) = (was, is, parts.metadata) else {
        return false;
    };
    let Some(data) = is.length.to_sectors(new.extent_size) else {
        return false;
    };
    let mut grown = was.clone();
    grown.length = is.length;
    IntegritySettings::set_data_sectors(&mut grown, data);
    let has = |id: LvId| segments::total(of(id).1);
    let needed = metadata_extents(is.length, new.extent_size);
    *is == grown
        && is.length > was.length
        && has(parts.origin) == is.length
        && needed.is_ok_and(|needed| has(metadata) >= needed)
}

/// Whether segments begin as they did, and go on behind that, if they do.
fn begins_as(was: &[Segment], is: &[Segment]) -> bool {
    let same = |(was, is): (&Segment, &Segment)| {
        let mut cut = is.clone();
        cut.length = cut.length.min(was.length);
        cut == *was
    };
    is.len() >= was.len()
        && was.iter().zip(is).all(same)
        // Only the last one may be longer than it was.
        && was.iter().zip(is).rev().skip(1).all(|(was, is)| was == is)
}

/// Whether an image is an error as long as it was, and nothing else is left of it.
fn is_lost(old: &VolumeGroup, new: &VolumeGroup, (image, parts): (LvId, &Integrity)) -> bool {
    let is_gone = |id: LvId| now(old, new, id).is_none();
    let is = now(old, new, image).map(|image| new.lv(image));
    let is_error = is.is_some_and(|is| {
        matches!(is.first(), Some(SegmentType::Error)) && is.extents() == old.lv(image).extents()
    });
    is_error && is_gone(parts.origin) && parts.metadata.is_none_or(is_gone)
}

/// Whether an image is what its data were, and its checksums are gone; the array is as it was.
fn are_taken_away(
    old: &VolumeGroup,
    new: &VolumeGroup,
    (image, parts): (LvId, &Integrity),
) -> bool {
    let is = |id: LvId| now(old, new, id).map(|id| &new.lv(id).segments);
    let whole = array_over(old, image);
    is(parts.origin).is_none()
        && parts.metadata.is_none_or(|metadata| is(metadata).is_none())
        && is(image) == Some(&old.lv(parts.origin).segments)
        && whole.is_none_or(|whole| is(whole) == Some(&old.lv(whole).segments))
}

/// How long stock makes the metadata of so much data: 4 MiB for each 500 MiB, and a place for the
/// journal. Extents are whole.
pub(super) fn metadata_extents(data: Extents, extent_size: Sectors) -> Result<Extents> {
    let bytes = |extents: Extents| extents.to_sectors(extent_size).and_then(Sectors::to_bytes);
    let too_large = || refused("An image is too large for checksums");
    assert!(extent_size > Sectors::ZERO, "extents have a length");
    let data = bytes(data).ok_or_else(too_large)?.0;
    let journal = match data {
        ..=0x2000_0000 => 4,
        0x2000_0001..=0x4000_0000 => 8,
        0x4000_0001..=0x1_0000_0000 => 32,
        _ => 64,
    };
    let metadata = ((data / (500 * MIB) + 1) * 4 + journal) * MIB;
    let extent = extent_size.to_bytes().ok_or_else(too_large)?.0;
    Ok(Extents(metadata.div_ceil(extent)))
}

#[cfg(test)]
mod tests;
