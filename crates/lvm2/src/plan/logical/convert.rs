//! `lvconvert -m`: linear to mirror and back, more and fewer copies, another log.
//!
//! ```text
//!     a: linear      a's segments move into a_mimage_0; a becomes a mirror over it and a new copy
//!     a: 2 copies    another copy: a new log, on new extents, in which nothing is in sync yet
//!     a: 1 copy      the copy's segments move into a, and its parts disappear
//! ```
//!
//! The first copy is the one from which the others are made. So it goes only where the mirror is
//! known to be in sync. A log in use is never rewritten: after a crash it would be believed.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::mirror::{self, LEGS_MAX, LogContents, Parts};
use super::options::{Initial, MirrorLog};
use super::resize::require_resizable;
use crate::model::{
    AllocationPolicy, LvFlag, LvId, PvFlag, PvId, Relations, SegmentType, VolumeGroup,
};
use crate::plan::allocate::{Request, allocate};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments, wrong};
use crate::plan::places::{FreeSpace, Places};
use crate::plan::segments;
use crate::{Extents, Result, Sectors};

/// What `lvconvert -m` was asked for.
#[derive(Debug, Clone)]
pub struct Conversion<'a> {
    /// The volume's name.
    pub volume: &'a str,
    /// Copies that there are to be, 1 or more: one more than `-m` says.
    pub legs: usize,
    /// `--mirrorlog`; without it the log stays, or is on disk.
    pub log: Option<MirrorLog>,
    /// `-R`.
    pub region_size: Option<Sectors>,
    /// Whether new copies are made equal.
    pub initial: Initial,
    /// Where new copies go, or which copies go first.
    pub places: Option<&'a Places>,
    /// `--alloc`.
    pub policy: Option<AllocationPolicy>,
    /// Whether the copies are known to be the same; asked for only where the first one goes.
    pub state: MirrorState,
}

/// What is known of a mirror's copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorState {
    /// They are the same.
    InSync,
    /// They may differ.
    Unknown,
}

/// Changes the number of copies of a volume, or the log of a mirror.
pub fn convert_mirrors(
    vg: &VolumeGroup,
    conversion: &Conversion<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    let id = find_lv(vg, conversion.volume)?;
    require_resizable(vg, id)?;
    if !Relations::of(vg).is_visible(vg, id) {
        return Err(refused(format!(
            "Operation not permitted on hidden LV {}/{}.",
            vg.name, conversion.volume
        )));
    }
    if !(1..=LEGS_MAX).contains(&conversion.legs) {
        return Err(wrong(format!(
            "Only up to {LEGS_MAX} images in mirror supported currently."
        )));
    }
    let parts = mirror::parts(vg, id)?;
    let old = parts.as_ref().map_or(1, |parts| parts.images.len());
    match parts {
        None if conversion.legs == 1 => {
            return Err(refused(format!(
                "Logical volume {}/{} is already not mirrored.",
                vg.name, conversion.volume
            )));
        }
        None => mirror_linear(&mut draft, id, conversion, author)?,
        Some(parts) if conversion.legs > old => {
            add_legs(&mut draft, id, &parts, conversion, author)?;
        }
        Some(parts) if conversion.legs < old => {
            remove_legs(&mut draft, id, &parts, conversion, author)?;
        }
        Some(parts) => change_log(&mut draft, id, &parts, conversion, author)?,
    }
    let done = if conversion.legs > old {
        "being converted"
    } else {
        "converted"
    };
    draft.note(format!(
        "Logical volume {}/{} {done}.",
        vg.name, conversion.volume
    ));
    draft.finish(author)
}

fn require_all_present(vg: &VolumeGroup, lvs: &[LvId]) -> Result<()> {
    for lv in lvs {
        for pv in mirror::pvs_below(vg, *lv) {
            if vg.pv(pv).flags.has(PvFlag::Missing) {
                return Err(refused(format!(
                    "Logical volume {} stands on a missing physical volume; repair it first",
                    vg.lv(*lv).name()
                )));
            }
        }
    }
    Ok(())
}

fn mirror_linear(
    draft: &mut Draft,
    id: LvId,
    conversion: &Conversion<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let lv = draft.vg.lv(id);
    let is_on_extents = lv
        .segments
        .iter()
        .all(|segment| matches!(segment.kind, SegmentType::Striped(_)));
    if !is_on_extents || lv.segments.is_empty() {
        return Err(refused(format!(
            "Logical volume {} takes no extents: it cannot be mirrored",
            lv.name()
        )));
    }
    require_all_present(&draft.vg, &[id])?;
    let extents = draft.vg.lv(id).extents();
    let region = mirror::region_size(draft, conversion.region_size, extents)?;
    let mut space = free_space(draft, conversion)?;
    let first = core::mem::take(&mut draft.vg.lv_mut(id).segments);
    let mut images = vec![mirror::add_image(
        &mut draft.vg,
        conversion.volume,
        author,
        first,
    )?];
    let more = conversion.legs - 1;
    add_images(draft, id, &mut images, more, &mut space, conversion, author)?;
    if conversion.initial == Initial::NoSync {
        draft.vg.lv_mut(id).flags.insert(LvFlag::NotSynced);
        draft.warn("New mirror won't be synchronised. Don't read what you didn't write!");
    }
    let log = (
        conversion.log.unwrap_or(MirrorLog::Disk),
        LogContents::of(conversion.initial),
    );
    finish_mirror(
        draft,
        id,
        &images,
        (log, region, extents),
        &mut space,
        author,
    )
}

