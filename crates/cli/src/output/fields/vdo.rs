//! Fields of VDO pools. Their settings are carried as the text has them; other segments have none.

use lvm2::model::{Segment, SegmentType};

use super::catalogue::fields;
use super::constant::{binary, not_set, size};
use crate::output::report::{FieldKind, Value};
use crate::output::{Row, Style};

const NUMBER: FieldKind = FieldKind::Number;
const SIZE: FieldKind = FieldKind::Size;

fields! { FIELDS of Segment {
    "vdo_compression" "VDOCompression" FieldKind::Binary(&[]), 0,
        |row, style| flag(row, style, "use_compression"),
        "Whether a VDO pool compresses.";
    "vdo_deduplication" "VDODeduplication" FieldKind::Binary(&[]), 0,
        |row, style| flag(row, style, "use_deduplication"),
        "Whether a VDO pool deduplicates.";
    "vdo_use_metadata_hints" "VDOMetadataHints" FieldKind::Binary(&[]), 0,
        |row, style| flag(row, style, "use_metadata_hints"),
        "Whether metadata writes of a VDO pool are marked.";
    "vdo_minimum_io_size" "VDOMinimumIOSize" NUMBER, 0,
        |row, style| bytes(row, style, "minimum_io_size"),
        "Smallest write of a VDO pool, in bytes.";
    "vdo_block_map_cache_size" "VDOBlockMapCacheSize" SIZE, 0,
        |row, style| mebibytes(row, style, "block_map_cache_size_mb"),
        "Memory for the map of blocks.";
    "vdo_block_map_era_length" "VDOBlockMapEraLength" NUMBER, 0,
        |row, style| number(row, style, "block_map_era_length"),
        "How long the map of blocks may stay in memory.";
    "vdo_use_sparse_index" "VDOSparseIndex" FieldKind::Binary(&[]), 0,
        |row, style| flag(row, style, "use_sparse_index"),
        "Whether the index is sparse.";
    "vdo_index_memory_size" "VDOIndexMemorySize" SIZE, 0,
        |row, style| mebibytes(row, style, "index_memory_size_mb"),
        "Memory for the index.";
    "vdo_slab_size" "VDOSlabSize" SIZE, 0,
        |row, style| mebibytes(row, style, "slab_size_mb"),
        "By how much a VDO pool grows.";
    "vdo_ack_threads" "VDOAckThreads" NUMBER, 0,
        |row, style| number(row, style, "ack_threads"),
        "Threads that answer.";
    "vdo_bio_threads" "VDOBioThreads" NUMBER, 0,
        |row, style| number(row, style, "bio_threads"),
        "Threads that do I/O.";
    "vdo_bio_rotation" "VDOBioRotation" NUMBER, 0,
        |row, style| number(row, style, "bio_rotation"),
        "Requests in a row for one of these threads.";
    "vdo_cpu_threads" "VDOCPUThreads" NUMBER, 0,
        |row, style| number(row, style, "cpu_threads"),
        "Threads that compress and hash.";
    "vdo_hash_zone_threads" "VDOHashZoneThreads" NUMBER, 0,
        |row, style| number(row, style, "hash_zone_threads"),
        "Threads for parts of the index.";
    "vdo_logical_threads" "VDOLogicalThreads" NUMBER, 0,
        |row, style| number(row, style, "logical_threads"),
        "Threads for parts of the volume.";
    "vdo_physical_threads" "VDOPhysicalThreads" NUMBER, 0,
        |row, style| number(row, style, "physical_threads"),
        "Threads for parts of the data.";
    "vdo_max_discard" "VDOMaxDiscard" NUMBER, 0,
        |row, style| number(row, style, "max_discard"),
        "Largest discard, in blocks.";
    "vdo_write_policy" "VDOWritePolicy" FieldKind::Text, 0,
        |row, style| word(row, style, "write_policy"),
        "When writes are answered.";
    "vdo_header_size" "VDOHeaderSize" SIZE, 0,
        |row, style| sectors(row, style, "header_size"),
        "Space in front of the data of a VDO pool.";
} }

fn settings<'a>(row: &Row<'a>) -> Option<&'a Segment> {
    let (group, _, segment) = row.lv_segment()?;
    match &segment.kind {
        SegmentType::VdoPool(_) => Some(segment),
        // A volume shows the settings of its pool.
        SegmentType::Vdo(vdo) => group.vg.lv(vdo.pool).segments.first(),
        _ => None,
    }
}

fn setting(row: &Row<'_>, key: &str) -> Option<u64> {
    settings(row)?.extra.number(key)
}

fn flag(row: &Row<'_>, style: &Style, key: &str) -> Value {
    match settings(row) {
        Some(segment) => binary(style, segment.extra.number(key) == Some(1), "enabled"),
        None => Value::text(not_set(row, &Style::default()).text),
    }
}

fn number(row: &Row<'_>, _: &Style, key: &str) -> Value {
    setting(row, key).map_or_else(Value::no_number, Value::number)
}

fn bytes(row: &Row<'_>, style: &Style, key: &str) -> Value {
    setting(row, key).map_or_else(Value::no_number, |bytes| size(style, bytes / 512))
}

fn mebibytes(row: &Row<'_>, style: &Style, key: &str) -> Value {
    let sectors = setting(row, key).map(|count| count.saturating_mul(2048));
    sectors.map_or_else(Value::no_number, |sectors| size(style, sectors))
}

fn sectors(row: &Row<'_>, style: &Style, key: &str) -> Value {
    setting(row, key).map_or_else(Value::no_number, |sectors| size(style, sectors))
}

fn word(row: &Row<'_>, _: &Style, key: &str) -> Value {
    let word = settings(row).and_then(|segment| segment.extra.string(key));
    Value::text(word.unwrap_or_default().to_owned())
}
