//! A reshape begins: the data of an array get another layout, other chunks, more images or fewer.
//!
//! Who uses the array next moves them, from the start to the end. For that they lie some extents
//! behind the start of each image (the *reshape space*, as in stock), and where they are moved to
//! is that much further to the front:
//!
//! ```text
//!     before     | a b c d e f |             a … f: extents of an image, where they were
//!     from now   |. . a b c d e f|           . .: the space, other extents in front of them
//!     in the end | data        |. .|
//! ```
//!
//! Superblocks say what the array was, what it becomes, and that nothing is moved yet. They are
//! new, on other extents, and durable before the commit that names them, as metadata in use is
//! never rewritten: a power cut leaves the array that was, or the one that begins to be another.
//! New images are written by what is moved to them, and hold nothing before.
//!
//! Where images are taken away the space is behind the data, and these are moved from the end to
//! the start; what the others have no room for is lost from the beginning.
//!
//! When all is moved the space is on the other side of the data; it is given up when the same is
//! asked once more (`reshaped.rs`).
//!
//! Does not: move copies, or begin where the last reshape has left its space.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::super::create::free_space;
use super::super::resize::require_own_or_reshaped;
use super::copies::beside;
use super::images::{Room, Shape, add_images, set_images};
use super::parts::{Array, array};
use super::reorder::{ArrayHead, renew_metas, settle, write_head};
use super::reshaped::{behind, end};
use super::resize::require_whole;
use super::size::meta_extents;
use super::state::{ArrayState, require_settled};
use crate::model::{
    AllocationPolicy, LvFlag, LvId, Raid, RaidFamily, RaidImage, RaidLevel, Segment, TypeFlag,
    VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments};
use crate::plan::places::Places;
use crate::plan::segments;
use crate::{Bytes, Extents, Result, Sectors};

/// The space in sectors, where a chunk is not longer: what stock sets aside.
const SPACE_MIN: Sectors = Sectors(2048);
/// Images of an array at most.
const IMAGES_MAX: usize = 64;

/// What `lvconvert` was asked for, of an array with parity.
#[derive(Debug, Clone)]
pub struct ReshapeChange<'a> {
    /// The volume's name.
    pub volume: &'a str,
    /// Images' worth of data.
    pub stripes: Option<usize>,
    /// `-I`
    pub stripe_size: Option<Sectors>,
    /// Another layout of the same level.
    pub level: Option<RaidLevel>,
    /// Where new images lie.
    pub places: Option<&'a Places>,
    /// `--alloc`.
    pub policy: Option<AllocationPolicy>,
    /// What is known of the images.
    pub state: ArrayState,
    /// Where superblocks say that the data begin on each image; `None`: that is not known.
    pub data_start: Option<Bytes>,
    /// Whether the volume may become smaller.
    pub may_shrink: bool,
    /// What the metadata of an image begins with.
    pub head: fn(&ReshapeHead) -> Vec<u8>,
    /// The same when all is over.
    pub rest_head: fn(&ArrayHead) -> Vec<u8>,
}

/// An image of an array that begins to become another one.
#[derive(Debug, Clone)]
pub struct ReshapeHead {
    /// What the array was.
    pub before: Raid,
    /// What it becomes.
    pub raid: Raid,
    /// The image's place in them.
    pub place: usize,
    /// Bytes of each image that hold data.
    pub image_size: Bytes,
    /// Bytes of the array as it was.
    pub size: Bytes,
    /// Bytes of each image in front of the data, or behind them where the array gets fewer images.
    pub space: Bytes,
}

/// Begins a reshape.
pub fn reshape_array(
    vg: &VolumeGroup,
    change: &ReshapeChange<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    require_known_segments(vg)?;
    let id = find_lv(vg, change.volume)?;
    require_own_or_reshaped(vg, id)?;
    let name = format!("{}/{}", vg.name, change.volume);
    let Some(found) = array(vg, id) else {
        let mut draft = Draft::begin(vg)?;
        end(&mut draft, id, &name, change, author)?;
        return draft.finish(author);
    };
    let raid = becomes(&name, &found, change)?;
    let mut draft = Draft::begin(vg)?;
    require_whole(&draft.vg, id, &found)?;
    let what = ("reshape", &BTreeSet::new());
    require_settled(&draft.vg, id, (&found, change.state), what)?;
    if change.state != ArrayState::InSync {
        return Err(refused(format!(
            "Unable to reshape {name} while it is not in-sync: use it until it is"
        )));
    }
    begin(&mut draft, id, (&found, raid), change, author)?;
    draft.note(format!("Logical volume {name} successfully converted."));
    draft.finish(author)
}