fn free_space(draft: &mut Draft, conversion: &Conversion<'_>) -> Result<FreeSpace> {
    super::create::free_space(draft, conversion.places)
}

/// Allocates `count` more copies, apart from the ones that there are.
fn add_images(
    draft: &mut Draft,
    id: LvId,
    images: &mut Vec<LvId>,
    count: usize,
    space: &mut FreeSpace,
    conversion: &Conversion<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let first = images[0];
    let extents = draft.vg.lv(first).extents();
    // As in stock, new copies have no stripes, whatever the first has.
    let (stripes, stripe_size) = (1, Sectors::ZERO);
    let policy = conversion
        .policy
        .or(draft.vg.lv(id).allocation)
        .unwrap_or(draft.vg.allocation);
    let mut request = Request::new(extents, count, stripes, policy);
    request.apart = legs_below(&draft.vg, images);
    let runs = allocate(&draft.vg, space, &request)
        .map_err(|shortage| shortage.error(conversion.volume))?;
    for leg in 0..count {
        let mut list = Vec::new();
        segments::append(
            &mut list,
            segments::of_runs(&runs, leg, stripes, stripe_size, Extents::ZERO),
        );
        let image = mirror::add_image(&mut draft.vg, conversion.volume, author, list)?;
        assert_eq!(
            draft.vg.lv(image).extents(),
            extents,
            "copies are of one length"
        );
        images.push(image);
    }
    Ok(())
}

fn legs_below(vg: &VolumeGroup, images: &[LvId]) -> BTreeSet<PvId> {
    images
        .iter()
        .flat_map(|image| mirror::pvs_below(vg, *image))
        .collect()
}

pub(super) fn finish_mirror(
    draft: &mut Draft,
    id: LvId,
    images: &[LvId],
    (log, region, extents): ((MirrorLog, LogContents), Sectors, Extents),
    space: &mut FreeSpace,
    author: &mut Author<'_>,
) -> Result<()> {
    let legs = legs_below(&draft.vg, images);
    assert!(!images.is_empty(), "a mirror has images");
    let is_as_long = |image: &LvId| draft.vg.lv(*image).extents() == extents;
    assert!(
        images.iter().all(is_as_long),
        "images are as long as their mirror"
    );
    let length = mirror::log_extents(extents, region, draft.vg.extent_size);
    let name = draft.vg.lv(id).name().to_owned();
    let log = mirror::add_log(draft, space, author, &name, log, length, &legs)?;
    let kind = segments::mirror_of(images, log, region);
    draft.vg.lv_mut(id).segments = vec![segments::segment(Extents::ZERO, extents, kind)];
    Ok(())
}

/// What the log of a mirror is.
pub(super) fn log_kind(vg: &VolumeGroup, parts: &Parts) -> Result<MirrorLog> {
    Ok(match parts.log {
        None => MirrorLog::Core,
        Some(log) if mirror::parts(vg, log)?.is_some() => MirrorLog::Mirrored,
        Some(_) => MirrorLog::Disk,
    })
}

fn add_legs(
    draft: &mut Draft,
    id: LvId,
    parts: &Parts,
    conversion: &Conversion<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    require_all_present(&draft.vg, &parts.images)?;
    if conversion.initial == Initial::NoSync && conversion.state != MirrorState::InSync {
        // The new log would say that all images are in sync, also those that are not.
        return Err(refused(format!(
            "Unable to add an image to {}/{} with --nosync while its images are not known to be in \
             sync: leave --nosync out",
            draft.vg.name, conversion.volume
        )));
    }
    if draft.vg.lv(id).flags.has(LvFlag::NotSynced) && conversion.initial == Initial::Synchronise {
        // The first copy is taken for right from now on.
        draft.vg.lv_mut(id).flags.remove(LvFlag::NotSynced);
    }
    let kind = conversion.log.unwrap_or(log_kind(&draft.vg, parts)?);
    // The old log's extents stay taken: the new one must not lie on them.
    let mut space = free_space(draft, conversion)?;
    let mut images = parts.images.clone();
    let more = conversion.legs - images.len();
    add_images(draft, id, &mut images, more, &mut space, conversion, author)?;
    drop_old_log(draft, id, parts)?;
    let extents = draft.vg.lv(images[0]).extents();
    let log = (kind, LogContents::of(conversion.initial));
    let what = (log, parts.region_size, extents);
    finish_mirror(draft, id, &images, what, &mut space, author)
}

