//! Fields of the segments of logical volumes.

use lvm2::model::{
    Area, Discards, LvId, Part, RaidFamily, RaidImage, Segment, SegmentType, TypeFlag,
    ZeroNewBlocks,
};

use super::catalogue::fields;
use super::constant::{binary, blank, not_known, size, sorted_list};
use super::raid;
use crate::output::report::{FieldKind, Value};
use crate::output::{Group, Row, Style};

const TEXT: FieldKind = FieldKind::Text;
const LIST: FieldKind = FieldKind::List;
const NUMBER: FieldKind = FieldKind::Number;
const SIZE: FieldKind = FieldKind::Size;

fields! { FIELDS of Segment {
    "segtype" "Type" TEXT, 0, type_name, "What the segment is made of.";
    "stripes" "#Str" NUMBER, 0, |row, _| count(row, stripes), "Number of stripes or copies.";
    "data_stripes" "#DStr" NUMBER, 0, |row, _| count(row, data_stripes),
        "Number of stripes or copies that hold data.";
    "reshape_len" "RSize" SIZE, 0, raid::reshape_size, "Space reserved for a reshape.";
    "reshape_len_le" "RSize" NUMBER, 0, raid::reshape_extents, "The same in extents.";
    "data_copies" "#Cpy" NUMBER, 0, raid::copies, "Copies of the data.";
    "data_offset" "DOff" NUMBER, 0, raid::data_offset,
        "Of a reshape: where data begins on each image.";
    "new_data_offset" "NOff" NUMBER, 0, raid::new_data_offset,
        "Of a reshape: where data will begin.";
    "parity_chunks" "#Par" NUMBER, 0, raid::parity, "Number of images that may be lost.";
    "stripe_size" "Stripe" SIZE, 0, stripe_size, "How much lies on a disk before the next's turn.";
    "region_size" "Region" SIZE, 0, region_size, "What is synchronised as one.";
    "chunk_size" "Chunk" SIZE, 0, chunk_size, "The unit of a snapshot, thin pool or cache.";
    "thin_count" "#Thins" NUMBER, 0, thin_count, "Number of volumes of a thin pool.";
    "discards" "Discards" TEXT, 0, discards, "What a thin pool does with discards.";
    "cache_metadata_format" "CMFmt" NUMBER, 0, cache_format, "Format of a cache's metadata.";
    "cache_mode" "CacheMode" TEXT, 0, cache_mode, "How a cache takes writes.";
    "zero" "Zero" FieldKind::Binary(&["zero"]), 0, zero, "Whether a thin pool zeroes new blocks.";
    "transaction_id" "TransId" NUMBER, 0, transaction, "Count of changes of a thin pool.";
    "thin_id" "ThId" NUMBER, 0, thin_id, "Number of a thin volume in its pool.";
    "seg_start" "Start" SIZE, 0, start, "Where the segment begins in the volume.";
    "seg_start_pe" "Start" NUMBER, 0, |row, _| count(row, |_, segment| segment.start.0),
        "The same in extents.";
    "seg_size" "SSize" SIZE, 0, seg_size, "Size of the segment.";
    "seg_size_pe" "SSize" SIZE, 0, seg_extents, "The same in extents.";
    "seg_tags" "Seg Tags" LIST, 0, tags, "Tags.";
    "seg_pe_ranges" "PE Ranges" LIST, 0, pe_ranges,
        "Extents of each disk or volume below it, separated by spaces.";
    "seg_le_ranges" "LE Ranges" LIST, 0, le_ranges,
        "Extents of each disk or volume below it.";
    "seg_metadata_le_ranges" "Metadata LE Ranges" LIST, 0, metadata_le_ranges,
        "Extents of each metadata volume below it.";
    "devices" "Devices" LIST, 0, devices, "Disks or volumes below it, each with its first extent.";
    "metadata_devices" "Metadata Devs" LIST, 0, metadata_devices,
        "Metadata volumes below it, each with its first extent.";
    "seg_monitor" "Monitor" TEXT, 0, blank, "Whether dmeventd watches it.";
    "cache_policy" "CachePolicy" TEXT, 0, cache_policy, "What a cache keeps.";
    "cache_settings" "CacheSettings" LIST, 0, cache_settings, "Settings of that policy.";
} }

fn free(row: &Row<'_>) -> Option<u64> {
    row.pv_segment
        .filter(|run| run.used_by.is_none())
        .map(|run| run.length)
}

