//! Images are put into an array, and taken out.
//!
//! What is put in lies on other physical volumes than the rest of the array. It gets the number of
//! the place that it takes; where images go, those behind them move up, as in stock.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::super::mirror::pvs_below;
use super::integrity::{
    ChecksumOptions, METADATA, ORIGIN, add_metadata, checksums_under, layer, place_metadata,
};
use super::parts::{Array, add_image, divide, names};
use super::size::meta_extents;
use crate::model::{AllocationPolicy, LvFlag, LvId, PvId, RaidImage, SegmentType, VolumeGroup};
use crate::plan::allocate::{Request, allocate};
use crate::plan::author::Author;
use crate::plan::checksums::metadata_extents;
use crate::plan::draft::{Draft, refused};
use crate::plan::places::FreeSpace;
use crate::plan::segments;
use crate::{Extents, Result};

/// The physical volumes of an image and its metadata.
pub(super) fn pvs_of(vg: &VolumeGroup, image: &RaidImage) -> BTreeSet<PvId> {
    let parts = image.meta.into_iter().chain([image.data]);
    parts.flat_map(|part| pvs_below(vg, part)).collect()
}

/// Where new images may lie, and how they are chosen.
pub(super) struct Room<'a> {
    pub(super) space: FreeSpace,
    pub(super) policy: Option<AllocationPolicy>,
    /// Physical volumes that are not used beside those of the array.
    pub(super) apart: &'a BTreeSet<PvId>,
}

/// How long images are, and their metadata; and the checksums that they have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) length: Extents,
    pub(super) meta: Extents,
    pub(super) checksums: Option<ChecksumOptions>,
}

impl Shape {
    /// That of the images of an array.
    pub(super) fn of(array: &Array, vg: &VolumeGroup) -> Result<Self> {
        let length = Extents(array.extents.0 / array.data() as u64);
        let region = array.raid.region_size;
        Ok(Self {
            length,
            meta: meta_extents(array.level(), length, region, vg.extent_size),
            checksums: ChecksumOptions::of(vg, array)?,
        })
    }
}

/// Adds images with these numbers to the group, which the array is still to name, and which are to
/// be filled.
pub(super) fn add_images(
    draft: &mut Draft,
    id: LvId,
    (shape, kept): (Shape, &[RaidImage]),
    numbers: &[usize],
    room: &mut Room<'_>,
    author: &mut Author<'_>,
) -> Result<Vec<RaidImage>> {
    assert!(!numbers.is_empty(), "images are added");
    let name = draft.vg.lv(id).name().to_owned();
    let own = draft.vg.lv(id).allocation;
    let policy = room.policy.or(own).unwrap_or(draft.vg.allocation);
    let Shape { length, meta, .. } = shape;
    let sums = match shape.checksums {
        Some(_) => metadata_extents(length, draft.vg.extent_size)?,
        None => Extents::ZERO,
    };
    let mut request = Request::new(length + meta, numbers.len(), 1, policy);
    request.apart = kept
        .iter()
        .flat_map(|image| pvs_of(&draft.vg, image))
        .chain(room.apart.iter().copied())
        .collect();
    // Checksums lie on the disk of their image: one that has room for both in one piece comes
    // before others.
    let together = (sums > Extents::ZERO).then(|| Request {
        length: length + meta + sums,
        policy: AllocationPolicy::Contiguous,
        ..request.clone()
    });
    let mut space = room.space.clone();
    let together = together.and_then(|request| allocate(&draft.vg, &mut space, &request).ok());
    let runs = match &together {
        Some(runs) => {
            room.space = space;
            runs.clone()
        }
        None => allocate(&draft.vg, &mut room.space, &request)
            .map_err(|shortage| shortage.error(&name))?,
    };
    let mut added = Vec::new();
    for (leg, number) in numbers.iter().enumerate() {
        let behind = if together.is_some() {
            sums
        } else {
            Extents::ZERO
        };
        let [metas, images, sums] = divide(&runs, leg, [meta, length, behind]);
        let image = add_image(draft, (&name, *number), [metas, images], own, author)?;
        if let Some(options) = shape.checksums {
            let metadata = if sums.is_empty() {
                add_metadata(draft, image.data, &mut room.space, author)?
            } else {
                place_metadata(draft, image.data, sums, author)?
            };
            layer(draft, image.data, (metadata, options), author)?;
        }
        draft.vg.lv_mut(image.data).flags.insert(LvFlag::Rebuild);
        added.push(image);
    }
    Ok(added)
}

/// Removes the volumes of images that no array names any more.
pub(super) fn remove_images(vg: &mut VolumeGroup, images: &[RaidImage]) {
    for image in images {
        let under = checksums_under(vg, image.data);
        vg.remove_lv(image.data);
        if let Some((origin, metadata)) = under {
            vg.remove_lv(origin);
            vg.remove_lv(metadata);
        }
        if let Some(meta) = image.meta {
            vg.remove_lv(meta);
        }
    }
}

/// Lets an array consist of these images.
pub(super) fn set_images(vg: &mut VolumeGroup, id: LvId, images: Vec<RaidImage>) {
    assert!(images.len() > 1, "an array has several images");
    match &mut vg.lv_mut(id).segments[0].kind {
        SegmentType::Raid(raid) => raid.images = images,
        _ => unreachable!("the caller has an array"),
    }
}

/// Gives images the numbers of their places.
pub(super) fn number(vg: &mut VolumeGroup, parent: &str, images: &[RaidImage]) -> Result<()> {
    // They only move up, so whoever had the name has moved before.
    for (number, image) in images.iter().enumerate() {
        let (image_name, meta_name) = names(parent, number);
        rename(vg, image.data, &image_name)?;
        if let Some(meta) = image.meta {
            rename(vg, meta, &meta_name)?;
        }
    }
    Ok(())
}

/// Gives an image, or its metadata, another name; what lies under it is called after it.
pub(super) fn rename(vg: &mut VolumeGroup, lv: LvId, name: &str) -> Result<()> {
    if vg.lv(lv).name() == name {
        return Ok(());
    }
    if vg.lv_by_name(name).is_some() {
        return Err(refused(format!(
            "Logical Volume \"{name}\" already exists in volume group \"{}\"",
            vg.name
        )));
    }
    vg.rename_lv(lv, name)?;
    if let Some((origin, metadata)) = checksums_under(vg, lv) {
        rename(vg, origin, &format!("{name}{ORIGIN}"))?;
        rename(vg, metadata, &format!("{name}{METADATA}"))?;
    }
    Ok(())
}

/// An array of copies becomes what its last one is.
pub(super) fn collapse(draft: &mut Draft, id: LvId, last: RaidImage) {
    draft.vg.lv_mut(id).segments.clear();
    let image = draft.vg.remove_lv(last.data);
    if let Some(meta) = last.meta {
        draft.vg.remove_lv(meta);
    }
    let lv = draft.vg.lv_mut(id);
    lv.segments = image.segments;
    lv.flags.remove(LvFlag::NotSynced);
    segments::merge(&mut lv.segments);
}
