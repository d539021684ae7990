//! Images of an array change their places, and get other metadata.
//!
//! Superblocks name places. So where a place changes metadata is new, on other extents, and made
//! before the commit: of zeros, or with what it is to say. In the end images have the names of
//! their places; meanwhile they have some that nobody else has.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::copies::beside;
use super::images::{rename, set_images};
use super::parts::{add_meta, names};
use crate::model::{LvId, Raid, RaidImage, SegmentType};
use crate::plan::author::Author;
use crate::plan::change::Before;
use crate::plan::draft::Draft;
use crate::plan::ranges;
use crate::{Bytes, Extents, Result, Sectors};

/// What is written at once of new metadata: whole blocks of any disk, and never more than an
/// extent.
const BLOCK: u64 = 4096;

/// An image of an array in sync, of which nothing else is to be known.
#[derive(Debug, Clone)]
pub struct ArrayHead {
    /// The array.
    pub raid: Raid,
    /// The image's place in it.
    pub place: usize,
    /// Bytes of each image.
    pub image_size: Bytes,
    /// Bytes of the array.
    pub size: Bytes,
}

/// Gives images metadata of zeros of so many extents in the place of what they have; of none they
/// have none.
pub(super) fn renew_metas(
    draft: &mut Draft,
    id: LvId,
    mut images: Vec<RaidImage>,
    meta: Extents,
    author: &mut Author<'_>,
) -> Result<Vec<RaidImage>> {
    let lv = draft.vg.lv(id);
    let (name, own) = (lv.name().to_owned(), lv.allocation);
    let old: Vec<LvId> = images
        .iter_mut()
        .filter_map(|one| one.meta.take())
        .collect();
    set_images(&mut draft.vg, id, images.clone());
    for lv in old {
        draft.vg.remove_lv(lv);
    }
    if meta == Extents::ZERO {
        return Ok(images);
    }
    for (number, image) in images.iter_mut().enumerate() {
        let list = beside(draft, image.data, (meta, None), &name)?;
        let new = format!("{name}_rmeta_new_{number}");
        image.meta = Some(add_meta(draft, new, list, own, author)?);
    }
    set_images(&mut draft.vg, id, images.clone());
    Ok(images)
}

/// Names that nobody has while images change their places.
fn temporary(parent: &str, number: usize) -> (String, String) {
    (
        format!("{parent}_rimage__{number}"),
        format!("{parent}_rmeta__{number}"),
    )
}

/// Lets the volume be this array, its images under the names of their places.
pub(super) fn settle(
    draft: &mut Draft,
    id: LvId,
    raid: &Raid,
    images: Vec<RaidImage>,
) -> Result<()> {
    assert!(!images.is_empty(), "an array has images");
    let parent = draft.vg.lv(id).name().to_owned();
    for naming in [temporary, names] {
        for (number, image) in images.iter().enumerate() {
            let (data, meta) = naming(&parent, number);
            rename(&mut draft.vg, image.data, &data)?;
            if let Some(own) = image.meta {
                rename(&mut draft.vg, own, &meta)?;
            }
        }
    }
    let segment = &mut draft.vg.lv_mut(id).segments[0];
    segment.kind = SegmentType::Raid(Raid {
        images,
        ..raid.clone()
    });
    Ok(())
}

/// New metadata of the first `count` images says that they are in sync.
pub(super) fn write_heads(
    draft: &mut Draft,
    (id, length): (LvId, Extents),
    raid: &Raid,
    count: usize,
    head: fn(&ArrayHead) -> Vec<u8>,
) -> Result<()> {
    let in_bytes = |extents: Extents| {
        let sectors = extents.to_sectors(draft.vg.extent_size);
        sectors.and_then(Sectors::to_bytes).unwrap_or(Bytes::ZERO)
    };
    let size = in_bytes(draft.vg.lv(id).extents());
    let image_size = in_bytes(length);
    for (place, image) in raid.images.iter().take(count).enumerate() {
        let head = head(&ArrayHead {
            raid: raid.clone(),
            place,
            image_size,
            size,
        });
        write_head(draft, image.meta.expect("it is new"), &head)?;
    }
    Ok(())
}

/// New metadata begins with these bytes.
pub(super) fn write_head(draft: &mut Draft, meta: LvId, head: &[u8]) -> Result<()> {
    let extent = draft.vg.extent_size.to_bytes().unwrap_or(Bytes::ZERO);
    let step = BLOCK.min(extent.0) as usize;
    for (number, bytes) in head.chunks(step).enumerate() {
        let start = Bytes((number * step) as u64);
        let length = Bytes(bytes.len() as u64);
        let pieces = ranges::pieces(&draft.vg, meta, start, length)?;
        let [piece] = pieces.as_slice() else {
            unreachable!("a block of an extent lies in one piece");
        };
        draft.before.push(Before::Write {
            piece: *piece,
            bytes: bytes.to_vec(),
        });
    }
    Ok(())
}
