//! What is known of an active volume: by whoever serves it, where stock would ask the kernel. Of an
//! inactive one, nothing; but of a RAID volume its superblocks tell what is not as it should be.

use ashlar::live::Merging;
use lvm2::model::{LvFlag, SegmentType};
use lvm2::plan::logical::holds_all;

use super::catalogue::fields;
use super::constant::{binary, blank, minus_one, no_list, no_number, not_known, size};
use super::raid;
use crate::output::report::{FieldKind, Value};
use crate::output::{Role, Row, State, Style, Trouble};

const TEXT: FieldKind = FieldKind::Text;
const NUMBER: FieldKind = FieldKind::Number;
const PERCENT: FieldKind = FieldKind::Percent;

fields! { INFO of LvInfo {
    "lv_kernel_major" "KMaj" NUMBER, 0, |row, style| number(row, style, |number| number.0),
        "Major number of the active device, or -1.";
    "lv_kernel_minor" "KMin" NUMBER, 0, |row, style| number(row, style, |number| number.1),
        "Minor number of the active device, or -1.";
    "lv_kernel_read_ahead" "KRahead" FieldKind::Size, 0, minus_one,
        "Read-ahead of the active device, or -1.";
    "lv_permissions" "LPerms" TEXT, 8, permissions, "Whether the active device may be written.";
    "lv_suspended" "Suspended" FieldKind::Binary(&["suspended"]), 10,
        |row, style| of_active(row, style, None),
        "Whether the active device is suspended.";
    "lv_live_table" "LiveTable" FieldKind::Binary(&["live table present", "live table"]), 20,
        |row, style| of_active(row, style, Some("live table present")),
        "Whether the active device has a table.";
    "lv_inactive_table" "InactiveTable"
        FieldKind::Binary(&["inactive table present", "inactive table"]), 20,
        |row, style| of_active(row, style, None),
        "Whether a table waits to become the active device's.";
    "lv_device_open" "DevOpen" FieldKind::Binary(&["open"]), 10,
        open,
        "Whether the active device is open.";
} }

fields! { OWNER of LvOwner {
    "snap_fill_rate" "FillRate" FieldKind::Size, 0, fill_rate,
        "How much of a snapshot's store is filled in a second, seen by whoever serves it.";
    "snap_time_to_full" "TimeToFull" NUMBER, 0, time_to_full,
        "Seconds until a snapshot is full at that rate.";
} }

