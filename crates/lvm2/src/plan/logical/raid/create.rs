//! A new array.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::super::create::{NewVolume, policy, visible};
use super::super::options::Initial;
use super::integrity::give_checksums;
use super::options::RaidOptions;
use super::parts::{add_image, array, divide};
use super::size::{meta_extents, region_size};
use crate::model::{LvFlag, LvId, Raid, RaidFamily, RaidLevel, SegmentType};
use crate::plan::allocate::{Request, allocate};
use crate::plan::author::Author;
use crate::plan::change::{Before, Piece};
use crate::plan::display::display_size;
use crate::plan::draft::Draft;
use crate::plan::places::FreeSpace;
use crate::plan::size::NewSize;
use crate::plan::{ranges, segments};
use crate::{Bytes, Error, Extents, Kind, Result, Sectors};

/// Adds an array of `options` to the group; `size` is that of its data.
pub(in crate::plan::logical) fn add_array(
    draft: &mut Draft,
    name: &str,
    (new, options): (&NewVolume<'_>, RaidOptions),
    (size, stripe_size): (NewSize, Sectors),
    space: &mut FreeSpace,
    author: &mut Author<'_>,
) -> Result<LvId> {
    options.check()?;
    let data = options.data() as u64;
    assert!(size.extents.0.is_multiple_of(data), "images are as long");
    let length = Extents(size.extents.0 / data);
    let region = match options.level.family() {
        RaidFamily::Raid0 => Sectors::ZERO,
        RaidFamily::Raid1 => region_size(draft, options.region_size, size.extents)?,
        _ => {
            let region = region_size(draft, options.region_size, size.extents)?;
            no_smaller_than_stripes(draft, options.level, region, stripe_size)
        }
    };
    let meta = meta_extents(options.level, length, region, draft.vg.extent_size);
    let mut request = Request::new(length + meta, options.images(), 1, policy(&draft.vg, new));
    request.exactness = size.exactness;
    request.cling_tags = new.cling_tags;
    let runs = allocate(&draft.vg, space, &request).map_err(|shortage| shortage.error(name))?;
    let found: Extents = runs.iter().map(|run| run.length).sum();
    if found <= meta {
        let what = format!(
            "Insufficient suitable allocatable extents for logical volume {name}: there is room \
             for its metadata only"
        );
        return Err(Error::new(Kind::Space, what));
    }
    let mut lv = visible(name, new, author)?;
    if options.initial == Initial::NoSync && region > Sectors::ZERO {
        lv.flags.insert(LvFlag::NotSynced);
        draft.warn(format!(
            "New {} won't be synchronised. Don't read what you didn't write!",
            options.level.name()
        ));
    }
    let id = draft.vg.add_lv(lv)?;
    let mut images = Vec::new();
    for leg in 0..options.images() {
        let parts = divide(&runs, leg, [meta, found - meta]);
        images.push(add_image(draft, (name, leg), parts, new.policy, author)?);
    }
    let kind = SegmentType::Raid(Raid {
        level: options.level,
        data_copies: (options.level.family() == RaidFamily::Raid10)
            .then_some(options.copies() as u32),
        region_size: region,
        stripe_size,
        write_behind: None,
        min_recovery_rate: options.rates.min.filter(|rate| *rate > 0),
        max_recovery_rate: options.rates.max.filter(|rate| *rate > 0),
        data_offset: None,
        images,
    });
    let extents = (found - meta) * data;
    draft.vg.lv_mut(id).segments = vec![segments::segment(Extents::ZERO, extents, kind)];
    if let Some(checksums) = options.checksums {
        let made = array(&draft.vg, id).expect("it was just made");
        give_checksums(draft, (&made, checksums), space, author)?;
    }
    Ok(id)
}

/// A region has room for a stripe.
fn no_smaller_than_stripes(
    draft: &mut Draft,
    level: RaidLevel,
    region: Sectors,
    stripe_size: Sectors,
) -> Sectors {
    if region < stripe_size {
        draft.note(format!(
            "Adjusting {} {} region size to required minimum of stripe size {}.",
            level.name(),
            display_size(region),
            display_size(stripe_size)
        ));
    }
    region.max(stripe_size)
}

/// Makes the first bytes of an array zero, on each of its images: then its parity is right there,
/// whether it is synchronised or not.
pub(in crate::plan::logical) fn zero_images(
    draft: &mut Draft,
    id: LvId,
    length: Bytes,
) -> Result<()> {
    let images = array(&draft.vg, id).map_or_else(Vec::new, |array| array.raid.images);
    let mut all: Vec<Piece> = Vec::new();
    for image in images {
        let size = draft.vg.lv(image.data).size(draft.vg.extent_size);
        let size = size.and_then(Sectors::to_bytes).unwrap_or(length);
        all.extend(ranges::pieces(
            &draft.vg,
            image.data,
            Bytes::ZERO,
            length.min(size),
        )?);
    }
    assert!(!all.is_empty(), "an array has images");
    draft.before.push(Before::Fill {
        pieces: all,
        byte: 0,
    });
    Ok(())
}
