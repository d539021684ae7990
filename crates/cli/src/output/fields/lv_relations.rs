//! Fields of logical volumes that say how they belong together.

use std::collections::{BTreeSet, HashSet};

use lvm2::model::{
    Area, LogicalVolume, LvFlag, LvId, Part, Relations, SegmentType, SnapshotState, VolumeGroup,
};

use super::constant::{binary, size};
use crate::output::report::Value;
use crate::output::{Group, History, Row, Style};

type Volume<'a> = (&'a Group, LvId, &'a LogicalVolume);

fn marked(found: Option<(&Group, LvId)>) -> Value {
    Value::text(
        found
            .map(|(group, lv)| group.marked_name(lv))
            .unwrap_or_default(),
    )
}

fn uuid(found: Option<(&Group, LvId)>) -> Value {
    Value::text(
        found
            .map(|(group, lv)| group.vg.lv(lv).uuid.to_string())
            .unwrap_or_default(),
    )
}

fn related<'a>(
    row: &Row<'a>,
    find: impl FnOnce(Volume<'a>) -> Option<LvId>,
) -> Option<(&'a Group, LvId)> {
    let volume = row.volume()?;
    Some((volume.0, find(volume)?))
}

pub(super) fn parent(row: &Row<'_>, _: &Style) -> Value {
    marked(related(row, |(group, lv, _)| {
        let used = group.relations.component_use(lv)?;
        let is_named = matches!(
            used.part,
            Part::MirrorImage
                | Part::MirrorLog
                | Part::RaidImage(_)
                | Part::RaidMeta(_)
                | Part::ThinPoolData
                | Part::ThinPoolMetadata
                | Part::CachePoolData
                | Part::CachePoolMetadata
        );
        (is_named && !group.is_visible(lv)).then_some(used.by)
    }))
}

/// The volume that shows through this one.
fn find_origin((group, lv, volume): Volume<'_>) -> Option<LvId> {
    if let Some(snapshot) = group.relations.snapshot_of_cow(&group.vg, lv) {
        return Some(snapshot.origin);
    }
    match volume.first()? {
        SegmentType::Thin(thin) => thin.origin.or(thin.external_origin),
        SegmentType::Cache(cache) => Some(cache.origin),
        SegmentType::Writecache(cache) => Some(cache.origin),
        SegmentType::Integrity(integrity) => Some(integrity.origin),
        _ => None,
    }
}

pub(super) fn origin(row: &Row<'_>, _: &Style) -> Value {
    marked(related(row, find_origin))
}

pub(super) fn origin_uuid(row: &Row<'_>, _: &Style) -> Value {
    uuid(related(row, find_origin))
}

pub(super) fn origin_size(row: &Row<'_>, style: &Style) -> Value {
    let sized = related(row, |(group, lv, volume)| {
        if let Some(snapshot) = group.relations.snapshot_of_cow(&group.vg, lv) {
            return Some(snapshot.origin);
        }
        match volume.first() {
            Some(SegmentType::Thin(thin)) if thin.external_origin.is_some() => thin.external_origin,
            _ => group.relations.is_origin(lv).then_some(lv),
        }
    });
    match sized {
        Some((group, lv)) => size(style, group.lv_sectors(lv)),
        None => Value::no_number(),
    }
}

fn find_pool((_, _, volume): Volume<'_>) -> Option<LvId> {
    match volume.first()? {
        SegmentType::Thin(thin) => Some(thin.pool),
        SegmentType::Cache(cache) => Some(cache.pool),
        SegmentType::Writecache(cache) => Some(cache.cache),
        SegmentType::Vdo(vdo) => Some(vdo.pool),
        _ => None,
    }
}

pub(super) fn pool(row: &Row<'_>, _: &Style) -> Value {
    marked(related(row, find_pool))
}

pub(super) fn pool_uuid(row: &Row<'_>, _: &Style) -> Value {
    uuid(related(row, find_pool))
}

fn find_data((_, _, volume): Volume<'_>) -> Option<LvId> {
    match volume.first()? {
        SegmentType::ThinPool(pool) => Some(pool.data),
        SegmentType::CachePool(pool) => Some(pool.data),
        SegmentType::VdoPool(pool) => Some(pool.data),
        _ => None,
    }
}

pub(super) fn data(row: &Row<'_>, _: &Style) -> Value {
    marked(related(row, find_data))
}

pub(super) fn data_uuid(row: &Row<'_>, _: &Style) -> Value {
    uuid(related(row, find_data))
}

fn find_metadata((_, _, volume): Volume<'_>) -> Option<LvId> {
    match volume.first()? {
        SegmentType::ThinPool(pool) => Some(pool.metadata),
        SegmentType::CachePool(pool) => Some(pool.metadata),
        _ => None,
    }
}

