//! Levels that become each other: images with parity or copies come and go, and no data moves.
//!
//! ```text
//!     raid0, striped       0 1        0 1 P      raid5_n     P 0 1    raid4     0 0' 1 1'  raid10
//!     images, in order     a b        a b c                  c a b              a c  b d
//! ```
//!
//! What becomes of metadata, whose superblocks name the level and the place of each image:
//!
//! ```text
//!     none → redundancy          new, of zeros: the data are right, the rest is made from them
//!     a second parity, raid1 ↔   stays: who starts the array takes it over, in sync as it is
//!       raid5 of two images
//!     raid4 ↔ others             new, and says of the new places what the old says of the old:
//!                                metadata in use is never rewritten
//!     redundancy → none          none, or of zeros
//! ```
//!
//! New metadata is durable before the commit that names it; a power cut leaves one or the other.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::super::create::free_space;
use super::copies::{CopiesChange, change_copies, convertible};
use super::images::{Room, Shape, add_images, remove_images, set_images};
use super::parts::{Array, array};
use super::reorder::{ArrayHead, renew_metas, settle, write_heads};
use super::resize::require_whole;
use super::route::{Form, Route, route};
use super::size::{meta_extents, region_size};
use super::state::{ArrayState, require_settled};
use super::takeover::{to_images, to_striped};
use crate::model::{
    AllocationPolicy, LvFlag, LvId, Raid, RaidFamily, RaidImage, RaidLevel, SegmentType,
    VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::{Change, Message};
use crate::plan::draft::{Draft, refused};
use crate::plan::places::Places;
use crate::{Extents, Result, Sectors};

/// Copies of RAID 10.
const COPIES: usize = 2;
/// A chunk of an array that was a mirror, where nothing was said: stock's 64 KiB.
const CHUNK_DEFAULT: Sectors = Sectors(128);

/// What `lvconvert --type` was asked for, of a volume that is an array or becomes one with
/// redundancy.
#[derive(Debug, Clone)]
pub struct LevelChange<'a> {
    /// The volume's name.
    pub volume: &'a str,
    /// What it is to be.
    pub to: Form,
    /// `-R`; without it what it has, or a default.
    pub region_size: Option<Sectors>,
    /// `-I`, of RAID 1 that gets chunks.
    pub stripe_size: Option<Sectors>,
    /// Where new images lie.
    pub places: Option<&'a Places>,
    /// `--alloc`.
    pub policy: Option<AllocationPolicy>,
    /// What is known of the images.
    pub state: ArrayState,
    /// What the metadata of an image in sync begins with.
    pub head: fn(&ArrayHead) -> Vec<u8>,
}

/// Lets a volume become another type, or the one that comes first on the way to it.
pub fn change_level(
    vg: &VolumeGroup,
    change: &LevelChange<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let id = convertible(vg, change.volume)?;
    let (from, images) = form(vg, id)?;
    let name = format!("{}/{}", vg.name, change.volume);
    let step = step(&name, (from, images), change.to)?;
    let mut made = if from == Form::Linear || step == Form::Linear {
        change_copies(vg, &copies_change(change, step), author)?
    } else {
        let mut draft = Draft::begin(vg)?;
        become_form(&mut draft, id, (from, step), change, author)?;
        draft.note(format!("Logical volume {name} successfully converted."));
        draft.finish(author)?
    };
    if step != change.to {
        let (asked, step) = (change.to.name(), step.name());
        made.messages.extend([
            Message::warning(format!(
                "Replaced LV type {asked} with possible type {step}."
            )),
            Message::warning(format!(
                "Repeat this command to convert to {asked} after an interim conversion has \
                 finished."
            )),
        ]);
    }
    Ok(made)
}

