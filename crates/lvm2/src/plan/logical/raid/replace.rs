//! `lvconvert --replace` and `--repair`: images go, and others take their places.
//!
//! The others lie on physical volumes that the array does not use, and are to be filled: the array
//! must have all data without what goes.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::super::create::free_space;
use super::super::degrade::{Redundancy, redundancy};
use super::copies::convertible;
use super::images::{Room, Shape, add_images, pvs_of, remove_images, set_images};
use super::parts::{Array, array};
use super::resize::require_whole;
use super::state::{ArrayState, require_settled};
use crate::Result;
use crate::model::{
    AllocationPolicy, LvFlag, LvId, PvFlag, PvId, RaidFamily, RaidImage, SegmentType, VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::checksums::require_no_checksums;
use crate::plan::draft::{Draft, refused};
use crate::plan::places::Places;

/// What `lvconvert --replace` or `--repair` was asked for, of an array.
#[derive(Debug, Clone)]
pub struct Replacement<'a> {
    /// The volume's name.
    pub volume: &'a str,
    /// `--replace`: physical volumes whose images go.
    pub pvs: &'a BTreeSet<PvId>,
    /// Where the others lie; anywhere.
    pub places: Option<&'a Places>,
    /// `--alloc`.
    pub policy: Option<AllocationPolicy>,
    /// What is known of the images that stay.
    pub state: ArrayState,
}

/// `--replace`: the images on some physical volumes.
pub fn replace_images(
    vg: &VolumeGroup,
    replacement: &Replacement<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let (id, found, gone) = on_named(vg, replacement, "replace")?;
    let name = format!("{}/{}", vg.name, replacement.volume);
    require_spare(vg, id, &found, &gone)?;
    let state = (&found, replacement.state);
    require_settled(vg, id, state, ("replace devices in", &gone))?;
    put_others(&mut draft, id, &found, &gone, replacement, author)?;
    draft.note(format!("Logical volume {name} successfully converted."));
    draft.finish(author)
}

/// `--repair`: the images that stood on `lost`, which the group is told to miss from now on, and
/// those that are errors already.
pub fn repair_array(
    vg: &VolumeGroup,
    replacement: &Replacement<'_>,
    lost: &BTreeSet<PvId>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, replacement.volume)?;
    let found = redundant(vg, id)?;
    let is_error = |lv: LvId| matches!(vg.lv(lv).first(), Some(SegmentType::Error));
    let is_lost = |image: &RaidImage| {
        let is_error = is_error(image.data) || image.meta.is_some_and(is_error);
        is_error || !pvs_of(vg, image).is_disjoint(lost)
    };
    let gone = indexes(&found, is_lost);
    let name = format!("{}/{}", vg.name, replacement.volume);
    if gone.is_empty() {
        return Err(refused(format!(
            "Volume {name} is consistent. Nothing to repair."
        )));
    }
    if redundancy(vg, id, lost) == Redundancy::Lost {
        return Err(refused(format!(
            "Unable to repair {name}: it lost {} of its {} images, and its data with them; bring \
             their devices back",
            gone.len(),
            found.raid.images.len()
        )));
    }
    let state = (&found, replacement.state);
    require_settled(vg, id, state, ("replace devices in", &gone))?;
    for pv in lost {
        draft.vg.pv_mut(*pv).flags.insert(PvFlag::Missing);
    }
    put_others(&mut draft, id, &found, &gone, replacement, author)?;
    draft.note(format!("Faulty devices in {name} successfully replaced."));
    draft.finish(author)
}

/// `lvchange --rebuild`: the images on some physical volumes are filled once more.
pub fn rebuild_images(
    vg: &VolumeGroup,
    replacement: &Replacement<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let (id, found, chosen) = on_named(vg, replacement, "rebuild")?;
    require_no_checksums(vg, id)?;
    let name = format!("{}/{}", vg.name, replacement.volume);
    if chosen.len() == found.raid.images.len() {
        return Err(refused(format!(
            "Unable to rebuild all PVs from {name} at once."
        )));
    }
    require_spare(vg, id, &found, &chosen)?;
    let state = (&found, replacement.state);
    require_settled(vg, id, state, ("rebuild devices of", &chosen))?;
    for index in chosen {
        let image = found.raid.images[index].data;
        draft.vg.lv_mut(image).flags.insert(LvFlag::Rebuild);
    }
    draft.note(format!("Logical volume {name} changed."));
    draft.finish(author)
}

