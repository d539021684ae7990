//! `lvremove`: volumes, with the parts that only they have.
//!
//! A part of another volume is refused, and so is a volume whose removal something else would
//! have to be told of: thin pools, caches. A snapshot goes with its store; an origin goes only
//! with all of its snapshots, where that was agreed to.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::Result;
use crate::model::{
    LvFlag, LvId, Part, Relations, Role, SegmentType, SnapshotState, VolumeGroup,
    is_snapshot_holder, is_virtual_origin,
};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments};

/// What may go along with a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// Nothing: an origin with snapshots is refused.
    Nothing,
    /// The snapshots of an origin.
    Snapshots,
    /// The snapshots of an origin, and the volumes in a thin pool.
    Everything,
}

/// Removes logical volumes.
pub fn remove_volumes(
    vg: &VolumeGroup,
    names: &[&str],
    along: Along,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    for name in names {
        let id = find_lv(&draft.vg, name)?;
        require_no_merge(&draft.vg, id)?;
        remove(&mut draft, id, along)?;
    }
    draft.finish(author)
}

/// A snapshot that is being merged is a part of its origin, and goes with that.
fn require_no_merge(vg: &VolumeGroup, id: LvId) -> Result<()> {
    let relations = Relations::of(vg);
    let snapshot = relations.snapshot_of_cow(vg, id);
    if snapshot.is_none_or(|snapshot| snapshot.state != SnapshotState::Merging) {
        return Ok(());
    }
    Err(refused(format!(
        "Can't remove merging snapshot logical volume \"{}\".",
        vg.lv(id).name()
    )))
}

/// Removes the snapshots of an origin, where that was agreed to.
fn remove_snapshots(
    draft: &mut Draft,
    relations: &Relations,
    id: LvId,
    along: Along,
) -> Result<()> {
    let snapshots: Vec<LvId> = relations
        .snapshots(&draft.vg, id)
        .map(|snapshot| snapshot.cow)
        .collect();
    if !snapshots.is_empty() && along == Along::Nothing {
        return Err(refused(format!(
            "Can't remove logical volume {}/{}: it is the origin of {} snapshots; remove them \
             first, or with it",
            draft.vg.name,
            draft.vg.lv(id).name(),
            snapshots.len()
        )));
    }
    for snapshot in snapshots {
        remove(draft, snapshot, along)?;
    }
    Ok(())
}

/// Removes one volume with its parts.
pub(in crate::plan) fn remove(draft: &mut Draft, id: LvId, along: Along) -> Result<()> {
    let relations = Relations::of(&draft.vg);
    require_removable(&draft.vg, &relations, id, along)?;
    remove_snapshots(draft, &relations, id, along)?;
    // Removing snapshots changed who uses whom.
    let relations = Relations::of(&draft.vg);
    let name = draft.vg.lv(id).name().to_owned();
    let mut gone: BTreeSet<LvId> = BTreeSet::from([id]);
    let mut names = Vec::new();
    let mut lonely = None;
    for used in relations.used_by(id) {
        if used.part == Part::SnapshotCow {
            gone.insert(used.by);
            lonely = lonely_origin(&draft.vg, &relations, id);
        }
        if used.part == Part::ThinPool && gone.insert(used.by) {
            names.push(draft.vg.lv(used.by).name().to_owned());
        }
    }
    names.push(name);
    let is_pool = matches!(draft.vg.lv(id).first(), Some(SegmentType::ThinPool(_)));
    let mut left = vec![id];
    while let Some(whole) = left.pop() {
        let mut parts = Vec::new();
        for segment in &draft.vg.lv(whole).segments {
            segment.for_each_reference(|part, role| {
                if role.is_component() {
                    parts.push(part);
                }
            });
        }
        for part in parts {
            let is_own = relations
                .used_by(part)
                .iter()
                .all(|used| gone.contains(&used.by));
            let is_hidden = !draft.vg.lv(part).flags.has(LvFlag::Visible);
            if is_own && is_hidden && gone.insert(part) {
                left.push(part);
            }
        }
    }
    if let Some(origin) = lonely
        && gone.insert(origin)
    {
        names.push(draft.vg.lv(origin).name().to_owned());
    }
    let left = draft.vg.lv_count() - gone.len();
    for part in gone {
        draft.vg.remove_lv(part);
    }
    assert_eq!(draft.vg.lv_count(), left, "each goes once");
    if is_pool {
        remove_spare(draft);
    }
    for name in names {
        draft.note(format!("Logical volume \"{name}\" successfully removed."));
    }
    Ok(())
}

