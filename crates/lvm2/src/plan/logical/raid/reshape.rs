//! A reshape begins: the data of an array get another layout, other chunks, or more images.
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
//! When all is moved the space is behind the data; it is given up when the same is asked once more.
//!
//! Does not: take images away, move copies, or begin where the last reshape has left its space.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::super::create::free_space;
use super::super::resize::require_own_or_reshaped;
use super::copies::beside;
use super::images::{Room, Shape, add_images, set_images};
use super::parts::{Array, array};
use super::reorder::{renew_metas, settle};
use super::resize::require_whole;
use super::size::meta_extents;
use super::state::{ArrayState, require_settled};
use crate::model::{
    AllocationPolicy, Area, LvFlag, LvId, Raid, RaidFamily, RaidImage, RaidLevel, Segment,
    SegmentType, TypeFlag, VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::{Before, Change};
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments};
use crate::plan::places::Places;
use crate::plan::{ranges, segments};
use crate::{Bytes, Extents, Result, Sectors};

/// The space in sectors, where a chunk is not longer: what stock sets aside.
const SPACE_MIN: Sectors = Sectors(2048);
/// Images of an array at most.
const IMAGES_MAX: usize = 64;
/// What is written at once of new metadata.
const BLOCK: u64 = 4096;

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
    /// What the metadata of an image begins with.
    pub head: fn(&ReshapeHead) -> Vec<u8>,
}

