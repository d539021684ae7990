//! `vgreduce --removemissing`: a group goes on without physical volumes that are gone for good.
//!
//! ```text
//!                  nothing agreed    --mirrorsonly --force     --force
//!     mirror       stays             keeps its current images  the same
//!     RAID         stays             lost images are errors    the same
//!     others       stay              stay                      are removed
//! ```
//!
//! A physical volume goes where nothing stands on it any more, and is called missing where
//! something does. So without `--force` nothing is lost: what would be is named by [`losses`],
//! which warnings and refusals use. A snapshot whose store is lost goes without its origin, unless
//! it is being merged into that: then the origin is a part old and a part new, and nobody knows
//! which, so it goes with all its snapshots, as with stock.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::copies::AreaState;
use super::extend::require_resizeable;
use super::reduce::{keep_areas, release};
use crate::Result;
use crate::model::{
    AllocationMap, Area, LvId, Part, PvFlag, PvId, Relations, Role, Segment, SegmentType,
    SnapshotState, VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused, require_known_segments};
use crate::plan::logical::{
    Along, ImageStates, Redundancy, degrade_raid, pvs_below, redundancy, repair_mirror,
    require_useful,
};
use crate::plan::physical::{Move, moves};

/// What happens to volumes that lost extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartialVolumes {
    /// They stay, and with them the physical volumes that they stood on.
    Keep,
    /// Mirrors and RAID volumes go on without their lost images; others stay:
    /// `--mirrorsonly --force`.
    Reduce,
    /// The same, and others are removed: `--force`.
    Remove,
}

/// What a group loses with physical volumes, by the names of its volumes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Volumes whose data is gone, or a part of it.
    pub lost: Vec<String>,
    /// Volumes that have all their data, and fewer images.
    pub reduced: Vec<String>,
    /// Mirrors whose first image is lost: the others hold all data only if they were in sync, which
    /// their logs know.
    pub unsure: Vec<String>,
}

/// How many names a sentence bears.
const NAMED_MAX: usize = 8;