/// What the array becomes; its images are those that it has.
fn becomes(name: &str, found: &Array, change: &ReshapeChange<'_>) -> Result<Raid> {
    let level = found.level();
    let has_parity = |level: RaidLevel| {
        matches!(
            level.family(),
            RaidFamily::Raid4 | RaidFamily::Raid5 | RaidFamily::Raid6
        )
    };
    if !has_parity(level) {
        return Err(refused(format!(
            "Unable to reshape {name}: only raid4, raid5 and raid6 are reshaped here, not {}; LVM2 \
             may do it",
            level.name()
        )));
    }
    let to = change.level.unwrap_or(level);
    if to.parity_count() != level.parity_count() || !has_parity(to) {
        return Err(refused(format!(
            "Unable to reshape {name} from {} to {}: the level changes, too",
            level.name(),
            to.name()
        )));
    }
    let stripe_size = change.stripe_size.unwrap_or(found.raid.stripe_size);
    if !stripe_size.0.is_power_of_two() || stripe_size > found.raid.region_size {
        return Err(refused(format!(
            "Unable to reshape {name}: chunks of {} are no power of 2, or longer than regions of \
             {}",
            display_size(stripe_size),
            display_size(found.raid.region_size)
        )));
    }
    let stripes = change.stripes.unwrap_or(found.data());
    if stripes < found.data() && stripes < level.parity_count() {
        return Err(refused(format!(
            "Unable to take so many stripes from {name}: {} has {} at least",
            level.name(),
            level.parity_count()
        )));
    }
    let images = stripes + level.parity_count();
    if images > IMAGES_MAX {
        return Err(refused(format!(
            "Unable to reshape {name}: an array has at most {IMAGES_MAX} images"
        )));
    }
    let is_kept = stripes == found.data();
    let is_fewer = stripes < found.data();
    if !is_kept && to != level || is_fewer && stripe_size != found.raid.stripe_size {
        return Err(refused(format!(
            "Unable to reshape {name}: its layout, its chunks and the number of its stripes change \
             one after the other"
        )));
    }
    if is_kept && to == level && stripe_size == found.raid.stripe_size {
        return Err(refused(format!(
            "Logical volume {name} is that already: {stripes} stripes of {} as {}.",
            display_size(stripe_size),
            level.name()
        )));
    }
    Ok(Raid {
        level: to,
        stripe_size,
        ..found.raid.clone()
    })
}

fn begin(
    draft: &mut Draft,
    id: LvId,
    (found, raid): (&Array, Raid),
    change: &ReshapeChange<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let (data, extent) = (found.data(), draft.vg.extent_size);
    let length = Extents(found.extents.0 / data as u64);
    let sectors = length.to_sectors(extent).unwrap_or_default();
    let longest = raid.stripe_size.0.max(found.raid.stripe_size.0);
    if !sectors.0.is_multiple_of(longest) {
        return Err(refused(format!(
            "Unable to reshape {}/{}: its images of {} sectors are not whole chunks of {longest}",
            draft.vg.name, change.volume, sectors.0
        )));
    }
    let space = Extents(SPACE_MIN.0.max(longest).div_ceil(extent.0));
    let stripes = change.stripes.unwrap_or(data);
    if stripes < data {
        warn_of_loss(draft, change, (data as u64, stripes as u64), length)?;
    }
    let mut images = found.raid.images.clone();
    let put = if stripes < data {
        put_behind
    } else {
        put_in_front
    };
    for image in &images {
        let list = beside(draft, image.data, (space, change.policy), change.volume)?;
        put(draft, image.data, list, space);
    }
    let meta = meta_extents(found.level(), length, raid.region_size, extent);
    images = renew_metas(draft, id, images, meta, author)?;
    if stripes > data {
        let shape = Shape {
            length: length + space,
            meta,
            checksums: None,
        };
        let more = stripes - data;
        let added = add_behind(draft, id, (shape, space, more), (&images, change), author)?;
        images.extend(added);
        draft.warn(format!(
            "Adding stripes to logical volume {}/{} will grow it from {} to {} extents!",
            draft.vg.name,
            change.volume,
            data as u64 * length.0,
            stripes as u64 * length.0
        ));
    }
    become_of(
        draft,
        id,
        (length, space, stripes),
        (found, raid, images),
        change.head,
    )
}

/// The volume is named as what it becomes: superblocks say so, and which images leave.
fn become_of(
    draft: &mut Draft,
    id: LvId,
    (length, space, stripes): (Extents, Extents, usize),
    (found, raid, images): (&Array, Raid, Vec<RaidImage>),
    head: fn(&ReshapeHead) -> Vec<u8>,
) -> Result<()> {
    let left = stripes + found.level().parity_count();
    set_images(&mut draft.vg, id, images.clone());
    let will_be = Raid {
        images: images[..left].to_vec(),
        ..raid.clone()
    };
    write_heads(draft, (length, space), (found, &will_be, &images), head)?;
    for image in &images[left..] {
        take_away(draft, image);
    }
    settle(draft, id, &raid, images)?;
    let segment = &mut draft.vg.lv_mut(id).segments[0];
    segment.length = Extents(stripes.max(found.data()) as u64 * (length.0 + space.0));
    segment.reshape = space;
    segment.type_flags = [TypeFlag::Reshape, TypeFlag::ReshapeDataOffset].to_vec();
    Ok(())
}