/// An image of an array that begins to become another one.
#[derive(Debug, Clone)]
pub struct ReshapeHead {
    /// What the array was.
    pub before: Raid,
    /// What it becomes.
    pub raid: Raid,
    /// The image's place in it.
    pub place: usize,
    /// Bytes of each image that hold data.
    pub image_size: Bytes,
    /// Bytes of the array as it was.
    pub size: Bytes,
    /// Bytes of each image in front of the data.
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
        end(&mut draft, id, &name, change)?;
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

/// Nothing else is asked of an array than what it has become: the space goes, which is behind the
/// data by now.
fn end(draft: &mut Draft, id: LvId, name: &str, change: &ReshapeChange<'_>) -> Result<()> {
    let lv = draft.vg.lv(id);
    let ([segment], Some(SegmentType::Raid(raid))) = (lv.segments.as_slice(), lv.first()) else {
        return Err(refused(format!("Unable to reshape {name}: it is no array")));
    };
    let (space, images) = (segment.reshape, raid.images.clone());
    let data = raid.level.data_images(images.len(), raid.copies());
    let is_leaving = |image: &RaidImage| {
        let mut segments = draft.vg.lv(image.data).segments.iter();
        segments.any(|one| one.type_flags.contains(&TypeFlag::RemoveAfterReshape))
    };
    let is_that = change.stripes.is_none_or(|stripes| stripes == data)
        && change.level.is_none()
        && change
            .stripe_size
            .is_none_or(|size| size == raid.stripe_size)
        && !images.iter().any(is_leaving);
    if !is_that || space == Extents::ZERO {
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
    if change.data_start != Some(Bytes::ZERO) {
        return Err(refused(format!(
            "Unable to give up the reshape space of {name}, which is in front of its data; LVM2 \
             does it"
        )));
    }
    let length = Extents(segment.length.0 / data as u64) - space;
    for image in &images {
        let list = &mut draft.vg.lv_mut(image.data).segments;
        segments::truncate(list, length)?;
        for segment in list.iter_mut() {
            segment.reshape = Extents::ZERO;
        }
        segments::merge(list);
    }
    let segment = &mut draft.vg.lv_mut(id).segments[0];
    segment.length = Extents(length.0 * data as u64);
    segment.reshape = Extents::ZERO;
    segment.type_flags.clear();
    draft.note(format!(
        "No change in RAID LV {name} layout, freeing reshape space."
    ));
    draft.note(format!("Logical volume {name} successfully converted."));
    Ok(())
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
    if stripes < found.data() {
        return Err(refused(format!(
            "Unable to take stripes from {name}: that is not done here; LVM2 does it"
        )));
    }
    let images = stripes + level.parity_count();
    if images > IMAGES_MAX {
        return Err(refused(format!(
            "Unable to reshape {name}: an array has at most {IMAGES_MAX} images"
        )));
    }
    let is_more = stripes > found.data();
    if is_more && to != level {
        return Err(refused(format!(
            "Unable to reshape {name}: its layout and the number of its stripes change one after \
             the other"
        )));
    }
    if !is_more && to == level && stripe_size == found.raid.stripe_size {
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
    let space = SPACE_MIN.0.max(longest).div_ceil(extent.0);
    let space = Extents(space);
    let stripes = change.stripes.unwrap_or(data);
    let mut images = found.raid.images.clone();
    let kept = images.len();
    for image in &images {
        let list = beside(draft, image.data, (space, change.policy), change.volume)?;
        put_in_front(draft, image.data, list, space);
    }
    let meta = meta_extents(found.level(), length, raid.region_size, extent);
    images = renew_metas(draft, id, images, meta, author)?;
    if stripes > data {
        let (before, after) = (data as u64 * length.0, stripes as u64 * length.0);
        draft.warn(format!(
            "WARNING: Adding stripes to logical volume {}/{} will grow it from {before} to {after} \
             extents!",
            draft.vg.name, change.volume
        ));
        let numbers: Vec<usize> = (kept..kept + stripes - data).collect();
        let mut free = free_space(draft, change.places)?;
        free.keep_free(&draft.vg);
        let mut room = Room {
            space: free,
            policy: change.policy,
            apart: &BTreeSet::new(),
        };
        let shape = Shape {
            length: length + space,
            meta,
        };
        let added = add_images(draft, id, (shape, &images), &numbers, &mut room, author)?;
        for image in &added {
            // What is moved to them says what they hold.
            draft.vg.lv_mut(image.data).flags.remove(LvFlag::Rebuild);
            set_apart(draft, image.data, space);
        }
        images.extend(added);
    }
    let raid = Raid { images, ..raid };
    set_images(&mut draft.vg, id, raid.images.clone());
    write_heads(draft, (length, space), (found, &raid), change.head)?;
    settle(draft, id, &raid, raid.images.clone())?;
    let segment = &mut draft.vg.lv_mut(id).segments[0];
    segment.length = Extents(stripes as u64 * (length.0 + space.0));
    segment.reshape = space;
    segment.type_flags = [TypeFlag::Reshape, TypeFlag::ReshapeDataOffset].to_vec();
    Ok(())
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

/// A linear segment without its first extents.
fn behind(mut segment: Segment, first: Extents) -> Segment {
    let [area] = segment.areas_mut() else {
        unreachable!("a new image is linear");
    };
    match area {
        Area::Pv { start, .. } | Area::Lv { start, .. } => {
            *start += first;
        }
    }
    segment.start += first;
    segment.length -= first;
    segment
}

/// New metadata of all images says what the array was and becomes.
fn write_heads(
    draft: &mut Draft,
    (length, space): (Extents, Extents),
    (found, raid): (&Array, &Raid),
    head: fn(&ReshapeHead) -> Vec<u8>,
) -> Result<()> {
    let extent = draft.vg.extent_size;
    let in_bytes = |extents: Extents| {
        let sectors = extents.to_sectors(extent);
        sectors.and_then(Sectors::to_bytes).unwrap_or(Bytes::ZERO)
    };
    let images: Vec<RaidImage> = raid.images.clone();
    for (place, image) in images.into_iter().enumerate() {
        let head = head(&ReshapeHead {
            before: found.raid.clone(),
            raid: raid.clone(),
            place,
            image_size: in_bytes(length),
            size: in_bytes(found.extents),
            space: in_bytes(space),
        });
        let meta = image.meta.expect("it is new");
        let step = BLOCK.min(in_bytes(Extents(1)).0) as usize;
        for (number, bytes) in head.chunks(step).enumerate() {
            let start = Bytes((number * step) as u64);
            let pieces = ranges::pieces(&draft.vg, meta, start, Bytes(bytes.len() as u64))?;
            let [piece] = pieces.as_slice() else {
                unreachable!("a block of an extent lies in one piece");
            };
            draft.before.push(Before::Write {
                piece: *piece,
                bytes: bytes.to_vec(),
            });
        }
    }
    Ok(())
}
