//! A mirror goes on without the copies that are gone.
//!
//! The copies that are left are kept, whichever they are: there is nothing better. With one left
//! the volume is plain again. A log that is gone is not replaced: the notes go to memory, and
//! everything is synchronised once more.

use std::collections::BTreeSet;

use super::mirror::{self, Parts};
use crate::model::{LvFlag, LvId, PvId};
use crate::plan::draft::Draft;
use crate::plan::segments;
use crate::{Extents, Result};

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