/// Takes the log away; the mirror's segment is made again by the caller.
pub(super) fn drop_old_log(draft: &mut Draft, id: LvId, parts: &Parts) -> Result<()> {
    draft.vg.lv_mut(id).segments.clear();
    match parts.log {
        Some(log) => mirror::remove_log(&mut draft.vg, log),
        None => Ok(()),
    }
}

fn remove_legs(
    draft: &mut Draft,
    id: LvId,
    parts: &Parts,
    conversion: &Conversion<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let count = parts.images.len() - conversion.legs;
    let gone = choose_legs(&draft.vg, parts, count, conversion.places)?;
    assert_eq!(gone.len(), count, "as many go as were asked for");
    let is_first_gone = gone.contains(&parts.images[0]);
    if is_first_gone && conversion.state != MirrorState::InSync {
        return Err(refused(format!(
            "Unable to remove primary mirror image while mirror is not in-sync: {}/{}",
            draft.vg.name, conversion.volume
        )));
    }
    let kept = keep_legs(draft, id, parts, &gone)?;
    for image in gone {
        draft.vg.remove_lv(image);
    }
    if kept.len() > 1 && conversion.log.is_some() {
        let left = Parts {
            images: kept,
            log: parts.log,
            region_size: parts.region_size,
        };
        if conversion.log != Some(log_kind(&draft.vg, &left)?) {
            change_log(draft, id, &left, conversion, author)?;
        }
    }
    Ok(())
}

/// Leaves a mirror all its copies but those in `gone`, which nothing uses then; gives the others.
pub(super) fn keep_legs(
    draft: &mut Draft,
    id: LvId,
    parts: &Parts,
    gone: &BTreeSet<LvId>,
) -> Result<Vec<LvId>> {
    let kept: Vec<LvId> = parts
        .images
        .iter()
        .copied()
        .filter(|image| !gone.contains(image))
        .collect();
    assert!(!kept.is_empty(), "an image stays");
    assert_eq!(
        kept.len() + gone.len(),
        parts.images.len(),
        "what goes was there"
    );
    if let [last] = kept.as_slice() {
        drop_old_log(draft, id, parts)?;
        let image = draft.vg.remove_lv(*last);
        draft.vg.lv_mut(id).segments = image.segments;
        segments::merge(&mut draft.vg.lv_mut(id).segments);
        draft.vg.lv_mut(id).flags.remove(LvFlag::NotSynced);
    } else {
        let extents = draft.vg.lv(id).extents();
        let kind = segments::mirror_of(&kept, parts.log, parts.region_size);
        draft.vg.lv_mut(id).segments = vec![segments::segment(Extents::ZERO, extents, kind)];
    }
    Ok(kept)
}

/// The copies that go: those on physical volumes that were named, else the last ones.
pub(super) fn choose_legs(
    vg: &VolumeGroup,
    parts: &Parts,
    count: usize,
    places: Option<&Places>,
) -> Result<BTreeSet<LvId>> {
    let Some(places) = places else {
        return Ok(parts.images.iter().rev().take(count).copied().collect());
    };
    let named: BTreeSet<PvId> = places.iter().map(|place| place.pv).collect();
    let is_named = |image: &&LvId| {
        let below = mirror::pvs_below(vg, **image);
        !below.is_empty() && below.is_subset(&named)
    };
    let found: BTreeSet<LvId> = parts
        .images
        .iter()
        .rev()
        .filter(is_named)
        .take(count)
        .copied()
        .collect();
    if found.len() < count {
        return Err(refused(format!(
            "Only {} of {count} mirror images to be removed are on the physical volumes that were \
             named",
            found.len()
        )));
    }
    Ok(found)
}

fn change_log(
    draft: &mut Draft,
    id: LvId,
    parts: &Parts,
    conversion: &Conversion<'_>,
    author: &mut Author<'_>,
) -> Result<()> {
    let kind = log_kind(&draft.vg, parts)?;
    let wanted = conversion.log.unwrap_or(kind);
    if wanted == kind {
        return Err(refused(format!(
            "Logical volume {}/{} already has {} images and this log.",
            draft.vg.name,
            conversion.volume,
            parts.images.len()
        )));
    }
    let mut space = free_space(draft, conversion)?;
    let extents = draft.vg.lv(parts.images[0]).extents();
    // What is known to be in sync stays known only in the log's own format, which the owner of the
    // mirror has; a plan starts it again unless it is known to be in sync.
    let contents = match conversion.state {
        MirrorState::InSync => LogContents::Everything,
        MirrorState::Unknown => LogContents::Nothing,
    };
    drop_old_log(draft, id, parts)?;
    let what = ((wanted, contents), parts.region_size, extents);
    finish_mirror(draft, id, &parts.images, what, &mut space, author)
}