fn count(row: &Row<'_>, read: impl FnOnce(&Group, &Segment) -> u64) -> Value {
    Value::number(
        row.lv_segment()
            .map_or(0, |(group, _, segment)| read(group, segment)),
    )
}

fn type_name(row: &Row<'_>, _: &Style) -> Value {
    Value::text(match (row.lv_segment(), free(row)) {
        (Some((_, _, segment)), _) => segment.type_name().to_owned(),
        (None, Some(_)) => "free".to_owned(),
        (None, None) => String::new(),
    })
}

fn stripes(_: &Group, segment: &Segment) -> u64 {
    match &segment.kind {
        SegmentType::Raid(raid) => raid.images.len() as u64,
        SegmentType::ThinPool(_)
        | SegmentType::CachePool(_)
        | SegmentType::Cache(_)
        | SegmentType::Writecache(_)
        | SegmentType::Integrity(_)
        | SegmentType::VdoPool(_)
        | SegmentType::Vdo(_) => 1,
        _ => segment.areas().len() as u64,
    }
}

fn data_stripes(group: &Group, segment: &Segment) -> u64 {
    let all = stripes(group, segment);
    match &segment.kind {
        SegmentType::Raid(raid) if raid.level.family() == RaidFamily::Raid10 => {
            all / u64::from(raid.copies())
        }
        SegmentType::Raid(raid) => {
            // Those that a reshape takes away hold data no longer when it is over.
            let goes = |image: &&RaidImage| group.vg.lv(image.data).goes_after_reshape();
            let gone = raid.images.iter().filter(goes).count();
            all.saturating_sub((raid.level.parity_count() + gone) as u64)
        }
        _ => all,
    }
}

fn stripe_size(row: &Row<'_>, style: &Style) -> Value {
    let sectors = match row.lv_segment().map(|(_, _, segment)| &segment.kind) {
        Some(SegmentType::Striped(striped)) if striped.areas.len() > 1 => striped.stripe_size.0,
        Some(SegmentType::Raid(raid)) => raid.stripe_size.0,
        _ => 0,
    };
    size(style, sectors)
}

fn region_size(row: &Row<'_>, style: &Style) -> Value {
    let sectors = match row.lv_segment().map(|(_, _, segment)| &segment.kind) {
        Some(SegmentType::Mirror(mirror)) => mirror.region_size.0,
        Some(SegmentType::Raid(raid)) => raid.region_size.0,
        _ => 0,
    };
    size(style, sectors)
}

fn chunk_size(row: &Row<'_>, style: &Style) -> Value {
    let Some((group, lv, segment)) = row.lv_segment() else {
        return size(style, 0);
    };
    let sectors = match &segment.kind {
        SegmentType::ThinPool(pool) => pool.chunk_size.0,
        SegmentType::CachePool(_) | SegmentType::Cache(_) => cache_pool(group, segment)
            .extra
            .number("chunk_size")
            .unwrap_or(0),
        _ => group
            .relations
            .snapshot_of_cow(&group.vg, lv)
            .map_or(0, |s| s.chunk_size.0),
    };
    size(style, sectors)
}

/// The segment with the settings of a cache: the pool's, or its own.
fn cache_pool<'a>(group: &'a Group, segment: &'a Segment) -> &'a Segment {
    match &segment.kind {
        SegmentType::Cache(cache) if segment.extra.is_empty() => {
            group.vg.lv(cache.pool).segments.first().unwrap_or(segment)
        }
        _ => segment,
    }
}

/// The cache that a row is about, if it is one.
fn cache<'a>(row: &Row<'a>) -> Option<&'a Segment> {
    let (group, _, segment) = row.lv_segment()?;
    matches!(
        segment.kind,
        SegmentType::Cache(_) | SegmentType::CachePool(_)
    )
    .then(|| cache_pool(group, segment))
}

fn cache_format(row: &Row<'_>, _: &Style) -> Value {
    match cache(row) {
        Some(segment) if segment.type_flags.contains(&TypeFlag::MetadataFormat) => {
            Value::number(segment.extra.number("metadata_format").unwrap_or(2))
        }
        Some(segment) => match segment.extra.number("metadata_format") {
            Some(format) => Value::number(format),
            None => Value::no_number(),
        },
        None => Value::no_number(),
    }
}

fn cache_mode(row: &Row<'_>, _: &Style) -> Value {
    let mode = cache(row).and_then(|segment| segment.extra.string("cache_mode"));
    Value::text(mode.unwrap_or_default().to_owned())
}

fn cache_policy(row: &Row<'_>, _: &Style) -> Value {
    let policy = cache(row).and_then(|segment| segment.extra.string("policy"));
    Value::text(policy.unwrap_or_default().to_owned())
}

