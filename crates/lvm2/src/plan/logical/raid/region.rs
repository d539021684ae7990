//! `lvconvert --regionsize`: a bit of an array's bitmap covers more, or less.
//!
//! Only the metadata change. What is marked in bitmaps of the old size is carried over by who uses
//! the array next, the kernel or we: a region is marked where any part of it was.

use alloc::format;

use super::copies::convertible;
use super::replace::redundant;
use super::size::{check_region_size, meta_extents};
use crate::model::{LvId, SegmentType, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, refused};
use crate::{Extents, Result, Sectors};

/// Gives an array other regions. Where it has them nothing is changed, and that is no failure.
pub fn change_region_size(
    vg: &VolumeGroup,
    volume: &str,
    size: Sectors,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, volume)?;
    let found = redundant(vg, id)?;
    let name = format!("{}/{volume}", vg.name);
    if found.raid.region_size == size {
        draft.note(format!("Region size wouldn't change on RAID LV {name}."));
        return Ok(Change {
            messages: draft.messages,
            ..Change::default()
        });
    }
    check_region_size(&draft, size, found.extents)?;
    let length = Extents(found.extents.0 / found.data() as u64);
    let needed = meta_extents(found.level(), length, size, vg.extent_size);
    let is_short = |meta: LvId| vg.lv(meta).extents() < needed;
    if found
        .raid
        .images
        .iter()
        .filter_map(|image| image.meta)
        .any(is_short)
    {
        return Err(refused(format!(
            "Region size {} on {name} is too small for metadata LV size: choose a larger one",
            display_size(size)
        )));
    }
    let SegmentType::Raid(raid) = &mut draft.vg.lv_mut(id).segments[0].kind else {
        unreachable!("it is an array");
    };
    raid.region_size = size;
    draft.note(format!(
        "Changed region size on RAID LV {name} to {}.",
        display_size(size)
    ));
    draft.finish(author)
}
