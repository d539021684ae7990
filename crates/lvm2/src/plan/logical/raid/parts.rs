//! The parts of an array: what there is, what is added, and how an allocation is divided.
//!
//! An allocation is one run after the other for each image. Its first extents are the metadata of
//! the image, so that both lie together; the others are the image.
//!
//! ```text
//!     runs of a leg    |pv0:4 ────────|pv3:0 ──|
//!     divided          |meta|image 4 …         |
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::super::mirror::hidden;
use crate::model::{
    AllocationPolicy, LvId, Raid, RaidImage, RaidLevel, Segment, SegmentType, VolumeGroup,
};
use crate::plan::allocate::Allocated;
use crate::plan::author::Author;
use crate::plan::change::Before;
use crate::plan::draft::Draft;
use crate::plan::{ranges, segments};
use crate::{Extents, Result, Sectors};

/// What an array is: one segment over whole volumes.
#[derive(Debug, Clone)]
pub(in crate::plan::logical) struct Array {
    pub(in crate::plan::logical) raid: Raid,
    /// Extents of data.
    pub(in crate::plan::logical) extents: Extents,
}

impl Array {
    pub(in crate::plan::logical) fn level(&self) -> RaidLevel {
        self.raid.level
    }

    /// Images' worth of data.
    pub(in crate::plan::logical) fn data(&self) -> usize {
        let copies = self.raid.copies();
        self.raid.level.data_images(self.raid.images.len(), copies)
    }

    /// Extents of physical volumes that a share of free space becomes, for each of data: as in
    /// stock, parity does not count.
    pub(in crate::plan::logical) fn copies(&self) -> u64 {
        let images = self.raid.images.len() as u64;
        match self.level().parity_count() {
            0 => images / self.data() as u64,
            _ => 1,
        }
    }

    /// All volumes of which it is made.
    pub(in crate::plan::logical) fn volumes(&self) -> Vec<LvId> {
        let images = self.raid.images.iter();
        images
            .flat_map(|image| image.meta.into_iter().chain([image.data]))
            .collect()
    }
}

/// The array that a volume is; `None` for others, and for one in the middle of a reshape.
pub(in crate::plan::logical) fn array(vg: &VolumeGroup, lv: LvId) -> Option<Array> {
    let [segment] = vg.lv(lv).segments.as_slice() else {
        return None;
    };
    let SegmentType::Raid(raid) = &segment.kind else {
        return None;
    };
    let is_at_rest = segment.reshape == Extents::ZERO
        && segment.type_flags.is_empty()
        && raid.data_offset.is_none()
        && raid.images.len() > 1;
    is_at_rest.then(|| Array {
        raid: raid.clone(),
        extents: segment.length,
    })
}

/// The names of a new image and its metadata.
pub(super) fn names(parent: &str, number: usize) -> (String, String) {
    (
        format!("{parent}_rimage_{number}"),
        format!("{parent}_rmeta_{number}"),
    )
}

/// The metadata and the image of leg `leg` of an allocation.
pub(super) fn divide(
    runs: &[Allocated],
    leg: usize,
    meta: Extents,
) -> (Vec<Segment>, Vec<Segment>) {
    let (mut metas, mut images) = (Vec::new(), Vec::new());
    let mut left = meta;
    for run in runs {
        let (pv, start) = run.areas[leg];
        let first = left.min(run.length);
        let take = |list: &mut Vec<Segment>, from: Extents, length: Extents| {
            if length > Extents::ZERO {
                let kind = segments::striped(&[(pv, from)], Sectors::ZERO);
                let at = segments::total(list);
                segments::append(list, vec![segments::segment(at, length, kind)]);
            }
        };
        take(&mut metas, start, first);
        take(&mut images, start + first, run.length - first);
        left -= first;
    }
    assert_eq!(segments::total(&metas), meta, "the metadata is complete");
    (metas, images)
}

/// Adds an image with its metadata under the names with this number, and lets the metadata be
/// zeroed. No metadata for none.
pub(super) fn add_image(
    draft: &mut Draft,
    (parent, number): (&str, usize),
    (metas, images): (Vec<Segment>, Vec<Segment>),
    policy: Option<AllocationPolicy>,
    author: &mut Author<'_>,
) -> Result<RaidImage> {
    let (image_name, meta_name) = names(parent, number);
    assert!(!images.is_empty(), "an image lies somewhere");
    let mut image = hidden(image_name, author, images);
    image.allocation = policy;
    let data = draft.vg.add_lv(image)?;
    if metas.is_empty() {
        return Ok(RaidImage { meta: None, data });
    }
    let meta = add_meta(draft, meta_name, metas, policy, author)?;
    Ok(RaidImage {
        meta: Some(meta),
        data,
    })
}

/// Adds the metadata of an image, made of zeros.
pub(super) fn add_meta(
    draft: &mut Draft,
    name: String,
    metas: Vec<Segment>,
    policy: Option<AllocationPolicy>,
    author: &mut Author<'_>,
) -> Result<LvId> {
    let mut meta = hidden(name, author, metas);
    meta.allocation = policy;
    let meta = draft.vg.add_lv(meta)?;
    let pieces = ranges::all_pieces(&draft.vg, meta)?;
    assert!(!pieces.is_empty(), "metadata lies somewhere");
    draft.before.push(Before::Fill { pieces, byte: 0 });
    Ok(meta)
}