pub(super) fn metadata(row: &Row<'_>, _: &Style) -> Value {
    marked(related(row, find_metadata))
}

pub(super) fn metadata_uuid(row: &Row<'_>, _: &Style) -> Value {
    uuid(related(row, find_metadata))
}

pub(super) fn metadata_size(row: &Row<'_>, style: &Style) -> Value {
    let sized = related(row, |volume @ (group, _, model)| match model.first() {
        // Data and metadata in one volume.
        Some(SegmentType::Cache(cache)) => match group.vg.lv(cache.pool).first() {
            Some(SegmentType::CachePool(_)) => None,
            _ => Some(cache.pool),
        },
        _ => find_metadata(volume),
    });
    match sized {
        Some((group, lv)) => size(style, group.lv_sectors(lv)),
        None => Value::no_number(),
    }
}

fn find_log((_, _, volume): Volume<'_>) -> Option<LvId> {
    volume
        .segments
        .iter()
        .find_map(|segment| match &segment.kind {
            SegmentType::Mirror(mirror) => mirror.log,
            _ => None,
        })
}

pub(super) fn mirror_log(row: &Row<'_>, _: &Style) -> Value {
    marked(related(row, find_log))
}

pub(super) fn mirror_log_uuid(row: &Row<'_>, _: &Style) -> Value {
    uuid(related(row, find_log))
}

/// The first disk that a move takes from; one of all or nothing stands on volumes.
fn moved_from(vg: &VolumeGroup, volume: &LogicalVolume) -> Option<lvm2::model::PvId> {
    if !volume.flags.has(LvFlag::Pvmove) {
        return None;
    }
    let mut pieces = volume.segments.iter();
    let piece = pieces.find(|piece| matches!(piece.kind, SegmentType::Mirror(_)))?;
    let first = match *piece.areas().first()? {
        Area::Lv { lv, .. } => *vg.lv(lv).segments.first()?.areas().first()?,
        area @ Area::Pv { .. } => area,
    };
    match first {
        Area::Pv { pv, .. } => Some(pv),
        Area::Lv { .. } => None,
    }
}

pub(super) fn move_pv(row: &Row<'_>, _: &Style) -> Value {
    let found = row
        .volume()
        .and_then(|(group, _, lv)| Some((group, moved_from(&group.vg, lv)?)));
    Value::text(
        found
            .map(|(group, pv)| row.view.pv_name(group, pv).to_owned())
            .unwrap_or_default(),
    )
}

pub(super) fn move_pv_uuid(row: &Row<'_>, _: &Style) -> Value {
    let found = row
        .volume()
        .and_then(|(group, _, lv)| Some((group, moved_from(&group.vg, lv)?)));
    Value::text(
        found
            .map(|(group, pv)| group.vg.pv(pv).uuid.to_string())
            .unwrap_or_default(),
    )
}

pub(super) fn merging(row: &Row<'_>, style: &Style) -> Value {
    let set = row.volume().is_some_and(|(group, lv, volume)| {
        let relations = &group.relations;
        let is_merging = |s: &lvm2::model::Snapshot| s.state == SnapshotState::Merging;
        relations
            .snapshot_of_cow(&group.vg, lv)
            .is_some_and(is_merging)
            || relations.snapshots(&group.vg, lv).any(is_merging)
            || relations.is_used_as(lv, Part::ThinMerge)
            || matches!(volume.first(), Some(SegmentType::Thin(thin)) if thin.merge.is_some())
    });
    binary(style, set, "merging")
}

/// The snapshots of a volume: those with a store of their own, then thin ones.
fn snapshots(group: &Group, lv: LvId) -> Vec<LvId> {
    let thick = group
        .relations
        .snapshots(&group.vg, lv)
        .map(|snapshot| snapshot.cow);
    let thin = group.relations.used_by(lv).iter();
    let thin = thin
        .filter(|used| matches!(used.part, Part::ThinOrigin | Part::ThinExternalOrigin))
        .map(|used| used.by);
    thick.chain(thin).collect()
}

fn ancestor_names(row: &Row<'_>) -> Vec<String> {
    let Some((group, lv, _)) = row.volume() else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut seen = HashSet::from([lv]);
    let mut current = lv;
    while let Some(next) = snapshot_origin(group, current) {
        // A loop of origins is damage; stop where it closes.
        if !seen.insert(next) {
            break;
        }
        names.push(group.vg.lv(next).name().to_owned());
        current = next;
    }
    names
}

