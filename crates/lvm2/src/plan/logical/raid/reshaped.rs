//! A reshape is over: images that it took away go, and the space that it needed.
//!
//! ```text
//!     what grew, or kept its size     | data        |. .|     the end of each image is cut off
//!     what shrank                     |. .| data        |     its first extents are; superblocks
//!                                                             that say so are new
//! ```
//!
//! Stock does it in two commands, where images go: the space is given up by the second one. What
//! it leaves between them is taken here.

use alloc::format;
use alloc::vec::Vec;

use super::images::{remove_images, set_images};
use super::reorder::{renew_metas, write_heads};
use super::reshape::ReshapeChange;
use super::size::meta_extents;
use super::state::ArrayState;
use crate::model::{Area, LvId, Raid, RaidImage, Segment, SegmentType};
use crate::plan::author::Author;
use crate::plan::draft::{Draft, refused};
use crate::plan::segments;
use crate::{Bytes, Extents, Result, Sectors};

/// Nothing else is asked of an array than what it has become: images go that a reshape took away,
/// and its space does.
pub(super) fn end(
    draft: &mut Draft,
    id: LvId,
    name: &str,
    change: &ReshapeChange<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let lv = draft.vg.lv(id);
    let ([segment], Some(SegmentType::Raid(raid))) = (lv.segments.as_slice(), lv.first()) else {
        return Err(refused(format!("Unable to reshape {name}: it is no array")));
    };
    let (space, all, raid) = (segment.reshape, segment.length, raid.clone());
    let (kept, gone) = divided(draft, &raid);
    let data = |images: usize| raid.level.data_images(images, raid.copies());
    let stripes = data(kept.len());
    let is_that = change.stripes.is_none_or(|wanted| wanted == stripes)
        && change.level.is_none()
        && change
            .stripe_size
            .is_none_or(|size| size == raid.stripe_size);
    if !is_that || space == Extents::ZERO || kept.len() < 2 {
        return Err(refused(format!(
            "Unable to reshape {name}: it has the space of the last reshape still; repeat what \
             that was, when it is over, and it is given up"
        )));
    }
    if change.state != ArrayState::InSync {
        return Err(refused(format!(
            "Unable to end the reshape of {name}, which is not over: use it until it is"
        )));
    }
    let extent = draft.vg.extent_size;
    let is_in_front = is_in_front(name, change, space.to_sectors(extent))?;
    let length = Extents(all.0 / data(raid.images.len()) as u64) - space;
    for image in &kept {
        let lv = draft.vg.lv_mut(image.data);
        if is_in_front {
            lv.segments = cut_front(core::mem::take(&mut lv.segments), space);
        } else {
            segments::truncate(&mut lv.segments, length)?;
        }
        for segment in &mut lv.segments {
            segment.reshape = Extents::ZERO;
        }
        segments::merge(&mut lv.segments);
    }
    set_images(&mut draft.vg, id, kept.clone());
    remove_images(&mut draft.vg, &gone);
    let segment = &mut draft.vg.lv_mut(id).segments[0];
    segment.length = Extents(length.0 * stripes as u64);
    segment.reshape = Extents::ZERO;
    segment.type_flags.clear();
    if is_in_front {
        let meta = meta_extents(raid.level, length, raid.region_size, extent);
        let images = renew_metas(draft, id, kept, meta, author)?;
        let count = images.len();
        let raid = Raid { images, ..raid };
        super::reorder::settle(draft, id, &raid, raid.images.clone())?;
        write_heads(draft, (id, length), &raid, count, change.rest_head)?;
    }
    draft.note(format!(
        "No change in RAID LV {name} layout, freeing reshape space."
    ));
    draft.note(format!("Logical volume {name} successfully converted."));
    Ok(())
}

/// Whether the space is in front of the data.
fn is_in_front(name: &str, change: &ReshapeChange<'_>, space: Option<Sectors>) -> Result<bool> {
    match change.data_start {
        Some(Bytes::ZERO) => Ok(false),
        start if start.is_some() && start == space.and_then(Sectors::to_bytes) => Ok(true),
        _ => Err(refused(format!(
            "Unable to give up the reshape space of {name}: its data begin elsewhere than behind it"
        ))),
    }
}

/// The images that stay, and those behind them that a reshape took away.
fn divided(draft: &Draft, raid: &Raid) -> (Vec<RaidImage>, Vec<RaidImage>) {
    let left = raid.images.len() - raid.leaving(&draft.vg);
    let (kept, gone) = raid.images.split_at(left);
    (kept.to_vec(), gone.to_vec())
}

/// An image without its first extents.
fn cut_front(list: Vec<Segment>, extents: Extents) -> Vec<Segment> {
    let mut left = Vec::new();
    for segment in list {
        if segment.end() <= extents {
            continue;
        }
        let first = extents.0.saturating_sub(segment.start.0);
        let mut rest = behind(segment, Extents(first));
        rest.start -= extents;
        left.push(rest);
    }
    left
}

/// A linear segment without its first extents.
pub(super) fn behind(mut segment: Segment, first: Extents) -> Segment {
    // What is no disk's has no place.
    for area in segment.areas_mut() {
        let (Area::Pv { start, .. } | Area::Lv { start, .. }) = area;
        *start += first;
    }
    segment.start += first;
    segment.length -= first;
    segment
}
