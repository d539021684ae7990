//! `lvconvert -m`: linear to raid1 and back, more copies and fewer; `--splitmirrors`.
//!
//! ```text
//!     a: linear      a's segments move into a_rimage_0; the other images are to be filled from it
//!     a: 2 copies    another image, to be filled; or one goes, and the last one becomes a
//! ```
//!
//! Superblocks say how many images an array has, and which one each is. So an array of another
//! number of images starts with new metadata, where it was used before, and all copies are made
//! equal to the first one once more. That takes an extent beside each image.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::super::create::{free_space, require_free_name};
use super::super::mirror::{hidden, pvs_below};
use super::super::resize::leg_of;
use super::change::renew_metas;
use super::images::{
    Room, Shape, add_images, collapse, number, pvs_of, remove_images, rename, set_images,
};
use super::parts::{Array, add_meta, array, names};
use super::resize::{is_image_lost, require_whole};
use super::size::{meta_extents, region_size};
use super::state::{ArrayState, is_rebuilding, require_settled};
use crate::model::{
    AllocationPolicy, LvFlag, LvId, PvId, Raid, RaidImage, RaidLevel, SegmentType, VolumeGroup,
};
use crate::plan::allocate::{Request, allocate};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments, wrong};
use crate::plan::places::Places;
use crate::plan::segments;
use crate::{Error, Extents, Kind, Result, Sectors};

/// Copies at most.
const COPIES_MAX: usize = 64;

/// What `lvconvert -m` was asked for, of a volume that is raid1 or becomes it.
#[derive(Debug, Clone)]
pub struct CopiesChange<'a> {
    /// The volume's name.
    pub volume: &'a str,
    /// Copies that there are to be, 1 or more.
    pub copies: usize,
    /// `-R`, of a volume that becomes raid1.
    pub region_size: Option<Sectors>,
    /// Where new copies go, or which copies go first.
    pub places: Option<&'a Places>,
    /// `--alloc`.
    pub policy: Option<AllocationPolicy>,
    /// What is known of the copies.
    pub state: ArrayState,
}

/// Changes the number of copies.
pub fn change_copies(
    vg: &VolumeGroup,
    change: &CopiesChange<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, change.volume)?;
    if !(1..=COPIES_MAX).contains(&change.copies) {
        return Err(wrong(format!(
            "Only up to {COPIES_MAX} images in raid1 supported currently."
        )));
    }
    match mirror_array(vg, id)? {
        None if change.copies == 1 => {
            return Err(refused(format!(
                "Logical volume {}/{} is already not mirrored.",
                vg.name, change.volume
            )));
        }
        None => {
            let found = from_linear(&mut draft, id, change, author)?;
            more(&mut draft, id, (&found, 1), change, author)?;
        }
        Some(found) if change.copies > found.raid.images.len() => {
            require_whole(vg, id, &found)?;
            let what = ("add images to", &BTreeSet::new());
            require_settled(vg, id, (&found, change.state), what)?;
            let now = found.raid.images.len();
            more(&mut draft, id, (&found, now), change, author)?;
        }
        Some(found) if change.copies < found.raid.images.len() => {
            fewer(&mut draft, id, &found, change, author)?;
        }
        Some(_) => {
            return Err(refused(format!(
                "{}/{} already has image count of {}.",
                vg.name, change.volume, change.copies
            )));
        }
    }
    draft.note(format!(
        "Logical volume {}/{} successfully converted.",
        vg.name, change.volume
    ));
    draft.finish(author)
}

/// A volume that people see, and that is nobody's part.
pub(super) fn convertible(vg: &VolumeGroup, volume: &str) -> Result<LvId> {
    require_known_segments(vg)?;
    let id = find_lv(vg, volume)?;
    super::super::resize::require_own(vg, id)?;
    Ok(id)
}

/// The array of copies that a volume is; `None`, if it is linear.
fn mirror_array(vg: &VolumeGroup, id: LvId) -> Result<Option<Array>> {
    let lv = vg.lv(id);
    if let Some(found) = array(vg, id).filter(|found| found.level() == RaidLevel::Raid1) {
        return Ok(Some(found));
    }
    let is_linear = |kind: &SegmentType| match kind {
        SegmentType::Striped(striped) => striped.areas.len() == 1,
        _ => false,
    };
    if !lv.segments.is_empty() && lv.segments.iter().all(|one| is_linear(&one.kind)) {
        return Ok(None);
    }
    let kind = lv.segments.first().map_or("", |first| first.type_name());
    Err(refused(format!(
        "Logical volume {}/{} is of type {kind}: it is not given copies; LVM2 may do it with a \
         reshape",
        vg.name,
        lv.name()
    )))
}