fields! { STATUS of LvStatus {
    "data_percent" "Data%" PERCENT, 6, kept, "How full a snapshot, thin or cache volume is.";
    "snap_percent" "Snap%" PERCENT, 6, kept, "How full a snapshot is.";
    "metadata_percent" "Meta%" PERCENT, 6, no_number, "How full a pool's metadata is.";
    "copy_percent" "Cpy%Sync" PERCENT, 0, copied, "How much of a copy or move is in sync.";
    "sync_percent" "Cpy%Sync" PERCENT, 0, copied, "The same as copy_percent.";
    "cache_total_blocks" "CacheTotalBlocks" NUMBER, 0, no_number, "Blocks of a cache.";
    "cache_used_blocks" "CacheUsedBlocks" NUMBER, 16, no_number, "Blocks of a cache in use.";
    "cache_dirty_blocks" "CacheDirtyBlocks" NUMBER, 0, no_number,
        "Blocks of a cache that are not written back.";
    "cache_read_hits" "CacheReadHits" NUMBER, 16, no_number, "Reads that a cache answered.";
    "cache_read_misses" "CacheReadMisses" NUMBER, 16, no_number, "Reads that it did not.";
    "cache_write_hits" "CacheWriteHits" NUMBER, 16, no_number, "Writes that a cache took.";
    "cache_write_misses" "CacheWriteMisses" NUMBER, 0, no_number, "Writes that it did not.";
    "kernel_cache_settings" "KCacheSettings" FieldKind::List, 18, no_list,
        "Settings of the running cache.";
    "kernel_cache_policy" "KCachePolicy" TEXT, 18, blank, "Policy of the running cache.";
    "kernel_metadata_format" "KMFmt" NUMBER, 0, no_number, "Metadata format of the running cache.";
    "lv_health_status" "Health" TEXT, 15, health, "What is wrong with the volume, if anything.";
    "kernel_discards" "KDiscards" TEXT, 0, blank, "What the running thin pool does with discards.";
    "lv_check_needed" "CheckNeeded" FieldKind::Binary(&["check needed", "needs check"]), 15,
        not_known, "Whether pool metadata wants to be checked.";
    "lv_merge_failed" "MergeFailed" FieldKind::Binary(&["merge failed", "failed"]), 15,
        merge_failed, "Whether merging a snapshot failed.";
    "lv_snapshot_invalid" "SnapInvalid" FieldKind::Binary(&["snapshot invalid", "invalid"]), 15,
        invalid, "Whether a snapshot overflowed.";
    "vdo_operating_mode" "VDOOperatingMode" TEXT, 0, blank, "Mode of a running VDO pool.";
    "vdo_compression_state" "VDOCompressionState" TEXT, 0, blank,
        "Whether a running VDO pool compresses.";
    "vdo_index_state" "VDOIndexState" TEXT, 0, blank, "State of a running VDO pool's index.";
    "vdo_used_size" "VDOUsedSize" NUMBER, 0, no_number, "Space that a running VDO pool uses.";
    "vdo_saving_percent" "VDOSaving%" NUMBER, 0, no_number, "Space that a running VDO pool saves.";
    "writecache_total_blocks" "WCacheTotalBlocks" NUMBER, 0, no_number, "Blocks of a writecache.";
    "writecache_free_blocks" "WCacheFreeBlocks" NUMBER, 0, no_number,
        "Blocks of a writecache that are free.";
    "writecache_writeback_blocks" "WCacheWritebackBlocks" NUMBER, 0, no_number,
        "Blocks of a writecache that are being written back.";
    "writecache_error" "WCacheErrors" NUMBER, 0, no_number, "Errors of a writecache.";
} }

/// Whether the volume is active.
pub(super) fn state<'a>(row: &Row<'a>) -> State<'a> {
    let volume = row.volume();
    volume.map_or(State::Inactive, |(group, lv, _)| group.state(lv))
}

pub(super) fn active(row: &Row<'_>, _: &Style) -> Value {
    Value::text(match state(row) {
        // As stock says of what is free.
        State::Inactive if row.volume().is_none() => "unknown",
        State::Inactive => "",
        State::Unknown => "unknown",
        State::Active(_) => "active",
    })
}

/// A column that is set for what is active.
pub(super) fn active_as(row: &Row<'_>, style: &Style, word: &'static str) -> Value {
    match state(row) {
        State::Inactive => binary(style, false, word),
        State::Unknown => not_known(row, style),
        State::Active(_) => binary(style, true, word),
    }
}

/// No other machine is asked; of a volume that may be active here, nothing is known either.
pub(super) fn active_elsewhere(row: &Row<'_>, style: &Style) -> Value {
    match state(row) {
        State::Unknown => not_known(row, style),
        State::Inactive | State::Active(_) => binary(style, false, ""),
    }
}

pub(super) fn image_synced(row: &Row<'_>, style: &Style) -> Value {
    let volume = row.volume();
    let is_synced = volume.is_some_and(|(group, lv, _)| group.is_synced_image(lv));
    binary(style, is_synced, "image synced")
}

/// A column that is known of what is active: set to this word, or not.
fn of_active(row: &Row<'_>, style: &Style, word: Option<&'static str>) -> Value {
    match state(row) {
        State::Inactive | State::Unknown => not_known(row, style),
        State::Active(_) => binary(style, word.is_some(), word.unwrap_or_default()),
    }
}

fn open(row: &Row<'_>, style: &Style) -> Value {
    let is_open = state(row).active().is_some_and(|active| active.is_open);
    of_active(row, style, is_open.then_some("open"))
}

