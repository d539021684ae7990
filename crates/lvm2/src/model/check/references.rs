//! How volumes refer to each other: parts belong to one volume only and are hidden, hidden volumes
//! belong to somebody, device ids in a pool differ.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use super::kinds::describe_part;
use super::{Checker, RESTORE};
use crate::model::flags::LvFlag;
use crate::model::geometry::Part;
use crate::model::ids::LvId;
use crate::model::lv::LogicalVolume;
use crate::model::name;
use crate::model::relations::Role;
use crate::model::segment::{Segment, SegmentType};

/// What is left of a move goes away.
const ABORT: &str = "run pvmove --abort";

pub(super) fn check(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    let mut spare = None;
    for (id, lv) in vg.lvs() {
        if checker.is_full() {
            return;
        }
        uses(checker, id);
        visibility(checker, id, lv);
        moves(checker, id, lv);
        if checker.relations.role(vg, id) == Role::Spare
            && let Some(other) = spare.replace(id)
        {
            let problem = format!("{} is kept for repairs, too", checker.name(other));
            checker.lv_error(id, problem);
        }
    }
    thin_device_ids(checker);
    historical_names(checker);
}

/// A part of one volume cannot be a part of another, nor play two parts.
fn uses(checker: &mut Checker<'_>, id: LvId) {
    let uses = checker.relations.used_by(id);
    let mut components = uses.iter().filter(|used| used.part.is_component());
    let Some(first) = components.next().copied() else {
        return;
    };
    // Areas on a volume may be many; whether they meet is checked with the extents.
    let conflict = components.find(|other| other.part != Part::Area || first.part != Part::Area);
    if let Some(other) = conflict.copied() {
        let problem = format!(
            "it is the {} of {} and the {} of {}",
            describe_part(first.part),
            checker.name(first.by),
            describe_part(other.part),
            checker.name(other.by),
        );
        checker.lv_error(id, problem);
    }
}

fn visibility(checker: &mut Checker<'_>, id: LvId, lv: &LogicalVolume) {
    let is_visible = lv.flags.has(LvFlag::Visible);
    let remedy = "find out what it was a part of before it is removed";
    match checker.relations.role(checker.vg, id) {
        // An origin that exists only for its snapshot is hidden, and what a segment refers to whose
        // type is not known is not known, either.
        Role::Whole
            if !is_visible
                && !checker.relations.is_origin(id)
                && checker.vg.unknown_types().is_empty() =>
        {
            checker.lv_warning(id, "it is hidden, and belongs to no other volume", remedy);
        }
        Role::Spare if is_visible => checker.lv_error(id, "it is kept for repairs, and visible"),
        // An image that is split off to be read is visible, and cannot be written.
        Role::Part(Part::RaidImage(_)) if is_visible && lv.is_writable() => {
            checker.lv_error(id, "it is an image of a RAID, visible and writable");
        }
        Role::Part(Part::RaidMeta(_)) if is_visible => {
            checker.lv_error(id, "it is metadata of a RAID, and visible");
        }
        Role::Part(part) if is_visible && must_hide(part) => {
            let problem = format!(
                "it is the {} of another volume, and visible",
                describe_part(part)
            );
            checker.lv_warning(id, problem, "use it through that other volume only");
        }
        Role::Whole if is_visible => {
            if let Some(part) = name::reserved(lv.name()) {
                let problem = format!("its name has {part:?}, which is for parts of volumes");
                checker.lv_warning(id, problem, "rename it with lvrename");
            }
        }
        _ => {}
    }
}

/// People see volumes in a stack, and a cache's fast volume in some versions.
fn must_hide(part: Part) -> bool {
    part.is_component()
        && !matches!(
            part,
            Part::Area
                | Part::RaidImage(_)
                | Part::RaidMeta(_)
                | Part::CachePool
                | Part::Writecache
        )
}

/// The volume of a move is a mirror, and volumes on it are locked. Stock ends a move in two steps:
/// after the first nobody stands on it any more, and it has no extents.
fn moves(checker: &mut Checker<'_>, id: LvId, lv: &LogicalVolume) {
    if !lv.flags.has(LvFlag::Pvmove) {
        return;
    }
    let mut segments = lv.segments.iter();
    if !segments.any(|segment| matches!(segment.kind, SegmentType::Mirror(_))) {
        let is_error = |segment: &Segment| matches!(segment.kind, SegmentType::Error);
        let is_used = !checker.relations.used_by(id).is_empty();
        if !is_used && lv.segments.iter().all(is_error) {
            checker.lv_warning(id, "its move has ended", ABORT);
        } else {
            checker.lv_error(id, "it has the flag PVMOVE, and nothing to move");
        }
    }
    let users: BTreeSet<LvId> = checker
        .relations
        .used_by(id)
        .iter()
        .map(|used| used.by)
        .collect();
    if let Some(user) = users
        .into_iter()
        .filter(|user| !checker.vg.lv(*user).flags.has(LvFlag::Locked))
        .min()
    {
        let problem = format!(
            "it moves extents of {}, which is not locked",
            checker.name(user)
        );
        checker.lv_warning(id, problem, RESTORE);
    }
}

fn thin_device_ids(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    let mut seen = BTreeMap::new();
    for (id, lv) in vg.lvs() {
        let Some(SegmentType::Thin(thin)) = lv.first() else {
            continue;
        };
        if let Some(other) = seen.insert((thin.pool, thin.device_id), id) {
            let problem = format!(
                "its device id {} in pool {} is that of {} too",
                thin.device_id,
                checker.name(thin.pool),
                checker.name(other),
            );
            checker.lv_error(id, problem);
        }
    }
}

fn historical_names(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    let mut seen = BTreeSet::new();
    for volume in &vg.historical {
        let name = volume.name.as_ref().unwrap_or(&volume.key);
        if !seen.insert(name) {
            let problem = format!("it remembers two volumes of the name {name}");
            checker.group_warning(problem, "forget one of them with lvremove");
        }
    }
}
