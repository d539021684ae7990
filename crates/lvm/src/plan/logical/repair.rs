//! A mirror goes on without the copies that are gone.
//!
//! The copies that are left are kept, whichever they are: there is nothing better. With one left
//! the volume is plain again. A log that is gone is not replaced: the notes go to memory, and
//! everything is synchronised once more.

use std::collections::BTreeSet;

use super::mirror::{self, Parts};
use crate::model::{LvFlag, LvId, PvFlag, PvId, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments};
use crate::plan::segments;
use crate::{Extents, Result};

/// `lvconvert --repair`: one mirror goes on without what stood on `gone`, which the group is told
/// to miss from now on.
pub fn repair_volume(
    vg: &VolumeGroup,
    volume: &str,
    gone: &BTreeSet<PvId>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    let id = find_lv(vg, volume)?;
    let Some(parts) = mirror::parts(vg, id)? else {
        return Err(refused(format!(
            "Logical volume {}/{volume} is no mirror",
            vg.name
        )));
    };
    let is_lost = |lv: &LvId| !mirror::pvs_below(vg, *lv).is_disjoint(gone);
    if !parts.images.iter().chain(&parts.log).any(is_lost) {
        return Err(refused(format!(
            "Volume {}/{volume} is consistent. Nothing to repair.",
            vg.name
        )));
    }
    if parts.images.iter().all(is_lost) {
        return Err(refused(format!(
            "Logical volume {}/{volume} has no copy left that is whole",
            vg.name
        )));
    }
    repair_mirror(&mut draft, id, gone)?;
    for pv in gone {
        draft.vg.pv_mut(*pv).flags.insert(PvFlag::Missing);
    }
    draft.note(format!("Logical volume {}/{volume} repaired.", vg.name));
    draft.finish(author)
}

/// Takes the copies and the log that stand on `gone` out of a mirror. A mirror without any other
/// copy is left as it is.
pub(in crate::plan) fn repair_mirror(
    draft: &mut Draft,
    id: LvId,
    gone: &BTreeSet<PvId>,
) -> Result<()> {
    let Some(parts) = mirror::parts(&draft.vg, id)? else {
        return Ok(());
    };
    let is_gone = |lv: &LvId| !mirror::pvs_below(&draft.vg, *lv).is_disjoint(gone);
    let (lost, kept): (Vec<LvId>, Vec<LvId>) = parts.images.iter().partition(|lv| is_gone(lv));
    let is_log_lost = parts.log.as_ref().is_some_and(is_gone);
    if kept.is_empty() || lost.is_empty() && !is_log_lost {
        return Ok(());
    }
    let name = draft.vg.lv(id).name().to_owned();
    draft.warn(format!(
        "Mirror {name} lost {} of its {} copies{}.",
        lost.len(),
        parts.images.len(),
        if is_log_lost { " and its log" } else { "" }
    ));
    keep(draft, id, &parts, &kept, is_log_lost)?;
    for lv in lost {
        draft.vg.remove_lv(lv);
    }
    Ok(())
}

fn keep(
    draft: &mut Draft,
    id: LvId,
    parts: &Parts,
    kept: &[LvId],
    is_log_lost: bool,
) -> Result<()> {
    let extents = draft.vg.lv(id).extents();
    draft.vg.lv_mut(id).segments.clear();
    if let Some(log) = parts.log.filter(|_| is_log_lost || kept.len() == 1) {
        mirror::remove_log(&mut draft.vg, log)?;
    }
    if let [last] = kept {
        let image = draft.vg.remove_lv(*last);
        let lv = draft.vg.lv_mut(id);
        lv.segments = image.segments;
        segments::merge(&mut lv.segments);
        lv.flags.remove(LvFlag::NotSynced);
        return Ok(());
    }
    let log = parts.log.filter(|_| !is_log_lost);
    let kind = segments::mirror_of(kept, log, parts.region_size);
    draft.vg.lv_mut(id).segments = vec![segments::segment(Extents::ZERO, extents, kind)];
    Ok(())
}
