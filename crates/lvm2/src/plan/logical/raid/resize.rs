//! An array grows and shrinks by its images, each on its own physical volumes.
//!
//! Metadata grows where the bitmap needs it, and never shrinks. What a bitmap grows by is zeros.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use super::super::mirror::pvs_below;
use super::super::resize::leg_of;
use super::integrity::{data_of, go_with_data, grow_checksums};
use super::parts::{Array, array};
use super::size::{grown_region_size, meta_extents};
use crate::model::{
    AllocationPolicy, LvId, PvFlag, RaidFamily, RaidImage, SegmentType, VolumeGroup,
};
use crate::plan::allocate::{Leg, Request, allocate};
use crate::plan::change::Before;
use crate::plan::checksums::require_no_checksums;
use crate::plan::draft::{Draft, refused};
use crate::plan::places::FreeSpace;
use crate::plan::size::Exactness;
use crate::plan::{ranges, segments};
use crate::{Bytes, Error, Extents, Kind, Result, Sectors};

/// Fails where an image of an array is lost: it would grow on one side only.
pub(in crate::plan::logical) fn require_whole(
    vg: &VolumeGroup,
    id: LvId,
    array: &Array,
) -> Result<()> {
    match array
        .raid
        .images
        .iter()
        .find(|image| is_image_lost(vg, image))
    {
        None => Ok(()),
        Some(lost) => Err(refused(format!(
            "Logical volume {}/{} lost its image {}; repair it first (lvconvert --repair)",
            vg.name,
            vg.lv(id).name(),
            vg.lv(lost.data).name()
        ))),
    }
}

/// Whether an image or its metadata is an error, or on a physical volume that is missing.
pub(super) fn is_image_lost(vg: &VolumeGroup, image: &RaidImage) -> bool {
    let is_lost = |lv: LvId| {
        let is_error = matches!(vg.lv(lv).first(), Some(SegmentType::Error));
        let pvs = pvs_below(vg, lv);
        is_error || pvs.iter().any(|pv| vg.pv(*pv).flags.has(PvFlag::Missing))
    };
    is_lost(image.data) || image.meta.is_some_and(is_lost)
}

/// Where an image goes on: behind its last extent, beside its metadata.
fn leg(vg: &VolumeGroup, image: RaidImage) -> Leg {
    let mut leg = leg_of(vg, data_of(vg, image.data), 1);
    if let Some(meta) = image.meta {
        leg.pvs.extend(pvs_below(vg, meta));
    }
    leg
}

/// Gives an array `more` extents of data, or fewer where that will do.
pub(in crate::plan::logical) fn extend_array(
    draft: &mut Draft,
    id: LvId,
    more: Extents,
    (policy, exactness, cling_tags): (AllocationPolicy, Exactness, &[alloc::string::String]),
    space: &mut FreeSpace,
) -> Result<()> {
    let found = array(&draft.vg, id).expect("the caller looked");
    require_whole(&draft.vg, id, &found)?;
    let data = found.data() as u64;
    assert!(more.0.is_multiple_of(data), "images are as long");
    let images = found.raid.images.clone();
    // Checksums have one disk to go to, data may have others.
    let more = Extents(more.0 / data);
    for image in &images {
        grow_checksums(draft, (image.data, more), policy, space)?;
    }
    let mut request = Request::new(more, images.len(), 1, policy);
    request.exactness = exactness;
    request.cling_tags = cling_tags;
    request.legs = images.iter().map(|image| leg(&draft.vg, *image)).collect();
    let name = draft.vg.lv(id).name().to_owned();
    let runs = allocate(&draft.vg, space, &request).map_err(|shortage| shortage.error(&name))?;
    let copies = found.copies();
    if copies > 1 {
        draft.note(format!("Extending {copies} mirror images."));
    }
    for (index, image) in images.iter().enumerate() {
        let data = data_of(&draft.vg, image.data);
        let old = draft.vg.lv(data).extents();
        let grown = segments::of_runs(&runs, index, 1, Sectors::ZERO, old);
        segments::append(&mut draft.vg.lv_mut(data).segments, grown);
    }
    let taken: Extents = runs.iter().map(|run| run.length).sum();
    let extents = found.extents + taken * data;
    grow_metas(draft, id, &found, extents, policy, space)?;
    for image in &images {
        go_with_data(draft, image.data)?;
    }
    draft.vg.lv_mut(id).segments[0].length = extents;
    Ok(())
}

