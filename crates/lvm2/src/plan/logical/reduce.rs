//! Cutting extents off the end of a volume, evenly through the stripes of the segment that is cut.

use alloc::format;
use alloc::vec;

use super::mirror;
use super::raid::{array, reduce_array};
use crate::model::{LvId, SegmentType};
use crate::plan::draft::{Draft, refused};
use crate::plan::segments;
use crate::{Extents, Result};

/// Leaves the volume `new` extents, or a few more where stripes ask for it.
pub(super) fn reduce(draft: &mut Draft, id: LvId, new: Extents) -> Result<()> {
    if let Some(array) = array(&draft.vg, id) {
        let even = Extents(new.0.next_multiple_of(array.data() as u64));
        require_less(draft, new, even, array.extents)?;
        return reduce_array(draft, id, even);
    }
    let parts = mirror::parts(&draft.vg, id)?;
    let legs = match &parts {
        Some(parts) => parts.images.clone(),
        None => vec![id],
    };
    let old = draft.vg.lv(id).extents();
    let to = rounded(draft, &legs, new, old)?;
    for leg in &legs {
        segments::truncate(&mut draft.vg.lv_mut(*leg).segments, to)?;
    }
    let is_cut = |leg: &LvId| draft.vg.lv(*leg).extents() == to;
    assert!(legs.iter().all(is_cut), "all copies become as short");
    if parts.is_some() {
        segments::truncate(&mut draft.vg.lv_mut(id).segments, to)?;
        clamp_region(draft, id)?;
    }
    Ok(())
}

/// Where legs of `old` extents can be cut at `new` or behind, which is told; that must still be
/// less than what there is.
pub(super) fn rounded(
    draft: &mut Draft,
    legs: &[LvId],
    new: Extents,
    old: Extents,
) -> Result<Extents> {
    let mut to = new;
    for leg in legs {
        to = to.max(boundary(draft, *leg, to));
    }
    require_less(draft, new, to, old)?;
    assert!(new <= to && to < old, "it is cut behind what is kept");
    Ok(to)
}

/// Tells that `new` became `to`, which must still be less than what there is.
fn require_less(draft: &mut Draft, new: Extents, to: Extents, old: Extents) -> Result<()> {
    if to != new {
        draft.note(format!(
            "Rounding size ({} extents) up to stripe boundary size for segment ({} extents).",
            new.0, to.0
        ));
    }
    if to >= old {
        return Err(refused(format!(
            "New size ({} extents) matches existing size ({} extents).",
            to.0, old.0
        )));
    }
    Ok(())
}

/// The first even place to cut at `extents` or behind.
fn boundary(draft: &Draft, leg: LvId, extents: Extents) -> Extents {
    let list = &draft.vg.lv(leg).segments;
    let cut = list
        .iter()
        .find(|segment| segment.start < extents && extents < segment.end());
    match cut {
        Some(segment) => match &segment.kind {
            SegmentType::Striped(striped) => {
                let stripes = striped.areas.len().max(1) as u64;
                let within = (extents - segment.start).0.next_multiple_of(stripes);
                segment.start + Extents(within)
            }
            _ => extents,
        },
        None => extents,
    }
}

/// A region must not become larger than the mirror; its log would have to be made again.
fn clamp_region(draft: &Draft, id: LvId) -> Result<()> {
    let lv = draft.vg.lv(id);
    let size = lv.size(draft.vg.extent_size).unwrap_or_default();
    match lv.first() {
        Some(SegmentType::Mirror(mirror)) if mirror.region_size > size => Err(refused(format!(
            "Logical volume {} cannot become smaller than a region of its mirror",
            lv.name()
        ))),
        _ => Ok(()),
    }
}
