//! `vgreduce --removemissing`: a group goes on without physical volumes that are gone for good.
//!
//! Mirrors lose the copies that stood there and keep the others. What has no other copy is
//! partial: it is removed where that was agreed to, and else keeps its physical volumes.

use std::collections::BTreeSet;

use super::copies::AreaState;
use super::extend::require_resizeable;
use super::reduce::{keep_areas, release};
use crate::Result;
use crate::model::{AllocationMap, Area, LvId, PvFlag, PvId, Relations, SegmentType, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused, require_known_segments};
use crate::plan::logical::{Along, repair_mirror};

/// What happens to volumes that lost extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartialVolumes {
    /// They stay, and with them the physical volumes that they stood on.
    Keep,
    /// They are removed: `--force`.
    Remove,
}

/// Removes the physical volumes of `missing`, which are not there, and those that the text calls
/// missing. The latter are back, and become free.
pub fn remove_missing(
    vg: &VolumeGroup,
    missing: &BTreeSet<PvId>,
    partial: PartialVolumes,
    areas: &[AreaState],
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    require_resizeable(vg)?;
    let flagged = vg.pvs().filter(|(_, pv)| pv.flags.has(PvFlag::Missing));
    let mut gone: BTreeSet<PvId> = flagged.map(|(id, _)| id).collect();
    gone.extend(missing);
    if gone.is_empty() {
        return Err(refused(format!(
            "Volume group \"{}\" is already consistent.",
            vg.name
        )));
    }
    for (id, lv) in vg.lvs() {
        let is_there = draft.vg.lv_by_name(lv.name()).is_some();
        let is_mirror = matches!(lv.first(), Some(SegmentType::Mirror(_)));
        if is_there && is_mirror && is_partial(&draft.vg, id, &gone) {
            repair_mirror(&mut draft, id, &gone)?;
        }
    }
    give_up(&mut draft, &gone, partial)?;
    let map = AllocationMap::of(&draft.vg);
    for pv in gone {
        assert!(
            map.allocations(pv).is_empty(),
            "what stood on missing volumes was removed"
        );
        draft.note(format!(
            "Removed missing physical volume {} from volume group \"{}\"",
            vg.pv(pv).uuid,
            vg.name
        ));
        if missing.contains(&pv) {
            // It cannot be written to; should it come back, it is an outdated one.
            draft.vg.remove_pv(pv);
        } else {
            release(&mut draft, pv);
        }
    }
    if draft.vg.pv_count() == 0 {
        return Err(refused(format!(
            "Volume group {} would have no physical volume left; use vgremove",
            vg.name
        )));
    }
    keep_areas(&mut draft, areas)?;
    draft.note(format!("Wrote out consistent volume group {}.", vg.name));
    draft.finish(author)
}

/// Removes the volumes that lost extents, or refuses where that was not agreed to.
fn give_up(draft: &mut Draft, gone: &BTreeSet<PvId>, partial: PartialVolumes) -> Result<()> {
    let broken = partial_volumes(&draft.vg, gone);
    if !broken.is_empty() && partial != PartialVolumes::Remove {
        for lv in &broken {
            let name = draft.vg.lv(*lv).name().to_owned();
            draft.warn(format!(
                "Partial LV {name} needs to be repaired or removed."
            ));
        }
        let names: Vec<&str> = broken.iter().map(|lv| draft.vg.lv(*lv).name()).collect();
        return Err(refused(format!(
            "There are still partial LVs in VG {} ({}). To remove them unconditionally use: \
             vgreduce --removemissing --force.",
            draft.vg.name,
            names.join(", ")
        )));
    }
    for lv in broken {
        if draft.vg.lvs().any(|(id, _)| id == lv) {
            let name = draft.vg.lv(lv).name().to_owned();
            draft.warn(format!("Removing partial LV {}/{name}.", draft.vg.name));
            crate::plan::logical::remove(draft, lv, Along::Snapshots)?;
        }
    }
    Ok(())
}

/// The volumes of people's knowledge that stand on what is gone.
fn partial_volumes(vg: &VolumeGroup, gone: &BTreeSet<PvId>) -> Vec<LvId> {
    let relations = Relations::of(vg);
    let mut found = BTreeSet::new();
    for (id, lv) in vg.lvs() {
        let stands_there = lv.segments.iter().flat_map(crate::model::Segment::areas);
        let mut stands_there =
            stands_there.filter(|area| matches!(area, Area::Pv { pv, .. } if gone.contains(pv)));
        if stands_there.next().is_some() {
            found.insert(relations.top(vg, id));
        }
    }
    found.into_iter().collect()
}

fn is_partial(vg: &VolumeGroup, lv: LvId, gone: &BTreeSet<PvId>) -> bool {
    let mut left = vec![lv];
    let mut seen = BTreeSet::new();
    while let Some(lv) = left.pop() {
        if !seen.insert(lv) {
            continue;
        }
        for segment in &vg.lv(lv).segments {
            for area in segment.areas() {
                if matches!(area, Area::Pv { pv, .. } if gone.contains(pv)) {
                    return true;
                }
            }
            segment.for_each_reference(|part, _| left.push(part));
        }
    }
    false
}