/// Settings of a writecache stand in its segment, beside what it is made of.
fn writecache_settings(row: &Row<'_>) -> Option<Vec<String>> {
    use lvm2::text::{Node, Value as Setting};
    let (_, _, segment) = row.lv_segment()?;
    if !matches!(segment.kind, SegmentType::Writecache(_)) {
        return None;
    }
    let settings = segment.extra.iter().filter_map(|extra| match &extra.node {
        Node::Value {
            name,
            value: Setting::Integer(number),
        } if !name.starts_with("writecache") => Some(format!("{name}={number}")),
        _ => None,
    });
    Some(settings.collect())
}

fn cache_settings(row: &Row<'_>, _: &Style) -> Value {
    use lvm2::text::{Node, Value as Setting};
    let Some(segment) = cache(row) else {
        return Value::list(writecache_settings(row).unwrap_or_default());
    };
    let sections = segment.extra.iter().filter_map(|extra| match &extra.node {
        Node::Section(section) if section.name == "policy_settings" => Some(section),
        _ => None,
    });
    let settings = sections
        .flat_map(|section| &section.nodes)
        .filter_map(|node| match node {
            Node::Value {
                name,
                value: Setting::Integer(number),
            } => Some(format!("{name}={number}")),
            Node::Value {
                name,
                value: Setting::String(text),
            } => Some(format!("{name}={text}")),
            _ => None,
        });
    Value::list(settings.collect())
}

/// The pool of a thin pool or thin volume.
fn thin_pool<'a>(row: &Row<'a>) -> Option<&'a lvm2::model::ThinPool> {
    let (group, _, segment) = row.lv_segment()?;
    let pool = match &segment.kind {
        SegmentType::ThinPool(pool) => return Some(pool),
        SegmentType::Thin(thin) => thin.pool,
        _ => return None,
    };
    match group.vg.lv(pool).first() {
        Some(SegmentType::ThinPool(pool)) => Some(pool),
        _ => None,
    }
}

fn thin_count(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, lv, segment)) = row.lv_segment() else {
        return Value::no_number();
    };
    if !matches!(segment.kind, SegmentType::ThinPool(_)) {
        return Value::no_number();
    }
    let thins = group
        .relations
        .used_by(lv)
        .iter()
        .filter(|used| used.part == Part::ThinPool);
    Value::number(thins.count() as u64)
}

fn discards(row: &Row<'_>, _: &Style) -> Value {
    let discards = thin_pool(row).map(|pool| pool.discards.unwrap_or(Discards::Passdown));
    Value::text(match discards {
        Some(Discards::Ignore) => "ignore",
        Some(Discards::NoPassdown) => "nopassdown",
        Some(Discards::Passdown) => "passdown",
        None => "",
    })
}

fn zero(row: &Row<'_>, style: &Style) -> Value {
    match thin_pool(row) {
        Some(pool) => binary(style, pool.zero_new_blocks == ZeroNewBlocks::Yes, "zero"),
        None => not_known(row, style),
    }
}

fn transaction(row: &Row<'_>, _: &Style) -> Value {
    match row.lv_segment().map(|(_, _, segment)| &segment.kind) {
        Some(SegmentType::ThinPool(pool)) => Value::number(pool.transaction_id),
        Some(SegmentType::Thin(thin)) => Value::number(thin.transaction_id),
        _ => Value::no_number(),
    }
}

fn thin_id(row: &Row<'_>, _: &Style) -> Value {
    match row.lv_segment().map(|(_, _, segment)| &segment.kind) {
        Some(SegmentType::Thin(thin)) => Value::number(thin.device_id),
        _ => Value::no_number(),
    }
}

fn start(row: &Row<'_>, style: &Style) -> Value {
    let sectors = row
        .lv_segment()
        .map_or(0, |(group, _, segment)| group.sectors(segment.start));
    size(style, sectors)
}

fn seg_size(row: &Row<'_>, style: &Style) -> Value {
    let sectors = match (row.lv_segment(), row.group, free(row)) {
        (Some((group, _, segment)), ..) => group.sectors(segment.length),
        (None, Some(group), Some(length)) => group.sectors(lvm2::Extents(length)),
        _ => 0,
    };
    size(style, sectors)
}

fn seg_extents(row: &Row<'_>, _: &Style) -> Value {
    let used = row.lv_segment().map(|(_, _, segment)| segment.length.0);
    Value::number(used.or(free(row)).unwrap_or(0))
}