/// So many images more, whose first extents are the space.
fn add_behind(
    draft: &mut Draft,
    id: LvId,
    (shape, space, more): (Shape, Extents, usize),
    (images, change): (&[RaidImage], &ReshapeChange<'_>),
    author: &mut Author<'_>,
) -> Result<Vec<RaidImage>> {
    let numbers: Vec<usize> = (images.len()..images.len() + more).collect();
    let mut free = free_space(draft, change.places)?;
    free.keep_free(&draft.vg);
    let mut room = Room {
        space: free,
        policy: change.policy,
        apart: &BTreeSet::new(),
    };
    let added = add_images(draft, id, (shape, images), &numbers, &mut room, author)?;
    for image in &added {
        // What is moved to them says what they hold.
        draft.vg.lv_mut(image.data).flags.remove(LvFlag::Rebuild);
        set_apart(draft, image.data, space);
    }
    Ok(added)
}

/// What an image holds is behind these extents from now on.
fn put_in_front(draft: &mut Draft, image: LvId, mut list: Vec<Segment>, space: Extents) {
    assert_eq!(segments::total(&list), space, "it was allocated");
    for segment in &mut list {
        segment.reshape = segment.length;
    }
    let lv = draft.vg.lv_mut(image);
    for mut segment in core::mem::take(&mut lv.segments) {
        segment.start += space;
        list.push(segment);
    }
    lv.segments = list;
}

/// These extents are behind what an image holds.
fn put_behind(draft: &mut Draft, image: LvId, list: Vec<Segment>, space: Extents) {
    assert_eq!(segments::total(&list), space, "it was allocated");
    let lv = draft.vg.lv_mut(image);
    let end = lv.extents();
    lv.segments.extend(list.into_iter().map(|mut segment| {
        segment.start += end;
        segment
    }));
    segments::merge(&mut lv.segments);
    // Stock says it of the first segment, wherever the space is.
    let mut left = space;
    for segment in &mut lv.segments {
        segment.reshape = left.min(segment.length);
        left -= segment.reshape;
    }
}

/// An image goes when the reshape is over.
fn take_away(draft: &mut Draft, image: &RaidImage) {
    for lv in image.meta.into_iter().chain([image.data]) {
        for segment in &mut draft.vg.lv_mut(lv).segments {
            segment.type_flags.push(TypeFlag::RemoveAfterReshape);
        }
    }
}

/// Fails where that was not agreed to: the volume gets smaller, from so many images' worth of data
/// to so many.
fn warn_of_loss(
    draft: &mut Draft,
    change: &ReshapeChange<'_>,
    (data, stripes): (u64, u64),
    length: Extents,
) -> Result<()> {
    let name = format!("{}/{}", draft.vg.name, change.volume);
    let extent = draft.vg.extent_size;
    let size = |images: u64| {
        let sectors = Extents(images * length.0).to_sectors(extent);
        display_size(sectors.unwrap_or_default())
    };
    let kept = (data * length.0 * data).div_ceil(stripes);
    if !change.may_shrink {
        return Err(refused(format!(
            "Can't remove stripes without --force option: {name} shrinks from {} to {}, and loses \
             what is behind that; lvextend -l{kept} {name} first keeps its size",
            size(data),
            size(stripes),
        )));
    }
    draft.warn(format!(
        "Removing stripes from logical volume {name} will shrink it from {} to {}!\n\
         THIS MAY DESTROY (PARTS OF) YOUR DATA!",
        size(data),
        size(stripes),
    ));
    draft.warn(format!(
        "To remove freed stripes after the conversion has finished, you have to run \
         \"lvconvert --stripes {stripes} {name}\""
    ));
    Ok(())
}

/// The first extents of a new image are the space.
fn set_apart(draft: &mut Draft, image: LvId, space: Extents) {
    let all = draft.vg.lv(image).segments.clone();
    let mut front = all.clone();
    segments::truncate(&mut front, space).expect("it is longer");
    for segment in &mut front {
        segment.reshape = segment.length;
    }
    let mut left = space;
    for segment in all {
        if segment.length <= left {
            left -= segment.length;
            continue;
        }
        front.push(behind(segment, core::mem::take(&mut left)));
    }
    draft.vg.lv_mut(image).segments = front;
}

/// New metadata of all of `images` says what the array was and becomes.
fn write_heads(
    draft: &mut Draft,
    (length, space): (Extents, Extents),
    (found, raid, images): (&Array, &Raid, &[RaidImage]),
    head: fn(&ReshapeHead) -> Vec<u8>,
) -> Result<()> {
    let extent = draft.vg.extent_size;
    let in_bytes = |extents: Extents| {
        let sectors = extents.to_sectors(extent);
        sectors.and_then(Sectors::to_bytes).unwrap_or(Bytes::ZERO)
    };
    for (place, image) in images.iter().enumerate() {
        let head = head(&ReshapeHead {
            before: found.raid.clone(),
            raid: raid.clone(),
            place,
            image_size: in_bytes(length),
            size: in_bytes(found.extents),
            space: in_bytes(space),
        });
        write_head(draft, image.meta.expect("it is new"), &head)?;
    }
    Ok(())
}
