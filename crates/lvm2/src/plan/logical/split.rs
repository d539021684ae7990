//! `lvconvert --splitmirrors` and `lvchange --resync`: a copy by itself, and copies made equal.
//!
//! A copy that is split off holds what the mirror held, so the mirror must be in sync; the others
//! go on without it. It keeps its identity and gets a name.
//!
//! Copies are made equal again by a new log in which nothing is in sync: a log in use is never
//! rewritten, since after a crash it would be believed.

use alloc::collections::BTreeSet;
use alloc::format;

use super::convert::{MirrorState, choose_legs, drop_old_log, finish_mirror, keep_legs, log_kind};
use super::mirror::{self, LogContents, Parts};
use super::options::MirrorLog;
use super::resize::require_resizable;
use crate::model::{LvFlag, LvId, VolumeGroup, name};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments, wrong};
use crate::plan::places::Places;
use crate::{Error, Kind, Result};

/// What `lvconvert --splitmirrors 1` was asked for.
#[derive(Debug, Clone)]
pub struct Split<'a> {
    /// The mirror's name.
    pub volume: &'a str,
    /// `--name`: what the copy is called.
    pub name: &'a str,
    /// Where the copy lies; on any, the last one.
    pub places: Option<&'a Places>,
    /// Whether the copies are known to be the same.
    pub state: MirrorState,
}

/// Makes a volume of one copy of a mirror.
pub fn split_mirror(
    vg: &VolumeGroup,
    split: &Split<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let (id, parts) = require_mirror(vg, split.volume)?;
    name::validate_chosen(split.name).map_err(|error| wrong(error.context))?;
    if vg.lv_by_name(split.name).is_some() {
        return Err(refused(format!(
            "Logical Volume \"{}\" already exists in volume group \"{}\"",
            split.name, vg.name
        )));
    }
    if split.state != MirrorState::InSync {
        return Err(refused(format!(
            "Unable to split mirrored LV {}/{} that is not in-sync: serve it until it is",
            vg.name, split.volume
        )));
    }
    if parts.images.len() < 2 {
        return Err(refused(format!(
            "Unable to split all images from mirrored LV {}/{}: it has only one",
            vg.name, split.volume
        )));
    }
    let gone = choose_legs(vg, &parts, 1, split.places)?;
    assert_eq!(gone.len(), 1, "one image is split off");
    keep_legs(&mut draft, id, &parts, &gone)?;
    for image in gone {
        draft.vg.rename_lv(image, split.name)?;
        draft.vg.lv_mut(image).flags.insert(LvFlag::Visible);
    }
    draft.note(format!(
        "Logical volume {}/{} converted.",
        vg.name, split.volume
    ));
    draft.finish(author)
}

/// Lets all copies of a mirror be made equal to the first one.
pub fn resync_mirror(vg: &VolumeGroup, volume: &str, author: &mut Author<'_>) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let (id, parts) = require_mirror(vg, volume)?;
    draft.vg.lv_mut(id).flags.remove(LvFlag::NotSynced);
    let kind = log_kind(vg, &parts)?;
    if kind != MirrorLog::Core {
        // The old log's extents stay taken: the new one must not lie on them.
        let mut space = super::create::free_space(&mut draft, None)?;
        let extents = vg.lv(id).extents();
        drop_old_log(&mut draft, id, &parts)?;
        let what = ((kind, LogContents::Nothing), parts.region_size, extents);
        finish_mirror(&mut draft, id, &parts.images, what, &mut space, author)?;
    }
    draft.note(format!("Logical volume {}/{volume} changed.", vg.name));
    draft.finish(author)
}

/// A mirror that people see and that may be changed.
fn require_mirror(vg: &VolumeGroup, volume: &str) -> Result<(LvId, Parts)> {
    require_known_segments(vg)?;
    let id = find_lv(vg, volume)?;
    require_resizable(vg, id)?;
    let parts = mirror::parts(vg, id)?.ok_or_else(|| {
        let what = format!(
            "Logical volume {}/{volume} is no mirror of type mirror",
            vg.name
        );
        Error::new(Kind::Refused, what)
    })?;
    let lost: BTreeSet<_> = parts
        .images
        .iter()
        .flat_map(|image| mirror::pvs_below(vg, *image))
        .filter(|pv| vg.pv(*pv).flags.has(crate::model::PvFlag::Missing))
        .collect();
    if lost.is_empty() {
        return Ok((id, parts));
    }
    Err(refused(format!(
        "Mirror {}/{volume} stands on a missing physical volume; repair it first (lvconvert \
         --repair)",
        vg.name
    )))
}