fn snapshot_origin(group: &Group, lv: LvId) -> Option<LvId> {
    if let Some(snapshot) = group.relations.snapshot_of_cow(&group.vg, lv) {
        return Some(snapshot.origin);
    }
    match group.vg.lv(lv).first()? {
        SegmentType::Thin(thin) => thin.origin.or(thin.external_origin),
        _ => None,
    }
}

fn descendant_names(row: &Row<'_>) -> Vec<String> {
    let Some((group, lv, _)) = row.volume() else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut seen = HashSet::from([lv]);
    let mut pending: Vec<LvId> = snapshots(group, lv).into_iter().rev().collect();
    while let Some(next) = pending.pop() {
        if seen.insert(next) {
            names.push(group.vg.lv(next).name().to_owned());
            pending.extend(snapshots(group, next).into_iter().rev());
        }
    }
    names
}

pub(super) fn ancestors(row: &Row<'_>, _: &Style) -> Value {
    Value::list(ancestor_names(row))
}

pub(super) fn descendants(row: &Row<'_>, _: &Style) -> Value {
    Value::list(descendant_names(row))
}

pub(super) fn full_ancestors(row: &Row<'_>, style: &Style) -> Value {
    let mut names = ancestor_names(row);
    if let (History::Shown, Some((group, _, volume))) = (style.history, row.volume()) {
        let mut current = names
            .last()
            .cloned()
            .unwrap_or_else(|| volume.name().to_owned());
        // Each step goes to a volume that is gone; there are no more steps than such volumes.
        for _ in &group.vg.historical {
            let gone = group
                .vg
                .historical
                .iter()
                .find(|gone| gone.descendants.contains(&current));
            let Some(gone) = gone else { break };
            current = format!("-{}", gone.name.as_ref().unwrap_or(&gone.key));
            names.push(current.clone());
        }
    }
    Value::list(names)
}

pub(super) fn full_descendants(row: &Row<'_>, style: &Style) -> Value {
    let mut names = descendant_names(row);
    if let (History::Shown, Some((group, _, volume))) = (style.history, row.volume()) {
        for gone in &group.vg.historical {
            if gone.origin.as_deref() == Some(volume.name()) {
                names.push(format!("-{}", gone.name.as_ref().unwrap_or(&gone.key)));
                names.extend(gone.descendants.iter().cloned());
            }
        }
    }
    Value::list(names)
}

pub(super) fn layout(row: &Row<'_>, _: &Style) -> Value {
    words(row, lvm2::model::lv_layout, "unknown")
}

pub(super) fn role(row: &Row<'_>, _: &Style) -> Value {
    words(row, lvm2::model::lv_roles, "public")
}

/// What a function says of the volume of a line. Stock takes what is free for a volume without
/// segments, of which it says `of_free`.
fn words(
    row: &Row<'_>,
    say: fn(&VolumeGroup, &Relations, LvId) -> Vec<&'static str>,
    of_free: &'static str,
) -> Value {
    let words = match row.volume() {
        Some((group, lv, _)) => say(&group.vg, &group.relations, lv),
        None => vec![of_free],
    };
    Value::list(words.into_iter().map(str::to_owned).collect())
}

pub(super) fn modules(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, lv, _)) = row.volume() else {
        return Value::list(Vec::new());
    };
    let mut words = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut pending = vec![lv];
    if group.relations.is_origin(lv) {
        words.insert("snapshot");
    }
    // A volume needs what those below it need, too.
    while let Some(lv) = pending.pop() {
        if !seen.insert(lv) {
            continue;
        }
        if group.relations.is_cow(lv) {
            words.insert("snapshot");
        }
        for segment in &group.vg.lv(lv).segments {
            words.extend(module(&segment.kind));
            segment.for_each_reference(|below, part| {
                if !matches!(part, Part::ThinOrigin | Part::ThinMerge | Part::ThinMessage) {
                    pending.push(below);
                }
            });
        }
    }
    Value::list(words.into_iter().map(str::to_owned).collect())
}

/// The kernel module of a segment's own type.
fn module(kind: &SegmentType) -> Option<&'static str> {
    Some(match kind {
        SegmentType::Mirror(_) => "mirror",
        SegmentType::Raid(_) => "raid",
        SegmentType::ThinPool(_) => "thin-pool",
        SegmentType::Thin(_) => "thin",
        SegmentType::Cache(_) | SegmentType::CachePool(_) => "cache",
        SegmentType::Writecache(_) => "writecache",
        SegmentType::Integrity(_) => "integrity",
        SegmentType::Vdo(_) | SegmentType::VdoPool(_) => "kvdo",
        SegmentType::Error => "error",
        SegmentType::Zero => "zero",
        _ => return None,
    })
}