/// What a volume is, and of how many stripes or images.
fn form(vg: &VolumeGroup, id: LvId) -> Result<(Form, usize)> {
    if let Some(found) = array(vg, id) {
        return Ok((Form::Raid(found.level()), found.raid.images.len()));
    }
    let lv = vg.lv(id);
    match lv.first() {
        Some(SegmentType::Striped(striped)) if striped.areas.len() > 1 => {
            Ok((Form::Striped, striped.areas.len()))
        }
        Some(SegmentType::Striped(_)) => Ok((Form::Linear, 1)),
        _ => {
            let kind = lv.segments.first().map_or("", |one| one.type_name());
            Err(refused(format!(
                "Unable to convert LV {}/{} of type {kind}, or in the middle of a reshape",
                vg.name,
                lv.name()
            )))
        }
    }
}

/// What is done now on the way from one type to another.
fn step(name: &str, (from, images): (Form, usize), to: Form) -> Result<Form> {
    let (was, asked) = (from.name(), to.name());
    let why = match route(from, images, to) {
        Route::Direct => return Ok(to),
        Route::First(step) => return Ok(step),
        Route::Same => {
            return Err(refused(format!(
                "Logical volume {name} already is of type {was}."
            )));
        }
        Route::TwoCopies => format!("Convert {was} LV {name} to 2 images first."),
        Route::Reshape(step) if step == to => {
            "that moves its data, a reshape, which is not done here; LVM2 does it".to_owned()
        }
        Route::Reshape(step) => format!(
            "it has to become {} first, which moves its data, a reshape; that is not done here; \
             LVM2 does it",
            step.name()
        ),
        Route::Images(count) => format!(
            "it has to have {count} images first, not {images}, which moves its data, a reshape; \
             that is not done here; LVM2 does it"
        ),
    };
    Err(refused(match route(from, images, to) {
        Route::TwoCopies => why,
        _ => format!("Unable to convert LV {name} from {was} to {asked}: {why}"),
    }))
}

fn copies_change<'a>(change: &LevelChange<'a>, step: Form) -> CopiesChange<'a> {
    CopiesChange {
        volume: change.volume,
        copies: if step == Form::Linear { 1 } else { COPIES },
        region_size: change.region_size,
        places: change.places,
        policy: change.policy,
        state: change.state,
    }
}

fn become_form(
    draft: &mut Draft,
    id: LvId,
    (from, to): (Form, Form),
    change: &LevelChange<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let is_plain = match from {
        Form::Linear | Form::Striped => true,
        Form::Raid(level) => level.family() == RaidFamily::Raid0,
    };
    if is_plain {
        let Form::Raid(level) = to else {
            unreachable!("others are done elsewhere");
        };
        return protect(draft, id, (from, level), change, author);
    }
    let found = array(&draft.vg, id).expect("it has redundancy");
    require_whole(&draft.vg, id, &found)?;
    let what = ("convert", &BTreeSet::new());
    require_settled(&draft.vg, id, (&found, change.state), what)?;
    match to {
        Form::Linear => unreachable!("no array becomes linear at once"),
        Form::Striped => expose(draft, id, &found, RaidLevel::Raid0, author)
            .and_then(|found| to_striped(draft, id, &found)),
        Form::Raid(level) if level.family() == RaidFamily::Raid0 => {
            expose(draft, id, &found, level, author).map(drop)
        }
        Form::Raid(level) => exchange(draft, id, (&found, level), change, author),
    }
}

