//! Fields of RAID: what the metadata say of images, and what the superblocks do where nobody keeps
//! the array for us (see `output::arrays`).

use ashlar::arrays::{FoundArray, Task};
use ashlar::live::ImageStatus;
use dm::mirror::ImageHealth;
use lvm2::model::{RaidFamily, Segment, SegmentType};

use super::constant::size;
use super::kernel::state;
use super::lv::{is_reshapable, is_reshapable_image};
use crate::output::report::Value;
use crate::output::{Active, Known, Role, Row, State, Style};

/// How many images may be lost, and still every byte is there; nothing where none may.
fn spare_images(segment: &Segment) -> Option<u64> {
    let SegmentType::Raid(raid) = &segment.kind else {
        return None;
    };
    match raid.level.family() {
        RaidFamily::Raid0 => None,
        RaidFamily::Raid1 => Some((raid.images.len() as u64).saturating_sub(1)),
        RaidFamily::Raid10 => Some(u64::from(raid.copies()).saturating_sub(1)),
        _ => Some(raid.level.parity_count() as u64),
    }
}

pub(super) fn copies(row: &Row<'_>, _: &Style) -> Value {
    let segment = row.lv_segment().map(|(_, _, segment)| segment);
    segment.map_or_else(Value::no_number, |segment| {
        Value::number(spare_images(segment).unwrap_or(0) + 1)
    })
}

pub(super) fn parity(row: &Row<'_>, _: &Style) -> Value {
    match row
        .lv_segment()
        .and_then(|(_, _, segment)| spare_images(segment))
    {
        Some(count) => Value::number(count),
        None => Value::no_number(),
    }
}

/// Extents reserved for a reshape, where the segment can have some: of an image, the first one.
fn reshape(row: &Row<'_>) -> Option<(u64, u64)> {
    let (group, lv, segment) = row.lv_segment()?;
    let is_first = segment.start.0 == 0;
    let applies = is_reshapable(&segment.kind) || is_first && is_reshapable_image(group, lv);
    let images = match &segment.kind {
        SegmentType::Raid(raid) => raid.images.len() as u64,
        _ => 1,
    };
    let extents = segment.reshape.0.saturating_mul(images);
    applies.then(|| (extents, group.sectors(lvm2::Extents(extents))))
}

pub(super) fn reshape_size(row: &Row<'_>, style: &Style) -> Value {
    reshape(row).map_or_else(Value::no_number, |(_, sectors)| size(style, sectors))
}

pub(super) fn reshape_extents(row: &Row<'_>, _: &Style) -> Value {
    reshape(row).map_or_else(Value::no_number, |(extents, _)| Value::number(extents))
}

/// Where data begin on each image, now or behind a reshape, in sectors: known of what is active,
/// and elsewhere in the middle of a reshape, and where it is not the beginning.
fn offset(row: &Row<'_>, read: impl FnOnce(&FoundArray) -> u64) -> Value {
    let found = row.lv_segment().and_then(|(group, lv, segment)| {
        let applies = is_reshapable(&segment.kind) || is_reshapable_image(group, lv);
        let (known, _) = applies.then(|| group.superblocks_of(lv))??;
        let Known::Found(found) = &*known else {
            return None;
        };
        let sectors = read(found) / lvm2::SECTOR_SIZE;
        let is_moving = found.new_start.is_some() || sectors > 0;
        (is_moving || group.state(lv).active().is_some()).then_some(sectors)
    });
    found.map_or_else(Value::no_number, Value::number)
}

pub(super) fn data_offset(row: &Row<'_>, _: &Style) -> Value {
    offset(row, |found| found.data_start)
}

pub(super) fn new_data_offset(row: &Row<'_>, _: &Style) -> Value {
    offset(row, |found| found.new_start.unwrap_or(found.data_start))
}

/// How far an array is with what it is in the middle of. One that is active and in the middle of
/// nothing is there; of one that is not, nothing is said then.
pub(super) fn copied(row: &Row<'_>) -> Option<Value> {
    let (group, lv, _) = row.volume()?;
    let (known, Role::Whole) = group.superblocks_of(lv)? else {
        return None;
    };
    let Known::Found(found) = &*known else {
        return None;
    };
    match (found.progress(), state(row)) {
        (Some(progress), _) => Some(Value::percent(progress.done, progress.all)),
        (None, State::Active(_)) => Some(Value::percent(1, 1)),
        (None, State::Inactive | State::Unknown) => None,
    }
}

/// Whether superblocks say that an array is becoming another one.
fn is_reshaped(row: &Row<'_>) -> bool {
    let known = row
        .volume()
        .and_then(|(group, lv, _)| group.superblocks_of(lv));
    let Some((known, Role::Whole)) = known else {
        return false;
    };
    matches!(&*known, Known::Found(found) if matches!(found.task, Task::Reshape(_)))
}

/// Whether it is an array, and not an image of one.
fn is_array(row: &Row<'_>) -> bool {
    let array = row.volume().and_then(|(group, lv, _)| group.array_of(lv));
    array.is_some_and(|(_, role)| role == Role::Whole)
}

/// What an active array does: its owner knows, and what is only read here does nothing.
pub(super) fn sync_action(row: &Row<'_>, _: &Style) -> Value {
    let said = |active: &Active| {
        let mirror = active.mirror.as_ref()?;
        let is_filled = |image: &ImageStatus| image.state == ImageHealth::OutOfSync;
        let is_recovered = mirror.images.iter().any(is_filled);
        let is_behind = mirror.in_sync < mirror.regions;
        is_behind.then(|| match is_recovered {
            true => "recover",
            false if is_reshaped(row) => "reshape",
            false => "resync",
        })
    };
    Value::text(match state(row) {
        State::Active(active) if is_array(row) => said(active).unwrap_or("idle"),
        _ => "",
    })
}

/// How much a check of an active array found since its activation. Here an array is checked while
/// nobody serves it (`ashlar scrub`), so that is nothing.
pub(super) fn mismatches(row: &Row<'_>, _: &Style) -> Value {
    match state(row) {
        State::Active(_) if is_array(row) => Value::number(0_u64),
        _ => Value::no_number(),
    }
}