fn tags(row: &Row<'_>, _: &Style) -> Value {
    sorted_list(
        row.lv_segment()
            .map(|(_, _, s)| s.tags.as_slice())
            .unwrap_or_default(),
    )
}

/// What lies below a segment: disks and volumes with the first extent there.
fn legs(segment: &Segment) -> Vec<Area> {
    let whole = |lv: LvId| Area::Lv {
        lv,
        start: lvm2::Extents(0),
    };
    match &segment.kind {
        SegmentType::Raid(raid) => raid.images.iter().map(|image| whole(image.data)).collect(),
        SegmentType::ThinPool(pool) => vec![whole(pool.data)],
        SegmentType::CachePool(pool) => vec![whole(pool.data)],
        SegmentType::Cache(cache) => vec![whole(cache.origin)],
        SegmentType::Writecache(cache) => vec![whole(cache.origin)],
        SegmentType::Integrity(integrity) => vec![whole(integrity.origin)],
        SegmentType::VdoPool(pool) => vec![whole(pool.data)],
        SegmentType::Vdo(vdo) => vec![Area::Lv {
            lv: vdo.pool,
            start: vdo.offset,
        }],
        _ => segment.areas().to_vec(),
    }
}

/// The metadata volumes below a RAID.
fn metadata_legs(segment: &Segment) -> Vec<LvId> {
    match &segment.kind {
        SegmentType::Raid(raid) => raid.images.iter().filter_map(|image| image.meta).collect(),
        _ => Vec::new(),
    }
}

/// How many extents of a leg a segment covers. Volumes that are parts are used whole.
fn leg_length(group: &Group, segment: &Segment, area: Area) -> u64 {
    match (&segment.kind, area) {
        (SegmentType::Striped(_) | SegmentType::Mirror(_), _) | (_, Area::Pv { .. }) => {
            segment.area_length().unwrap_or(segment.length).0
        }
        (_, Area::Lv { lv, .. }) => group.vg.lv(lv).extents().0,
    }
}

/// The name of what a leg lies on, and its first extent there.
fn area_name(row: &Row<'_>, group: &Group, area: Area) -> (String, u64) {
    match area {
        Area::Pv { pv, start } => (row.view.pv_name(group, pv).to_owned(), start.0),
        Area::Lv { lv, start } => (group.vg.lv(lv).name().to_owned(), start.0),
    }
}

fn marked_area_name(row: &Row<'_>, group: &Group, area: Area) -> (String, u64) {
    match area {
        Area::Lv { lv, start } => (group.marked_name(lv), start.0),
        Area::Pv { .. } => area_name(row, group, area),
    }
}

fn range(name: &str, start: u64, length: u64) -> String {
    format!("{name}:{start}-{}", (start + length).saturating_sub(1))
}

fn pe_ranges(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, _, segment)) = row.lv_segment() else {
        return Value::list(Vec::new());
    };
    let ranges = legs(segment).into_iter().map(|area| {
        let (name, start) = area_name(row, group, area);
        range(&name, start, leg_length(group, segment, area))
    });
    let ranges: Vec<String> = ranges.collect();
    // This one list has always been separated by spaces.
    let text = ranges.join(" ");
    Value {
        text: text.into(),
        ..Value::list(ranges)
    }
}

fn le_ranges(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, _, segment)) = row.lv_segment() else {
        return Value::list(Vec::new());
    };
    let ranges = legs(segment).into_iter().map(|area| {
        let (name, start) = marked_area_name(row, group, area);
        range(&name, start, leg_length(group, segment, area))
    });
    Value::list(ranges.collect())
}

fn metadata_le_ranges(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, _, segment)) = row.lv_segment() else {
        return Value::list(Vec::new());
    };
    let ranges = metadata_legs(segment).into_iter().map(|lv| {
        let length = group.vg.lv(lv).extents().0;
        range(&group.marked_name(lv), 0, length)
    });
    Value::list(ranges.collect())
}

fn devices(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, _, segment)) = row.lv_segment() else {
        return Value::list(Vec::new());
    };
    let names = legs(segment).into_iter().map(|area| {
        let (name, start) = area_name(row, group, area);
        format!("{name}({start})")
    });
    Value::list(names.collect())
}

fn metadata_devices(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, _, segment)) = row.lv_segment() else {
        return Value::list(Vec::new());
    };
    let names = metadata_legs(segment)
        .into_iter()
        .map(|lv| format!("{}(0)", group.vg.lv(lv).name()));
    Value::list(names.collect())
}