/// Stripes get parity or copies.
fn protect(
    draft: &mut Draft,
    id: LvId,
    (from, level): (Form, RaidLevel),
    change: &LevelChange<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    if from == Form::Striped {
        to_images(draft, id, change.volume, author)?;
    }
    let found = array(&draft.vg, id).expect("it has images");
    require_whole(&draft.vg, id, &found)?;
    let stripe = found.raid.stripe_size;
    if !stripe.0.is_power_of_two() {
        return Err(refused(format!(
            "Cannot convert striped LV {}/{} with non-power of 2 stripe size {}.",
            draft.vg.name, change.volume, stripe.0
        )));
    }
    let count = found.raid.images.len();
    let length = Extents(found.extents.0 / count as u64);
    let region = region_size(draft, change.region_size, found.extents)?;
    require_regions(draft, id, (region, stripe))?;
    let meta = meta_extents(level, length, region, draft.vg.extent_size);
    let mut images = renew_metas(draft, id, found.raid.images.clone(), meta, author)?;
    let more = match level.family() {
        RaidFamily::Raid10 => count * (COPIES - 1),
        _ => level.parity_count(),
    };
    let numbers: Vec<usize> = (count..count + more).collect();
    let shape = Shape {
        length,
        meta,
        checksums: None,
    };
    let added = added(draft, id, (&images, shape), &numbers, change, author)?;
    for image in &added {
        // All of the array is made consistent: nothing of it ever was.
        draft.vg.lv_mut(image.data).flags.remove(LvFlag::Rebuild);
    }
    match level.family() {
        RaidFamily::Raid10 => {
            let pairs = images.into_iter().zip(added);
            images = pairs.flat_map(|(first, second)| [first, second]).collect();
        }
        RaidFamily::Raid4 => images.splice(0..0, added).for_each(drop),
        _ => images.extend(added),
    }
    let raid = Raid {
        level,
        data_copies: (level.family() == RaidFamily::Raid10).then_some(COPIES as u32),
        region_size: region,
        ..found.raid
    };
    draft.vg.lv_mut(id).flags.remove(LvFlag::NotSynced);
    settle(draft, id, &raid, images)
}

/// Parity or copies go; what is left has no metadata, or some of zeros.
fn expose(
    draft: &mut Draft,
    id: LvId,
    found: &Array,
    level: RaidLevel,
    author: &mut Author<'_>,
) -> Result<Array> {
    let copies = found.raid.copies() as usize;
    let is_data = |place: usize| match found.level().family() {
        RaidFamily::Raid10 => place.is_multiple_of(copies),
        RaidFamily::Raid4 => place > 0,
        _ => place < found.data(),
    };
    if found.level().family() == RaidFamily::Raid10
        && !found.raid.images.len().is_multiple_of(copies)
    {
        return Err(refused(format!(
            "Can't convert {} LV {}/{} to {} with odd number of stripes.",
            found.level().name(),
            draft.vg.name,
            draft.vg.lv(id).name(),
            level.name()
        )));
    }
    let all = found.raid.images.iter().copied().enumerate();
    let (left, gone): (Vec<_>, Vec<_>) = all.partition(|(place, _)| is_data(*place));
    let plain = |list: Vec<(usize, RaidImage)>| list.into_iter().map(|(_, image)| image);
    let left: Vec<RaidImage> = plain(left).collect();
    assert_eq!(left.len(), found.data(), "the data stay");
    let length = Extents(found.extents.0 / left.len() as u64);
    draft.vg.lv_mut(id).segments[0].kind = SegmentType::Raid(Raid {
        images: left.clone(),
        ..found.raid.clone()
    });
    remove_images(&mut draft.vg, &plain(gone).collect::<Vec<_>>());
    let meta = meta_extents(level, length, Sectors::ZERO, draft.vg.extent_size);
    let images = renew_metas(draft, id, left, meta, author)?;
    let raid = Raid {
        level,
        data_copies: None,
        region_size: Sectors::ZERO,
        min_recovery_rate: None,
        max_recovery_rate: None,
        ..found.raid.clone()
    };
    settle(draft, id, &raid, images)?;
    Ok(array(&draft.vg, id).expect("it is RAID 0"))
}