/// The extents become the first image of an array that is still to get others.
fn from_linear(
    draft: &mut Draft,
    id: LvId,
    change: &CopiesChange<'_>,
    author: &mut Author<'_>,
) -> Result<Array> {
    let extents = draft.vg.lv(id).extents();
    let region = region_size(draft, change.region_size, extents)?;
    let meta = meta_extents(RaidLevel::Raid1, extents, region, draft.vg.extent_size);
    let (image_name, meta_name) = names(change.volume, 0);
    let own = draft.vg.lv(id).allocation;
    let metas = beside(draft, id, (meta, change.policy), change.volume)?;
    let segments = core::mem::take(&mut draft.vg.lv_mut(id).segments);
    let mut image = hidden(image_name, author, segments);
    image.allocation = own;
    let data = draft.vg.add_lv(image)?;
    let meta = Some(add_meta(draft, meta_name, metas, own, author)?);
    let raid = Raid {
        level: RaidLevel::Raid1,
        data_copies: None,
        region_size: region,
        stripe_size: Sectors::ZERO,
        write_behind: None,
        min_recovery_rate: None,
        max_recovery_rate: None,
        data_offset: None,
        images: vec![RaidImage { meta, data }],
    };
    let kind = SegmentType::Raid(raid.clone());
    draft.vg.lv_mut(id).segments = vec![segments::segment(Extents::ZERO, extents, kind)];
    Ok(Array { raid, extents })
}

/// Extents for the metadata of an image that there is, on its own physical volumes.
pub(super) fn beside(
    draft: &mut Draft,
    image: LvId,
    (meta, policy): (Extents, Option<AllocationPolicy>),
    name: &str,
) -> Result<Vec<crate::model::Segment>> {
    let own = pvs_below(&draft.vg, image);
    let mut space = free_space(draft, None)?;
    let policy = policy.or(draft.vg.lv(image).allocation);
    let mut request = Request::new(meta, 1, 1, policy.unwrap_or(draft.vg.allocation));
    request.legs = vec![leg_of(&draft.vg, image, 1)];
    let others = draft.vg.pvs().map(|(pv, _)| pv);
    request.apart = others.filter(|pv| !own.contains(pv)).collect();
    // What was given to the metadata of other images meanwhile is in the draft only.
    space.keep_free(&draft.vg);
    let runs = allocate(&draft.vg, &mut space, &request).map_err(|shortage| {
        let what = format!(
            "Insufficient suitable allocatable extents for the metadata of logical volume {name}: \
             {} more required on the physical volumes of its image {}",
            shortage.missing.0,
            draft.vg.lv(image).name()
        );
        Error::new(Kind::Space, what)
    })?;
    Ok(segments::of_runs(&runs, 0, 1, Sectors::ZERO, Extents::ZERO))
}

/// Adds images behind the last one.
fn more(
    draft: &mut Draft,
    id: LvId,
    (found, now): (&Array, usize),
    change: &CopiesChange<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let mut space = free_space(draft, change.places)?;
    space.keep_free(&draft.vg);
    let mut room = Room {
        space,
        policy: change.policy,
        apart: &BTreeSet::new(),
    };
    let numbers: Vec<usize> = (now..change.copies).collect();
    let mut images = found.raid.images.clone();
    let shape = Shape::of(found, &draft.vg)?;
    let kept = (shape, images.as_slice());
    let added = add_images(draft, id, kept, &numbers, &mut room, author)?;
    images.extend(added);
    set_images(&mut draft.vg, id, images);
    if now > 1 && change.state != ArrayState::Unused {
        renew_metas(draft, id, now, author)?;
    }
    Ok(())
}

/// The images that go: those on physical volumes that were named, else the last ones.
pub(super) fn choose(
    vg: &VolumeGroup,
    found: &Array,
    count: usize,
    places: Option<&Places>,
) -> Result<BTreeSet<usize>> {
    let images = found.raid.images.iter().enumerate().rev();
    let named: Option<BTreeSet<PvId>> =
        places.map(|places| places.iter().map(|place| place.pv).collect());
    let fits = |image: &RaidImage| {
        let named = named.as_ref();
        named.is_none_or(|named| !pvs_of(vg, image).is_disjoint(named))
    };
    let all: BTreeSet<usize> = images
        .filter(|(_, image)| fits(image))
        .map(|(index, _)| index)
        .take(count)
        .collect();
    if all.len() < count {
        return Err(refused(format!(
            "Only {} of {count} images to be removed are on the physical volumes that were named",
            all.len()
        )));
    }
    Ok(all)
}