/// An array of which nothing is missing, and its images on the physical volumes that are named, at
/// least one, to do this with.
fn on_named(
    vg: &VolumeGroup,
    replacement: &Replacement<'_>,
    what: &str,
) -> Result<(LvId, Array, BTreeSet<usize>)> {
    let id = convertible(vg, replacement.volume)?;
    let found = redundant(vg, id)?;
    require_whole(vg, id, &found)?;
    let is_named = |image: &RaidImage| !pvs_of(vg, image).is_disjoint(replacement.pvs);
    let named = indexes(&found, is_named);
    if named.is_empty() {
        return Err(refused(format!(
            "Logical volume {}/{} does not contain devices specified to {what}.",
            vg.name, replacement.volume
        )));
    }
    Ok((id, found, named))
}

/// An array that has its data more than once.
pub(super) fn redundant(vg: &VolumeGroup, id: LvId) -> Result<Array> {
    let found = array(vg, id).filter(|found| found.level().family() != RaidFamily::Raid0);
    let kind = vg.lv(id).segments.first().map_or("", |one| one.type_name());
    found.ok_or_else(|| {
        let name = format!("{}/{}", vg.name, vg.lv(id).name());
        refused(format!(
            "Command on LV {name} does not accept LV type {kind}.\nCommand not permitted on LV \
             {name}."
        ))
    })
}

fn indexes(found: &Array, fits: impl Fn(&RaidImage) -> bool) -> BTreeSet<usize> {
    let images = found.raid.images.iter().enumerate();
    images
        .filter(|(_, image)| fits(image))
        .map(|(index, _)| index)
        .collect()
}

/// Fails where the array would not have all data without these images.
fn require_spare(vg: &VolumeGroup, id: LvId, found: &Array, gone: &BTreeSet<usize>) -> Result<()> {
    let name = format!("{}/{}", vg.name, vg.lv(id).name());
    let (count, all) = (gone.len(), found.raid.images.len());
    if count == all {
        return Err(refused(format!(
            "Unable to replace all PVs from {name} at once."
        )));
    }
    let level = found.level();
    match level.family() {
        RaidFamily::Raid10 => {
            let copies = found.raid.copies() as usize;
            let is_group_gone = |first: usize| (first..first + copies).all(|at| gone.contains(&at));
            if (0..all / copies).any(|group| is_group_gone(group * copies)) {
                return Err(refused(
                    "Unable to replace all the devices in a RAID10 mirror group.",
                ));
            }
            Ok(())
        }
        _ if level.parity_count() > 0 && count > level.parity_count() => Err(refused(format!(
            "Unable to replace more than {} PVs from ({}) {name}.",
            level.parity_count(),
            level.name()
        ))),
        _ => Ok(()),
    }
}

/// New images take the places of those that go.
fn put_others(
    draft: &mut Draft,
    id: LvId,
    found: &Array,
    gone: &BTreeSet<usize>,
    replacement: &Replacement<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let mut images = found.raid.images.clone();
    let old: Vec<RaidImage> = gone.iter().map(|index| images[*index]).collect();
    let kept: Vec<RaidImage> = images
        .iter()
        .enumerate()
        .filter(|(index, _)| !gone.contains(index))
        .map(|(_, image)| *image)
        .collect();
    // What is replaced is not used again, nor what the old images stand on.
    let mut apart: BTreeSet<PvId> = old
        .iter()
        .flat_map(|image| pvs_of(&draft.vg, image))
        .collect();
    apart.extend(replacement.pvs);
    // What is missing was perhaps there in the old text.
    let pvs = draft.vg.pvs();
    let missing = pvs.filter(|(_, pv)| pv.flags.has(PvFlag::Missing));
    let missing: BTreeSet<PvId> = missing.map(|(pv, _)| pv).collect();
    let mut room = Room {
        space: free_space(draft, replacement.places)?.without(&missing),
        policy: replacement.policy,
        apart: &apart,
    };
    let shape = Shape::of(found, &draft.vg)?;
    let segments = core::mem::take(&mut draft.vg.lv_mut(id).segments);
    remove_images(&mut draft.vg, &old);
    let numbers: Vec<usize> = gone.iter().copied().collect();
    let added = add_images(draft, id, (shape, &kept), &numbers, &mut room, author)?;
    for (index, image) in numbers.iter().zip(added) {
        images[*index] = image;
    }
    draft.vg.lv_mut(id).segments = segments;
    set_images(&mut draft.vg, id, images);
    Ok(())
}