/// One kind of redundancy becomes another one.
fn exchange(
    draft: &mut Draft,
    id: LvId,
    (found, level): (&Array, RaidLevel),
    change: &LevelChange<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let mut images = found.raid.images.clone();
    let length = Extents(found.extents.0 / found.data() as u64);
    let stripe = match (found.level().family(), level.family()) {
        (_, RaidFamily::Raid1) => Sectors::ZERO,
        (RaidFamily::Raid1, _) => change.stripe_size.unwrap_or(CHUNK_DEFAULT),
        _ => found.raid.stripe_size,
    };
    let region = same_region(draft, found, change)?;
    require_regions(draft, id, (region, stripe))?;
    require_chunks(draft, id, (length, stripe))?;
    let meta = meta_extents(level, length, region, draft.vg.extent_size);
    // Of two images both are alike, whichever is called parity.
    let turns = |level: RaidLevel| level.family() == RaidFamily::Raid4;
    let is_pair = images.len() == COPIES && level.parity_count() < 2;
    let is_mirror = [level, found.level()].contains(&RaidLevel::Raid1);
    let moves = turns(found.level()) != turns(level) && !(is_pair && is_mirror);
    if moves && turns(found.level()) {
        images.rotate_left(1);
    }
    let parity = (found.level().parity_count(), level.parity_count());
    if parity == (2, 1) {
        let gone = images.pop().expect("there are some");
        set_images(&mut draft.vg, id, images.clone());
        remove_images(&mut draft.vg, &[gone]);
    }
    let mut added = Vec::new();
    if moves {
        images = renew_metas(draft, id, images, meta, author)?;
    }
    if parity == (1, 2) {
        let numbers = [images.len()];
        let shape = Shape {
            length,
            meta,
            checksums: None,
        };
        added = self::added(draft, id, (&images, shape), &numbers, change, author)?;
    }
    if moves && turns(level) {
        images.rotate_right(1);
    }
    let kept = images.len();
    images.extend(added);
    for image in &images {
        draft
            .vg
            .lv_mut(image.data)
            .flags
            .remove(LvFlag::WriteMostly);
    }
    let raid = Raid {
        level,
        stripe_size: stripe,
        region_size: region,
        write_behind: None,
        images: images.clone(),
        ..found.raid.clone()
    };
    if moves {
        write_heads(draft, (id, length), &raid, kept, change.head)?;
    }
    settle(draft, id, &raid, images)
}

/// What a bit of the bitmap covers, which stays.
fn same_region(draft: &mut Draft, found: &Array, change: &LevelChange<'_>) -> Result<Sectors> {
    let region = match change.region_size {
        None => found.raid.region_size,
        asked => region_size(draft, asked, found.extents)?,
    };
    if region == found.raid.region_size {
        return Ok(region);
    }
    Err(refused(format!(
        "Unable to change the region size of {}/{} while its type changes",
        draft.vg.name, change.volume
    )))
}

/// New images, to be filled, on other physical volumes than the others.
fn added(
    draft: &mut Draft,
    id: LvId,
    (kept, shape): (&[RaidImage], Shape),
    numbers: &[usize],
    change: &LevelChange<'_>,
    author: &mut Author<'_>,
) -> Result<Vec<RaidImage>> {
    let mut space = free_space(draft, change.places)?;
    space.keep_free(&draft.vg);
    let mut room = Room {
        space,
        policy: change.policy,
        apart: &BTreeSet::new(),
    };
    add_images(draft, id, (shape, kept), numbers, &mut room, author)
}

/// A region is not shorter than a chunk.
fn require_regions(draft: &Draft, id: LvId, (region, stripe): (Sectors, Sectors)) -> Result<()> {
    if region >= stripe {
        return Ok(());
    }
    Err(refused(format!(
        "Region size may not be smaller than stripe size on LV {}/{}.",
        draft.vg.name,
        draft.vg.lv(id).name()
    )))
}

/// Images are whole chunks: behind the last one nothing would be kept.
fn require_chunks(draft: &Draft, id: LvId, (length, stripe): (Extents, Sectors)) -> Result<()> {
    let sectors = length.to_sectors(draft.vg.extent_size).unwrap_or_default();
    let is_power = stripe == Sectors::ZERO || stripe.0.is_power_of_two();
    if is_power && (stripe == Sectors::ZERO || sectors.0.is_multiple_of(stripe.0)) {
        return Ok(());
    }
    Err(refused(format!(
        "Unable to convert {}/{}: its images of {} sectors are not whole chunks of {}, a power of \
         2; choose another --stripesize",
        draft.vg.name,
        draft.vg.lv(id).name(),
        sectors.0,
        stripe.0
    )))
}