/// Takes images out, and gives those that are left and those that are not.
fn take_out(
    draft: &mut Draft,
    id: LvId,
    found: &Array,
    gone: &BTreeSet<usize>,
    state: ArrayState,
) -> Result<(Vec<RaidImage>, Vec<RaidImage>)> {
    let vg = &draft.vg;
    let name = format!("{}/{}", vg.name, vg.lv(id).name());
    let is_settled = state == ArrayState::InSync && !is_rebuilding(vg, found);
    // The others are made from the first one that is not to be filled itself.
    let is_filled = |image: &RaidImage| !vg.lv(image.data).flags.has(LvFlag::Rebuild);
    let first = found.raid.images.iter().position(is_filled).unwrap_or(0);
    if gone.contains(&first) && !is_settled {
        return Err(refused(format!(
            "Unable to extract primary RAID image while RAID array is not in-sync: {name}"
        )));
    }
    let images = found.raid.images.iter().copied().enumerate();
    let (out, left): (Vec<_>, Vec<_>) = images.partition(|(index, _)| gone.contains(index));
    let plain = |list: Vec<(usize, RaidImage)>| list.into_iter().map(|(_, one)| one).collect();
    let (out, left): (Vec<RaidImage>, Vec<RaidImage>) = (plain(out), plain(left));
    assert!(!left.is_empty(), "an image stays");
    if let Some(lost) = left.iter().find(|image| is_image_lost(vg, image)) {
        return Err(refused(format!(
            "{} of {name} would be left, and is lost: name the devices of other images, or bring \
             it back",
            vg.lv(lost.data).name()
        )));
    }
    if left.len() > 1 {
        set_images(&mut draft.vg, id, left.clone());
    }
    Ok((left, out))
}

fn fewer(
    draft: &mut Draft,
    id: LvId,
    found: &Array,
    change: &CopiesChange<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let count = found.raid.images.len() - change.copies;
    let gone = choose(&draft.vg, found, count, change.places)?;
    let (left, out) = take_out(draft, id, found, &gone, change.state)?;
    finish_fewer(draft, id, &left);
    remove_images(&mut draft.vg, &out);
    if left.len() > 1 {
        number(&mut draft.vg, change.volume, &left)?;
        if change.state != ArrayState::Unused {
            renew_metas(draft, id, left.len(), author)?;
        }
    }
    Ok(())
}

/// One image that is left is the volume.
fn finish_fewer(draft: &mut Draft, id: LvId, left: &[RaidImage]) {
    if let [last] = left {
        let is_empty = draft.vg.lv(last.data).flags.has(LvFlag::Rebuild);
        assert!(!is_empty, "what is left holds the data");
        collapse(draft, id, *last);
    }
}

/// What `lvconvert --splitmirrors` was asked for, of raid1.
#[derive(Debug, Clone)]
pub struct ArraySplit<'a> {
    /// The volume's name.
    pub volume: &'a str,
    /// How many copies are split off.
    pub count: usize,
    /// `--name`: what the copy is called.
    pub name: &'a str,
    /// Where the copy lies; on any, the last one.
    pub places: Option<&'a Places>,
    /// What is known of the copies.
    pub state: ArrayState,
}

/// Makes a volume of one copy of an array.
pub fn split_copies(
    vg: &VolumeGroup,
    split: &ArraySplit<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, split.volume)?;
    let name = format!("{}/{}", vg.name, split.volume);
    let found = mirror_array(vg, id)?.ok_or_else(|| {
        refused(format!(
            "Logical volume {name} has no copies to be split off"
        ))
    })?;
    require_free_name(vg, split.name)?;
    if split.count == 0 || split.count >= found.raid.images.len() {
        return Err(refused("Unable to split images by specified amount."));
    }
    if split.count > 1 {
        return Err(refused(format!(
            "Unable to split more than one image from {name}."
        )));
    }
    require_whole(vg, id, &found)?;
    let is_settled = split.state == ArrayState::InSync && !is_rebuilding(vg, &found);
    if !is_settled || vg.lv(id).flags.has(LvFlag::NotSynced) {
        return Err(refused(format!(
            "Unable to split {name} while it is not in-sync."
        )));
    }
    let gone = choose(vg, &found, 1, split.places)?;
    let (left, out) = take_out(&mut draft, id, &found, &gone, split.state)?;
    finish_fewer(&mut draft, id, &left);
    for image in &out {
        if let Some(meta) = image.meta {
            draft.vg.remove_lv(meta);
        }
        rename(&mut draft.vg, image.data, split.name)?;
        let flags = &mut draft.vg.lv_mut(image.data).flags;
        flags.insert(LvFlag::Visible);
        flags.remove(LvFlag::WriteMostly);
    }
    if left.len() > 1 {
        number(&mut draft.vg, split.volume, &left)?;
        renew_metas(&mut draft, id, left.len(), author)?;
    }
    draft.note(format!("Logical volume {name} successfully converted."));
    draft.finish(author)
}