/// One of the numbers of the node at which the volume is attached.
fn number(row: &Row<'_>, style: &Style, which: fn((u32, u32)) -> u32) -> Value {
    let place = state(row).active().and_then(|active| active.place.as_ref());
    match place.and_then(|place| place.number) {
        Some(number) => Value::number(which(number)),
        None => minus_one(row, style),
    }
}

fn copied(row: &Row<'_>, _: &Style) -> Value {
    match state(row)
        .active()
        .and_then(|active| active.mirror.as_ref())
    {
        Some(mirror) => Value::percent(mirror.in_sync, mirror.regions),
        None => raid::copied(row).unwrap_or_else(Value::no_number),
    }
}

/// How full the store of a snapshot is, as the kernel counts: one that holds nothing is at 0, one
/// that is invalid has no room left.
fn kept(row: &Row<'_>, _: &Style) -> Value {
    let active = state(row).active();
    // As stock, an origin shows how much is left of what is merged into it.
    match active.and_then(|active| active.snapshot.or(active.merging)) {
        Some(snapshot) if snapshot.is_invalid => Value::percent(snapshot.size, snapshot.size),
        Some(snapshot) if snapshot.used == snapshot.metadata => Value::percent(0, snapshot.size),
        Some(snapshot) => Value::percent(snapshot.used, snapshot.size),
        None => Value::no_number(),
    }
}

/// By how much the store of a snapshot fills in a second.
fn fill_rate(row: &Row<'_>, style: &Style) -> Value {
    let snapshot = state(row).active().and_then(|active| active.snapshot);
    match snapshot.and_then(|snapshot| snapshot.fill_rate) {
        Some(rate) => size(style, rate.div_ceil(lvm2::SECTOR_SIZE)),
        None => Value::no_number(),
    }
}

/// Of a store with room for all that its origin can ask it to keep there is no such time.
fn time_to_full(row: &Row<'_>, _: &Style) -> Value {
    let snapshot = state(row).active().and_then(|active| active.snapshot);
    let volume = row
        .volume()
        .filter(|(group, lv, _)| !holds_all(&group.vg, *lv));
    let time = snapshot.and_then(|snapshot| snapshot.time_to_full());
    match volume.and(time) {
        Some(time) => Value::number(time.as_secs()),
        None => Value::no_number(),
    }
}

fn merge_failed(row: &Row<'_>, style: &Style) -> Value {
    let active = state(row).active();
    match active.and_then(|active| active.snapshot.or(active.merging)) {
        Some(snapshot) => binary(style, snapshot.merge == Merging::Failed, "merge failed"),
        None => not_known(row, style),
    }
}

fn invalid(row: &Row<'_>, style: &Style) -> Value {
    match state(row).active().and_then(|active| active.snapshot) {
        Some(snapshot) => binary(style, snapshot.is_invalid, "snapshot invalid"),
        None => not_known(row, style),
    }
}

fn permissions(row: &Row<'_>, _: &Style) -> Value {
    let volume = row.volume().map(|(_, _, volume)| volume);
    let read_only =
        volume.is_some_and(|volume| !volume.is_writable() && !volume.flags.has(LvFlag::Pvmove));
    Value::text(match state(row) {
        _ if read_only => "read-only",
        State::Active(active) if active.is_only_read => "read-only-override",
        State::Active(_) => "writeable",
        State::Inactive | State::Unknown => "unknown",
    })
}

fn health(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, lv, volume)) = row.volume() else {
        return Value::text("");
    };
    let is_array = matches!(volume.first(), Some(SegmentType::Raid(_)));
    let is_array = is_array || group.array_of(lv).is_some();
    let is_part = matches!(group.array_of(lv), Some((_, Role::Image(_))));
    Value::text(match group.state(lv) {
        _ if group.is_partial(lv) => "partial",
        State::Active(active) if active.has_failed() => "refresh needed",
        State::Unknown if is_array => "unknown",
        _ => match group.trouble(lv) {
            Some(Trouble::Unknown) => "unknown",
            Some(Trouble::Distrusted) => "refresh needed",
            _ if is_part && volume.flags.has(LvFlag::WriteMostly) => "writemostly",
            Some(Trouble::Reshaping) | None => "",
        },
    })
}
