//! The parts of an array: what there is, what is added, and how an allocation is divided.
//!
//! An allocation is one run after the other for each image. Its first extents are the metadata of
//! the image, so that both lie together; then comes the image, and last what its checksums need.
//!
//! ```text
//!     runs of a leg    |pv0:4 ────────|pv3:0 ──────────|
//!     divided          |meta|image 4 …         |_imeta |
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::super::mirror::hidden;
use crate::model::{
    AllocationPolicy, LvId, Part, Raid, RaidImage, RaidLevel, Segment, SegmentType, VolumeGroup,
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

/// Parts of leg `leg` of an allocation, of these lengths, one behind the other.
pub(super) fn divide<const PARTS: usize>(
    runs: &[Allocated],
    leg: usize,
    lengths: [Extents; PARTS],
) -> [Vec<Segment>; PARTS] {
    let mut parts = [const { Vec::new() }; PARTS];
    for run in runs {
        let (pv, mut from) = run.areas[leg];
        let end = from + run.length;
        for (list, length) in parts.iter_mut().zip(lengths) {
            let at = segments::total(list);
            let taken = (length - at).min(end - from);
            assert!(from <= end, "no more is taken than there is");
            if taken > Extents::ZERO {
                let kind = segments::striped(&[(pv, from)], Sectors::ZERO);
                segments::append(list, vec![segments::segment(at, taken, kind)]);
                from += taken;
            }
        }
    }
    for (list, length) in parts.iter().zip(lengths) {
        assert_eq!(segments::total(list), length, "each part is complete");
    }
    parts
}

/// Adds an image with its metadata under the names with this number, and lets the metadata be
/// zeroed. No metadata for none.
pub(super) fn add_image(
    draft: &mut Draft,
    (parent, number): (&str, usize),
    [metas, images]: [Vec<Segment>; 2],
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

/// What stock calls a part of an array that cannot be changed by itself.
pub(in crate::plan::logical) fn part_name(part: Part) -> &'static str {
    match part {
        Part::RaidMeta(_) => "metadata area",
        _ => "image",
    }
}