/// Lets the bitmap cover `extents` of data.
fn grow_metas(
    draft: &mut Draft,
    id: LvId,
    found: &Array,
    extents: Extents,
    policy: AllocationPolicy,
    space: &mut FreeSpace,
) -> Result<()> {
    if found.level().family() == RaidFamily::Raid0 {
        return Ok(());
    }
    let region = grown_region_size(draft, found.raid.region_size, extents)?;
    if let SegmentType::Raid(raid) = &mut draft.vg.lv_mut(id).segments[0].kind {
        raid.region_size = region;
    }
    let length = Extents(extents.0 / found.data() as u64);
    let needed = meta_extents(found.level(), length, region, draft.vg.extent_size);
    let metas: Vec<LvId> = found
        .raid
        .images
        .iter()
        .filter_map(|one| one.meta)
        .collect();
    for (image, meta) in found.raid.images.iter().zip(metas) {
        let old = draft.vg.lv(meta).extents();
        if needed <= old {
            continue;
        }
        let mut request = Request::new(needed - old, 1, 1, policy);
        let mut own = leg_of(&draft.vg, meta, 1);
        own.pvs.extend(pvs_below(&draft.vg, image.data));
        request.legs = [own].into();
        // It may be anywhere but on the physical volumes of other images.
        let others = found
            .raid
            .images
            .iter()
            .filter(|one| one.data != image.data);
        request.apart = others
            .flat_map(|one| pvs_below(&draft.vg, one.data))
            .collect();
        let runs = allocate(&draft.vg, space, &request)
            .map_err(|shortage| shortage.error(draft.vg.lv(meta).name()))?;
        let grown = segments::of_runs(&runs, 0, 1, Sectors::ZERO, old);
        segments::append(&mut draft.vg.lv_mut(meta).segments, grown);
        let bytes = |extents: Extents| -> Result<Bytes> {
            let sectors = extents.to_sectors(draft.vg.extent_size);
            let bytes = sectors.and_then(Sectors::to_bytes);
            bytes.ok_or_else(|| Error::new(Kind::Limit, "The array's metadata is too large"))
        };
        let pieces = ranges::pieces(&draft.vg, meta, bytes(old)?, bytes(needed - old)?)?;
        assert!(!pieces.is_empty(), "what was added lies somewhere");
        draft.before.push(Before::Fill { pieces, byte: 0 });
    }
    Ok(())
}

/// Leaves an array `extents` of data, a multiple of its images' worth.
pub(in crate::plan::logical) fn reduce_array(
    draft: &mut Draft,
    id: LvId,
    extents: Extents,
) -> Result<()> {
    let found = array(&draft.vg, id).expect("the caller looked");
    require_no_checksums(&draft.vg, id)?;
    let data = found.data() as u64;
    assert!(extents.0.is_multiple_of(data), "images are as long");
    assert!(extents < found.extents, "it becomes smaller");
    let size = extents.to_sectors(draft.vg.extent_size).unwrap_or_default();
    if found.raid.region_size > size {
        return Err(refused(format!(
            "Logical volume {} cannot become smaller than a region of its bitmap",
            draft.vg.lv(id).name()
        )));
    }
    let length = Extents(extents.0 / data);
    for image in &found.raid.images {
        segments::truncate(&mut draft.vg.lv_mut(image.data).segments, length)?;
    }
    let is_cut = |image: &RaidImage| draft.vg.lv(image.data).extents() == length;
    assert!(found.raid.images.iter().all(is_cut), "all become as short");
    draft.vg.lv_mut(id).segments[0].length = extents;
    Ok(())
}