/// The origin of a snapshot that exists only for it.
fn lonely_origin(vg: &VolumeGroup, relations: &Relations, store: LvId) -> Option<LvId> {
    let origin = relations.snapshot_of_cow(vg, store)?.origin;
    let has_others = relations.used_by(origin).len() > 1;
    (is_virtual_origin(vg, origin) && !has_others).then_some(origin)
}

/// The spare for repairs of pools goes with the last pool, as in stock.
fn remove_spare(draft: &mut Draft) {
    let vg = &draft.vg;
    let is_pool = |kind: Option<&SegmentType>| {
        matches!(
            kind,
            Some(SegmentType::ThinPool(_) | SegmentType::CachePool(_))
        )
    };
    if vg.lvs().any(|(_, lv)| is_pool(lv.first())) {
        return;
    }
    let relations = Relations::of(vg);
    let all = vg.lvs().map(|(id, _)| id);
    let is_spare = |id: &LvId| {
        relations.role(vg, *id) == Role::Spare && !vg.lv(*id).flags.has(LvFlag::Visible)
    };
    for spare in all.filter(is_spare).collect::<Vec<_>>() {
        draft.vg.remove_lv(spare);
    }
}

fn require_removable(
    vg: &VolumeGroup,
    relations: &Relations,
    id: LvId,
    along: Along,
) -> Result<()> {
    let lv = vg.lv(id);
    let name = format!("{}/{}", vg.name, lv.name());
    let because = |why: String| Err(refused(format!("Can't remove logical volume {name}{why}")));
    if is_snapshot_holder(vg, id) {
        return because(": it only joins a snapshot to its origin".to_owned());
    }
    if lv.flags.has(LvFlag::Pvmove) || lv.flags.has(LvFlag::Locked) {
        return because(": its extents are being moved; run pvmove --abort first".to_owned());
    }
    let goes_along = |part: Part| match part {
        Part::SnapshotOrigin | Part::SnapshotCow => true,
        Part::ThinPool => along == Along::Everything,
        _ => false,
    };
    let mut users = relations.used_by(id).iter();
    let user = users.find(|used| !goes_along(used.part));
    if let Some(used) = user {
        let by = vg.lv(used.by).name();
        return because(match used.part {
            Part::MirrorImage => format!(" used by a mirror ({by})"),
            Part::RaidImage(_) | Part::RaidMeta(_) => format!(" used as RAID device ({by})"),
            Part::MirrorLog => format!(" used as mirror log ({by})"),
            Part::ThinPoolData | Part::ThinPoolMetadata => format!(" used by a pool ({by})"),
            Part::ThinPool | Part::VdoPool => format!(": volumes such as {by} are in it"),
            _ => format!(" used by {by}"),
        });
    }
    for segment in &lv.segments {
        let is_ours = matches!(
            segment.kind,
            SegmentType::Striped(_)
                | SegmentType::Zero
                | SegmentType::Error
                | SegmentType::Mirror(_)
                | SegmentType::Raid(_)
        );
        let is_pool = matches!(segment.kind, SegmentType::ThinPool(_));
        let goes_whole = is_pool && along == Along::Everything;
        if !is_ours && !goes_whole {
            return because(format!(
                ": volumes of type {} cannot be removed yet",
                segment.type_name()
            ));
        }
    }
    Ok(())
}
