//! `vgchange -s`: the same bytes in extents of another size.
//!
//! Nothing moves, so every boundary between two extents that matters must be one afterwards too,
//! and as in stock so must the ends of the physical volumes.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use super::create::require_extent_size;
use crate::model::{Area, LvId, SegmentType, VolumeGroup};
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, pv_name, refused, require_known_segments};
use crate::{Extents, Result, Sectors};

pub(super) fn set_extent_size(draft: &mut Draft, new: Sectors) -> Result<()> {
    require_extent_size(new)?;
    let old = draft.vg.extent_size;
    if old == new {
        draft.note(format!(
            "Physical extent size of VG {} is already {}.",
            draft.vg.name,
            display_size(new)
        ));
        return Ok(());
    }
    require_known_segments(&draft.vg)?;
    require_fit(&draft.vg, old, new)?;
    let convert = |extents: Extents| -> Option<Extents> {
        let sectors = extents.to_sectors(old)?;
        let is_even = sectors % new == Sectors::ZERO;
        is_even.then_some(Extents(sectors.0 / new.0))
    };
    convert_pvs(&mut draft.vg, old, new)?;
    let lvs: Vec<LvId> = draft.vg.lvs().map(|(id, _)| id).collect();
    for id in lvs {
        let name = draft.vg.lv(id).name().to_owned();
        for segment in &mut draft.vg.lv_mut(id).segments {
            let misfit = || refused(format!("New extent size is not a perfect fit for {name}"));
            for extents in [
                &mut segment.start,
                &mut segment.length,
                &mut segment.reshape,
            ] {
                *extents = convert(*extents).ok_or_else(misfit)?;
            }
            for area in segment.areas_mut() {
                let (Area::Pv { start, .. } | Area::Lv { start, .. }) = area;
                *start = convert(*start).ok_or_else(misfit)?;
            }
            match &mut segment.kind {
                SegmentType::Striped(striped)
                    if striped.areas.len() > 1 && striped.stripe_size > new =>
                {
                    return Err(refused(format!(
                        "New extent size is smaller than the stripes of {name}"
                    )));
                }
                SegmentType::Mirror(mirror) => {
                    if let Some(moved) = &mut mirror.extents_moved {
                        *moved = convert(*moved).ok_or_else(misfit)?;
                    }
                }
                SegmentType::Vdo(vdo) => vdo.offset = convert(vdo.offset).ok_or_else(misfit)?,
                _ => {}
            }
            if segment.area_length().is_none() && !segment.areas().is_empty() {
                return Err(misfit());
            }
        }
    }
    draft.vg.extent_size = new;
    let mut lvs = draft.vg.lvs();
    let is_kept = lvs.all(|(id, lv)| lv.size(new) == draft.old.lv(id).size(old));
    debug_assert!(is_kept, "no volume changes its size");
    drop(lvs);
    Ok(())
}

/// Refuses a size that does not divide all physical volumes, in stock's words and order.
fn require_fit(vg: &VolumeGroup, old: Sectors, new: Sectors) -> Result<()> {
    let misfit = |count: Extents, name: &str| {
        let size = count
            .to_sectors(old)
            .filter(|size| *size % new != Sectors::ZERO)?;
        Some(refused(format!(
            "New size {} for {name} not an exact number of new extents.",
            size.0
        )))
    };
    let all = vg.pvs().map(|(_, pv)| pv.pe_count.0).sum();
    let of_group = misfit(Extents(all), &vg.name);
    if new > old && of_group.is_some() {
        return Err(refused("New extent size is not a perfect fit"));
    }
    let mut pvs = vg.pvs();
    let of_pvs = || pvs.find_map(|(id, pv)| misfit(pv.pe_count, &pv_name(vg, id)));
    of_group.or_else(of_pvs).map_or(Ok(()), Err)
}

fn convert_pvs(vg: &mut VolumeGroup, old: Sectors, new: Sectors) -> Result<()> {
    let pvs: Vec<_> = vg.pvs().map(|(id, _)| id).collect();
    for id in pvs {
        let size = vg.pv(id).pe_count.to_sectors(old);
        let count = size.and_then(|size| size.whole_extents(new));
        let Some(count) = count.filter(|count| u32::try_from(count.0).is_ok()) else {
            let name = pv_name(vg, id);
            return Err(refused(format!(
                "Physical volume {name} would have too many extents"
            )));
        };
        vg.pv_mut(id).pe_count = count;
    }
    Ok(())
}