impl Losses {
    /// `lost: a, b; with fewer images: m`, or `None` where nothing stands there. Names beyond the
    /// first few are counted.
    pub fn sentence(&self) -> Option<String> {
        let list = |names: &[String]| {
            let shown = names.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>();
            match names.len().saturating_sub(NAMED_MAX) {
                0 => shown.join(", "),
                more => format!("{} and {more} more", shown.join(", ")),
            }
        };
        let lost = (!self.lost.is_empty()).then(|| format!("lost: {}", list(&self.lost)));
        let fewer = (!self.reduced.is_empty())
            .then(|| format!("with fewer images: {}", list(&self.reduced)));
        let unsure = (!self.unsure.is_empty()).then(|| {
            let names = list(&self.unsure);
            format!("with fewer images, and lost unless these were in sync: {names}")
        });
        let parts: Vec<String> = [lost, fewer, unsure].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// What is lost for good where the physical volumes of `gone` are given up.
pub fn losses(vg: &VolumeGroup, gone: &BTreeSet<PvId>) -> Losses {
    let relations = Relations::of(vg);
    let mut found = Losses::default();
    for top in tops(vg, &relations, &partial_volumes(vg, gone)) {
        if relations.role(vg, top) == Role::Spare {
            continue;
        }
        let name = vg.lv(top).name().to_owned();
        if is_lost(vg, top, gone) || is_merge_lost(vg, &relations, top, gone) {
            found.lost.push(name);
            // What is in a pool goes with it, and snapshots with their origin.
            let uses = relations.used_by(top).iter();
            let thin = uses.filter(|used| used.part == Part::ThinPool);
            found
                .lost
                .extend(thin.map(|used| vg.lv(used.by).name().to_owned()));
            let snapshots = relations.snapshots(vg, top);
            found
                .lost
                .extend(snapshots.map(|snapshot| vg.lv(snapshot.cow).name().to_owned()));
        } else if is_first_lost(vg, top, gone) {
            found.unsure.push(name);
        } else {
            found.reduced.push(name);
        }
    }
    let mut seen = BTreeSet::new();
    found.lost.retain(|name| seen.insert(name.clone()));
    found
}

/// Removes the physical volumes of `missing`, which are not there, and those that the text calls
/// missing. The latter are back, and become free. Fails where volumes stand on all of them and
/// nothing may be done about it; where some are left, the change says so.
pub fn remove_missing(
    vg: &VolumeGroup,
    missing: &BTreeSet<PvId>,
    partial: PartialVolumes,
    states: &ImageStates,
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
    if partial != PartialVolumes::Keep {
        require_no_move(vg, &gone)?;
        reduce_redundancy(&mut draft, &gone, states)?;
    }
    if partial == PartialVolumes::Remove {
        give_up(&mut draft, &gone)?;
    }
    leave(&mut draft, &gone, missing)?;
    let is_marked = |(id, pv): (PvId, &crate::model::PhysicalVolume)| {
        !gone.contains(&id) || pv.flags.has(PvFlag::Missing)
    };
    let is_marked = draft.vg.pvs().all(is_marked);
    assert!(is_marked, "what is missing and stays says so");
    if draft.vg.pv_count() == 0 {
        return Err(refused(format!(
            "Volume group {} would have no physical volume left; use vgremove",
            vg.name
        )));
    }
    keep_areas(&mut draft, areas)?;
    draft.finish(author)
}

/// Refuses to reduce volumes while extents of theirs come from or go to what is gone.
fn require_no_move(vg: &VolumeGroup, gone: &BTreeSet<PvId>) -> Result<()> {
    let is_gone = |one: &Move| {
        one.sources
            .iter()
            .chain(&one.targets)
            .any(|pv| gone.contains(pv))
    };
    match moves(vg).into_iter().find(is_gone) {
        None => Ok(()),
        Some(one) => Err(refused(format!(
            "{}/{} moves extents from or to a physical volume that is missing: end that first \
             (pvmove --abort), which leaves what is moved on its target and the rest where it was, \
             and then run this again",
            vg.name, one.name
        ))),
    }
}

/// What is said where volumes stand on physical volumes that the group misses; `None` where none
/// does.
pub fn still_partial(vg: &VolumeGroup) -> Option<String> {
    let gone = vg.pvs().filter(|(_, pv)| pv.flags.has(PvFlag::Missing));
    let gone: BTreeSet<PvId> = gone.map(|(id, _)| id).collect();
    let losses = losses(vg, &gone).sentence()?;
    Some(format!(
        "There are still partial LVs in VG {}.\nTo remove them unconditionally use: vgreduce \
         --removemissing --force. That does for good: {losses}.\nTo remove them \
         unconditionally from mirror LVs use: vgreduce --removemissing --mirrorsonly --force.",
        vg.name
    ))
}

/// Mirrors and RAID volumes go on without what they lost.
fn reduce_redundancy(draft: &mut Draft, gone: &BTreeSet<PvId>, states: &ImageStates) -> Result<()> {
    let vg = draft.vg.clone();
    let of_type = |fits: fn(&SegmentType) -> bool| -> BTreeSet<LvId> {
        let all = vg.lvs().filter(|(id, lv)| {
            lv.first().is_some_and(fits) && !pvs_below(&vg, *id).is_disjoint(gone)
        });
        all.map(|(id, _)| id).collect()
    };
    let mut states = states.clone();
    for id in of_type(|kind| matches!(kind, SegmentType::Raid(_))) {
        let used = degrade_raid(draft, id, gone, &states)?;
        states.outdated.retain(|name| !used.contains(name));
    }
    let mirrors = of_type(|kind| matches!(kind, SegmentType::Mirror(_)));
    // The logs of mirrors may be mirrors: they go with those, or as those.
    let logs: BTreeSet<LvId> = vg
        .lvs()
        .flat_map(|(_, lv)| &lv.segments)
        .filter_map(|segment| match &segment.kind {
            SegmentType::Mirror(mirror) => mirror.log,
            _ => None,
        })
        .collect();
    let whole: BTreeSet<LvId> = mirrors.difference(&logs).copied().collect();
    require_useful(&vg, &whole, gone, &states)?;
    for id in whole {
        repair_mirror(draft, id, gone, &states)?;
    }
    Ok(())
}

/// Removes the volumes that lost extents, with all that is in them.
fn give_up(draft: &mut Draft, gone: &BTreeSet<PvId>) -> Result<()> {
    let broken = partial_volumes(&draft.vg, gone);
    let relations = Relations::of(&draft.vg);
    for lv in tops(&draft.vg, &relations, &broken) {
        if draft.vg.lvs().any(|(id, _)| id == lv) {
            let name = draft.vg.lv(lv).name().to_owned();
            draft.warn(format!("Removing partial LV {}/{name}.", draft.vg.name));
            crate::plan::logical::remove(draft, lv, Along::Everything)?;
        }
    }
    Ok(())
}

/// What stock says before it removes what is empty, and leaves the rest.
const EMPTY_GO: &str = "Proceeding to remove empty missing PVs.";

/// What is said of the volumes that lost extents, also through their parts.
fn needing_repair(vg: &VolumeGroup, gone: &BTreeSet<PvId>) -> Vec<String> {
    let is_partial = |id: LvId| !pvs_below(vg, id).is_disjoint(gone);
    vg.lvs()
        .filter(|(id, _)| is_partial(*id))
        .map(|(_, lv)| format!("Partial LV {} needs to be repaired or removed.", lv.name()))
        .collect()
}

/// Takes out the physical volumes on which nothing stands any more, and calls the others missing.
fn leave(draft: &mut Draft, gone: &BTreeSet<PvId>, missing: &BTreeSet<PvId>) -> Result<()> {
    let map = AllocationMap::of(&draft.vg);
    let (free, held): (Vec<PvId>, Vec<PvId>) =
        gone.iter().partition(|pv| map.allocations(**pv).is_empty());
    for pv in &held {
        draft.vg.pv_mut(*pv).flags.insert(PvFlag::Missing);
    }
    let held: BTreeSet<PvId> = held.into_iter().collect();
    let left = partial_volumes(&draft.vg, &held);
    if !left.is_empty() && free.is_empty() && freed_nothing(draft) {
        let what = still_partial(&draft.vg);
        let short = || format!("There are still partial LVs in VG {}.", draft.vg.name);
        let mut lines = needing_repair(&draft.vg, &held);
        lines.push(EMPTY_GO.to_owned());
        let warnings = lines.iter().map(|line| format!("WARNING: {line}\n"));
        let warnings: String = warnings.collect();
        return Err(refused(format!("{warnings}{}", what.unwrap_or_else(short))));
    }
    if !left.is_empty() {
        draft.warn(EMPTY_GO);
    }
    for warning in needing_repair(&draft.vg, &held) {
        draft.warn(warning);
    }
    for pv in free {
        draft.note(format!(
            "Removed missing physical volume {} from volume group \"{}\"",
            draft.vg.pv(pv).uuid,
            draft.vg.name
        ));
        if missing.contains(&pv) {
            // It cannot be written to; should it come back, it is an outdated one.
            draft.vg.remove_pv(pv);
        } else {
            release(draft, pv);
        }
    }
    if left.is_empty() {
        let name = draft.vg.name.clone();
        draft.note(format!("Wrote out consistent volume group {name}."));
    }
    Ok(())
}

/// Whether no volume was changed.
fn freed_nothing(draft: &Draft) -> bool {
    let mut old = draft.old.lvs();
    draft.old.lv_count() == draft.vg.lv_count()
        && old.all(|(_, lv)| {
            let same = draft.vg.lv_by_uuid(&lv.uuid).map(|id| draft.vg.lv(id));
            same.is_some_and(|same| same.segments == lv.segments)
        })
}

/// Whether a volume, or a part of it, has extents on what is gone.
pub fn is_partial(vg: &VolumeGroup, lv: LvId, gone: &BTreeSet<PvId>) -> bool {
    let relations = Relations::of(vg);
    let parts = partial_volumes(vg, gone);
    parts
        .iter()
        .any(|part| *part == lv || relations.top(vg, *part) == lv)
}

/// The volumes, hidden ones too, with extents on what is gone.
fn partial_volumes(vg: &VolumeGroup, gone: &BTreeSet<PvId>) -> Vec<LvId> {
    let stands_there = |lv: &LvId| {
        let mut areas = vg.lv(*lv).segments.iter().flat_map(Segment::areas);
        areas.any(|area| matches!(area, Area::Pv { pv, .. } if gone.contains(pv)))
    };
    let all = vg.lvs().map(|(id, _)| id);
    all.filter(stands_there).collect()
}

/// The volumes that people know to which these belong: of a snapshot that is being merged its
/// origin.
fn tops(vg: &VolumeGroup, relations: &Relations, lvs: &[LvId]) -> Vec<LvId> {
    let mut found: Vec<LvId> = Vec::new();
    for lv in lvs {
        let top = relations.top(vg, *lv);
        let top = match vg.lv(top).first() {
            Some(SegmentType::Snapshot(snapshot)) => relations.top(vg, snapshot.origin),
            _ => top,
        };
        if !found.contains(&top) {
            found.push(top);
        }
    }
    found
}

/// Whether a volume loses what is being merged into it.
fn is_merge_lost(vg: &VolumeGroup, relations: &Relations, lv: LvId, gone: &BTreeSet<PvId>) -> bool {
    let mut snapshots = relations.snapshots(vg, lv);
    let merging = snapshots.find(|one| one.state == SnapshotState::Merging);
    merging.is_some_and(|merging| is_lost(vg, merging.cow, gone))
}

/// Whether a volume that stands on `gone` loses data with it.
fn is_lost(vg: &VolumeGroup, lv: LvId, gone: &BTreeSet<PvId>) -> bool {
    if pvs_below(vg, lv).is_disjoint(gone) {
        return false;
    }
    vg.lv(lv)
        .segments
        .iter()
        .any(|segment| match &segment.kind {
            SegmentType::Raid(_) => redundancy(vg, lv, gone) == Redundancy::Lost,
            SegmentType::Mirror(mirror) => {
                let mut images = mirror.images.iter();
                images.all(|area| is_area_lost(vg, area, gone))
            }
            _ => {
                let mut lost = segment
                    .areas()
                    .iter()
                    .any(|area| is_area_lost(vg, area, gone));
                segment.for_each_reference(|part, role| {
                    lost |= role.is_component() && is_lost(vg, part, gone);
                });
                lost
            }
        })
}

/// Whether a mirror below or at `lv` lost the image from which others are made.
fn is_first_lost(vg: &VolumeGroup, lv: LvId, gone: &BTreeSet<PvId>) -> bool {
    vg.lv(lv).segments.iter().any(|segment| {
        let mut found = match &segment.kind {
            SegmentType::Mirror(mirror) => {
                let first = mirror.images.first();
                first.is_some_and(|area| is_area_lost(vg, area, gone))
            }
            _ => false,
        };
        segment.for_each_reference(|part, role| {
            found |= role.is_component() && is_first_lost(vg, part, gone);
        });
        found
    })
}

fn is_area_lost(vg: &VolumeGroup, area: &Area, gone: &BTreeSet<PvId>) -> bool {
    match area {
        Area::Pv { pv, .. } => gone.contains(pv),
        Area::Lv { lv, .. } => is_lost(vg, *lv, gone),
    }
}
