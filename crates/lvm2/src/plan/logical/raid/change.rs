//! `lvchange` of arrays: which images are read last, how much a write may lag behind on them, how
//! fast the array is brought in sync; and `--resync`.
//!
//! `--resync` gives the array new metadata of zeros, on other extents: metadata in use is never
//! rewritten, since behind a power cut some of it would speak of another array than the rest.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use super::copies::{beside, convertible};
use super::images::pvs_of;
use super::parts::{add_meta, array, names};
use super::replace::redundant;
use super::resize::require_whole;
use super::state::{ArrayState, is_rebuilding};
use crate::model::{LvFlag, LvId, PvId, RaidImage, RaidLevel, SegmentType, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused};
use crate::{Extents, Result};

/// Whether images are read where others can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMostly {
    /// `PV` or `PV:y`: only where no other can be.
    Yes,
    /// `PV:n`: as all others.
    No,
    /// `PV:t`: the other way round.
    Toggle,
}

/// One property of an array to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayChange {
    /// `--writemostly`, of the images on a physical volume.
    WriteMostly(PvId, WriteMostly),
    /// `--writebehind`: how many writes may lag behind; 0 for the kernel's default.
    WriteBehind(u32),
    /// `--minrecoveryrate`, in KiB per second and image; 0 for the kernel's default.
    MinRecoveryRate(u32),
    /// `--maxrecoveryrate`, the same.
    MaxRecoveryRate(u32),
}

/// Changes properties of an array.
pub fn change_array(
    vg: &VolumeGroup,
    volume: &str,
    changes: &[ArrayChange],
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = find_lv(vg, volume)?;
    redundant(vg, id)?;
    for change in changes {
        apply(&mut draft, id, *change)?;
    }
    require_one_read(&draft.vg, id)?;
    draft.note(format!("Logical volume {}/{volume} changed.", vg.name));
    draft.finish(author)
}

fn apply(draft: &mut Draft, id: LvId, change: ArrayChange) -> Result<()> {
    let found = redundant(&draft.vg, id)?;
    let is_mirror = found.level() == RaidLevel::Raid1;
    let of_mirrors = matches!(
        change,
        ArrayChange::WriteMostly(..) | ArrayChange::WriteBehind(_)
    );
    if of_mirrors && !is_mirror {
        let name = format!("{}/{}", draft.vg.name, draft.vg.lv(id).name());
        return Err(refused(format!(
            "Command on LV {name} uses options that require LV types raid1 .\nCommand not \
             permitted on LV {name}."
        )));
    }
    let some = |number: u32| (number > 0).then_some(number);
    if let ArrayChange::WriteMostly(pv, wanted) = change {
        let is_there = |image: &&RaidImage| pvs_of(&draft.vg, image).contains(&pv);
        let images: Vec<RaidImage> = found.raid.images.iter().filter(is_there).copied().collect();
        for image in images {
            let flags = &mut draft.vg.lv_mut(image.data).flags;
            let is_set = match wanted {
                WriteMostly::Yes => true,
                WriteMostly::No => false,
                WriteMostly::Toggle => !flags.has(LvFlag::WriteMostly),
            };
            if is_set {
                flags.insert(LvFlag::WriteMostly);
            } else {
                flags.remove(LvFlag::WriteMostly);
            }
        }
        return Ok(());
    }
    let SegmentType::Raid(raid) = &mut draft.vg.lv_mut(id).segments[0].kind else {
        unreachable!("it is an array");
    };
    match change {
        ArrayChange::WriteMostly(..) => {}
        ArrayChange::WriteBehind(number) => raid.write_behind = some(number),
        ArrayChange::MinRecoveryRate(rate) => raid.min_recovery_rate = some(rate),
        ArrayChange::MaxRecoveryRate(rate) => raid.max_recovery_rate = some(rate),
    }
    let (min, max) = (raid.min_recovery_rate, raid.max_recovery_rate);
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        return Err(refused(format!(
            "Minimum recovery rate, {min} KiB/sec, cannot be higher than the maximum, {max}"
        )));
    }
    Ok(())
}

/// An image that is read as others stays.
fn require_one_read(vg: &VolumeGroup, id: LvId) -> Result<()> {
    let found = redundant(vg, id)?;
    let is_last = |image: &RaidImage| vg.lv(image.data).flags.has(LvFlag::WriteMostly);
    if found.raid.images.iter().all(is_last) {
        return Err(refused(format!(
            "Can't set all images of {} LV {}/{} to writemostly.",
            found.level().name(),
            vg.name,
            vg.lv(id).name()
        )));
    }
    Ok(())
}

/// Lets the images of an array be made consistent once more: copies equal to the first one, parity
/// right for the data.
pub fn resync_array(
    vg: &VolumeGroup,
    volume: &str,
    state: ArrayState,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, volume)?;
    let found = redundant(vg, id)?;
    require_whole(vg, id, &found)?;
    if !matches!(state, ArrayState::InSync | ArrayState::Unused) || is_rebuilding(vg, &found) {
        return Err(refused(format!(
            "Can't resync {}/{volume} while an image of it does not hold all data: use it until \
             it does",
            vg.name
        )));
    }
    renew_metas(&mut draft, id, found.raid.images.len(), author)?;
    draft.vg.lv_mut(id).flags.remove(LvFlag::NotSynced);
    assert!(array(&draft.vg, id).is_some(), "it is an array as before");
    draft.note(format!("Logical volume {}/{volume} changed.", vg.name));
    draft.finish(author)
}

/// Gives the first `count` images of an array new metadata of zeros: it starts its life anew, and
/// its copies are made equal to the first one.
pub(super) fn renew_metas(
    draft: &mut Draft,
    id: LvId,
    count: usize,
    author: &mut Author<'_>,
) -> Result<()> {
    let places: Vec<usize> = (0..count).collect();
    zero_metas(draft, id, &places, author)?;
    // That images are alike is not said of those that somebody has used.
    draft.vg.lv_mut(id).flags.remove(LvFlag::NotSynced);
    Ok(())
}

/// Gives the images in these places of an array new metadata of zeros, on other extents.
pub(super) fn zero_metas(
    draft: &mut Draft,
    id: LvId,
    places: &[usize],
    author: &mut Author<'_>,
) -> Result<()> {
    let mut found = array(&draft.vg, id).expect("the caller has one");
    let (name, own) = (
        draft.vg.lv(id).name().to_owned(),
        draft.vg.lv(id).allocation,
    );
    let mut old: Vec<(LvId, Extents)> = Vec::new();
    for place in places {
        let meta = found.raid.images[*place].meta.take();
        let meta = meta.expect("each has metadata");
        old.push((meta, draft.vg.lv(meta).extents()));
    }
    draft.vg.lv_mut(id).segments[0].kind = SegmentType::Raid(found.raid.clone());
    for (meta, _) in &old {
        draft.vg.remove_lv(*meta);
    }
    for (number, (_, length)) in places.iter().copied().zip(old) {
        let image = found.raid.images[number].data;
        let list = beside(draft, image, (length, None), &name)?;
        let meta = add_meta(draft, names(&name, number).1, list, own, author)?;
        found.raid.images[number].meta = Some(meta);
    }
    draft.vg.lv_mut(id).segments[0].kind = SegmentType::Raid(found.raid);
    Ok(())
}
