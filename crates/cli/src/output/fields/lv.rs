//! Fields of logical volumes: what their own metadata says. Who belongs to whom is next door.

use lvm2::model::{LvFlag, LvId, Part, RaidFamily, ReadAhead, Segment, SegmentType, dm_name};

use super::catalogue::fields;
use super::constant::{binary, blank, minus_one, no_number, not_set, optional, size, sorted_list};
use super::{kernel, lv_relations as related, raid};
use crate::output::report::{AUTO, FieldKind, Instant, UNDEFINED, Value};
use crate::output::{Group, Row, Style};

const TEXT: FieldKind = FieldKind::Text;
const LIST: FieldKind = FieldKind::List;
const NUMBER: FieldKind = FieldKind::Number;
const SIZE: FieldKind = FieldKind::Size;

fields! { FIELDS of Lv {
    "lv_uuid" "LV UUID" TEXT, 38, uuid, "The UUID.";
    "lv_name" "LV" TEXT, 4, name, "The name, in brackets where the volume is a part of another.";
    "lv_full_name" "LV" TEXT, 4, full_name, "The name behind that of its group: VG/LV.";
    "lv_path" "Path" TEXT, 0, path,
        "Where it is attached, else the name that stock would give it; nothing for parts.";
    "lv_dm_path" "DMPath" TEXT, 0, dm_path,
        "Where it is attached, else the name that device-mapper would give it.";
    "lv_parent" "Parent" TEXT, 0, related::parent, "The volume that this one is a part of.";
    "lv_layout" "Layout" LIST, 10, related::layout, "How its data lies.";
    "lv_role" "Role" LIST, 10, related::role, "What it is for.";
    "lv_initial_image_sync" "InitImgSync" FieldKind::Binary(&["initial image sync", "sync"]), 10,
        initial_sync, "Whether its copies were synchronised when it was created.";
    "lv_image_synced" "ImgSynced" FieldKind::Binary(&["image synced", "synced"]), 10,
        kernel::image_synced,
        "Whether this copy is synchronised.";
    "lv_merging" "Merging" FieldKind::Binary(&["merging"]), 10, related::merging,
        "Whether a snapshot is on its way back into its origin.";
    "lv_converting" "Converting" FieldKind::Binary(&["converting"]), 0, not_set,
        "Whether its layout is being changed.";
    "lv_allocation_policy" "AllocPol" TEXT, 10, allocation, "How new extents are chosen.";
    "lv_allocation_locked" "AllocLock" FieldKind::Binary(&["allocation locked", "locked"]), 10,
        |row, style| flag(row, style, LvFlag::Locked, "allocation locked"),
        "Whether its extents are being moved.";
    "lv_fixed_minor" "FixMin" FieldKind::Binary(&["fixed minor", "fixed"]), 10,
        |row, style| flag(row, style, LvFlag::FixedMinor, "fixed minor"),
        "Whether it has a device number of its own choice.";
    "lv_skip_activation" "SkipAct" FieldKind::Binary(&["skip activation", "skip"]), 15,
        |row, style| flag(row, style, LvFlag::ActivationSkip, "skip activation"),
        "Whether it is left out when volumes are activated.";
    "lv_autoactivation" "AutoAct" FieldKind::Binary(&["enabled"]), 0, autoactivation,
        "Whether it is activated when the machine starts.";
    "lv_when_full" "WhenFull" TEXT, 15, when_full, "What a thin pool does when it is full.";
    "lv_active" "Active" TEXT, 0, kernel::active, "Whether it is active: served or attached.";
    "lv_active_locally" "ActLocal"
        FieldKind::Binary(&["active locally", "active", "locally"]), 10,
        |row, style| kernel::active_as(row, style, "active locally"),
        "Whether it is active here.";
    "lv_active_remotely" "ActRemote"
        FieldKind::Binary(&["active remotely", "active", "remotely"]), 10, kernel::active_elsewhere,
        "Whether it is active elsewhere.";
    "lv_active_exclusively" "ActExcl"
        FieldKind::Binary(&["active exclusively", "active", "exclusively"]), 10,
        |row, style| kernel::active_as(row, style, "active exclusively"),
        "Whether it is active in one place only.";
    "lv_major" "Maj" NUMBER, 0, |row, _| device_number(row.volume().and_then(|v| v.2.major)),
        "Major number of its own choice, or -1.";
    "lv_minor" "Min" NUMBER, 0, |row, _| device_number(row.volume().and_then(|v| v.2.minor)),
        "Minor number of its own choice, or -1.";
    "lv_read_ahead" "Rahead" SIZE, 0, read_ahead, "How much is read in advance.";
    "lv_size" "LSize" SIZE, 0, lv_size, "Its size.";
    "lv_metadata_size" "MSize" SIZE, 0, related::metadata_size, "Size of a pool's metadata.";
    "seg_count" "#Seg" NUMBER, 0, segment_count, "Number of segments.";
    "origin" "Origin" TEXT, 0, related::origin, "That of which it is a snapshot, or a cache.";
    "origin_uuid" "Origin UUID" TEXT, 38, related::origin_uuid, "The UUID of that.";
    "origin_size" "OSize" SIZE, 0, related::origin_size, "The size of that, for snapshots.";
    "lv_ancestors" "Ancestors" LIST, 0, related::ancestors, "Origins, nearest first.";
    "lv_full_ancestors" "FAncestors" LIST, 0, related::full_ancestors,
        "Origins, those that were removed too.";
    "lv_descendants" "Descendants" LIST, 0, related::descendants, "Snapshots, and theirs.";
    "lv_full_descendants" "FDescendants" LIST, 0, related::full_descendants,
        "Snapshots, those that were removed too.";
    "raid_mismatch_count" "Mismatches" NUMBER, 0, raid::mismatches, "Mismatches a check found.";
    "raid_sync_action" "SyncAction" TEXT, 0, raid::sync_action, "What a RAID is doing.";
    "raid_write_behind" "WBehind" NUMBER, 0, |row, _| raid_setting(row, |raid| raid.write_behind),
        "RAID1: writes that may wait for slow copies.";
    "raid_min_recovery_rate" "MinSync" NUMBER, 0,
        |row, _| raid_setting(row, |raid| raid.min_recovery_rate),
        "KiB per second and disk that a resync always uses.";
    "raid_max_recovery_rate" "MaxSync" NUMBER, 0,
        |row, _| raid_setting(row, |raid| raid.max_recovery_rate),
        "KiB per second and disk that a resync uses at most.";
    "raidintegritymode" "IntegMode" TEXT, 0, integrity_mode, "How checksums are written.";
    "raidintegrityblocksize" "IntegBlkSize" NUMBER, 0, integrity_block_size,
        "Bytes under one checksum, or -1.";
    "integritymismatches" "IntegMismatches" NUMBER, 0, integrity_mismatches,
        "Wrong checksums found.";
    "move_pv" "Move" TEXT, 0, related::move_pv, "Of a move: the disk that is being emptied.";
    "move_pv_uuid" "Move UUID" TEXT, 38, related::move_pv_uuid, "The UUID of that disk.";
    "convert_lv" "Convert" TEXT, 0, blank, "Of a conversion: its temporary volume.";
    "convert_lv_uuid" "Convert UUID" TEXT, 38, blank, "The UUID of that volume.";
    "mirror_log" "Log" TEXT, 0, related::mirror_log, "Of a mirror: the volume with its log.";
    "mirror_log_uuid" "Log UUID" TEXT, 38, related::mirror_log_uuid, "The UUID of that volume.";
    "data_lv" "Data" TEXT, 0, related::data, "Of a pool: the volume with its data.";
    "data_lv_uuid" "Data UUID" TEXT, 38, related::data_uuid, "The UUID of that volume.";
    "metadata_lv" "Meta" TEXT, 0, related::metadata, "Of a pool: the volume with its metadata.";
    "metadata_lv_uuid" "Meta UUID" TEXT, 38, related::metadata_uuid, "The UUID of that volume.";
    "pool_lv" "Pool" TEXT, 0, related::pool, "The pool that it takes its blocks from.";
    "pool_lv_uuid" "Pool UUID" TEXT, 38, related::pool_uuid, "The UUID of that pool.";
    "lv_tags" "LV Tags" LIST, 0, tags, "Tags.";
    "lv_profile" "LProfile" TEXT, 0,
        |row, _| optional(row.volume().and_then(|v| v.2.profile.as_deref())),
        "Profile of settings.";
    "lv_lockargs" "LLockArgs" TEXT, 0,
        |row, _| optional(row.volume().and_then(|v| v.2.lock_args.as_deref())),
        "What the lock manager needs to know.";
    "lv_time" "CTime" FieldKind::Time, 26, created, "When it was created.";
    "lv_time_removed" "RTime" FieldKind::Time, 26, no_number, "When it was removed.";
    "lv_host" "Host" TEXT, 10,
        |row, _| optional(row.volume().and_then(|v| v.2.creation_host.as_deref())),
        "Where it was created.";
    "lv_modules" "Modules" LIST, 0, related::modules, "Kernel modules that it would need.";
    "lv_historical" "Historical" FieldKind::Binary(&["historical"]), 0, not_set,
        "Whether it is only remembered.";
    "writecache_block_size" "WCacheBlkSize" NUMBER, 0, writecache_block_size,
        "Block size of a writecache, or -1.";
} }

fn uuid(row: &Row<'_>, _: &Style) -> Value {
    Value::text(
        row.volume()
            .map(|(_, _, lv)| lv.uuid.to_string())
            .unwrap_or_default(),
    )
}

fn name(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, lv, volume)) = row.volume() else {
        return Value::text("");
    };
    if group.is_visible(lv) {
        return Value::text(volume.name().to_owned());
    }
    Value {
        text: group.marked_name(lv).into(),
        key: crate::output::report::Key::Other(volume.name().to_owned()),
    }
}

fn full_name(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, _, volume)) = row.volume() else {
        return Value::text("");
    };
    Value::text(format!("{}/{}", group.vg.name, volume.name()))
}

/// The name of an active volume, or where it is attached; else `/dev/VG/LV`.
pub(crate) fn path_or_name(group: &Group, lv: LvId) -> String {
    let name = || format!("/dev/{}/{}", group.vg.name, group.vg.lv(lv).name());
    place(group, lv).unwrap_or_else(name)
}

/// The same, but `/dev/VG/LV` only where stock would have such a link.
fn path_of(group: &Group, lv: LvId) -> String {
    let hidden =
        !group.is_visible(lv) || matches!(group.vg.lv(lv).first(), Some(SegmentType::ThinPool(_)));
    if hidden {
        place(group, lv).unwrap_or_default()
    } else {
        path_or_name(group, lv)
    }
}

/// The name of an active volume, or where it is attached.
fn place(group: &Group, lv: LvId) -> Option<String> {
    let place = group.state(lv).active()?.place.as_ref()?;
    Some(place.path.display().to_string())
}

fn path(row: &Row<'_>, _: &Style) -> Value {
    Value::text(
        row.volume()
            .map(|(group, lv, _)| path_of(group, lv))
            .unwrap_or_default(),
    )
}

fn dm_path(row: &Row<'_>, _: &Style) -> Value {
    let Some((group, lv, volume)) = row.volume() else {
        return Value::text("");
    };
    let active = group.state(lv).active();
    if let Some(place) = active.and_then(|active| active.place.as_ref()) {
        return Value::text(place.mapped.display().to_string());
    }
    Value::text(format!(
        "/dev/mapper/{}",
        dm_name(&group.vg.name, volume.name(), None)
    ))
}

fn flag(row: &Row<'_>, style: &Style, flag: LvFlag, word: &'static str) -> Value {
    binary(
        style,
        row.volume().is_some_and(|(_, _, lv)| lv.flags.has(flag)),
        word,
    )
}

fn initial_sync(row: &Row<'_>, style: &Style) -> Value {
    let set = row.volume().is_some_and(|(_, _, lv)| {
        matches!(
            lv.first(),
            Some(SegmentType::Raid(_) | SegmentType::Mirror(_))
        ) && !lv.flags.has(LvFlag::NotSynced)
    });
    binary(style, set, "initial image sync")
}

fn allocation(row: &Row<'_>, _: &Style) -> Value {
    let policy = row.volume().map(|(_, _, lv)| lv.allocation);
    Value::text(policy.map_or("unknown", |policy| {
        policy.map_or("inherit", |policy| policy.name())
    }))
}

fn autoactivation(row: &Row<'_>, style: &Style) -> Value {
    let set = row
        .volume()
        .is_some_and(|(_, _, lv)| !lv.flags.has(LvFlag::NoAutoactivate));
    binary(style, set, "enabled")
}

fn when_full(row: &Row<'_>, _: &Style) -> Value {
    Value::text(match row.volume() {
        Some((_, _, lv)) if matches!(lv.first(), Some(SegmentType::ThinPool(_))) => {
            if lv.flags.has(LvFlag::ErrorWhenFull) {
                "error"
            } else {
                "queue"
            }
        }
        _ => "",
    })
}

fn device_number(number: Option<i64>) -> Value {
    match number.and_then(|number| u64::try_from(number).ok()) {
        Some(number) => Value::number(number),
        None => Value::keyed("-1", UNDEFINED),
    }
}

fn read_ahead(row: &Row<'_>, style: &Style) -> Value {
    match row.volume().map(|(_, _, lv)| lv.read_ahead) {
        Some(ReadAhead::Auto) => Value::keyed("auto", AUTO),
        Some(ReadAhead::Sectors(sectors)) => size(style, sectors.into()),
        Some(ReadAhead::None) | None => size(style, 0),
    }
}

fn lv_size(row: &Row<'_>, style: &Style) -> Value {
    size(
        style,
        row.volume()
            .map_or(0, |(group, lv, _)| group.usable_sectors(lv)),
    )
}

fn segment_count(row: &Row<'_>, _: &Style) -> Value {
    Value::number(
        row.volume()
            .map_or(0, |(_, _, lv)| lv.segments.len() as u64),
    )
}

fn raid_setting(row: &Row<'_>, read: impl FnOnce(&lvm2::model::Raid) -> Option<u32>) -> Value {
    match row.volume().and_then(|(_, _, lv)| lv.first()) {
        Some(SegmentType::Raid(raid)) => match read(raid).filter(|setting| *setting > 0) {
            Some(setting) => Value::number(setting),
            None => Value::no_number(),
        },
        _ => Value::no_number(),
    }
}

/// The checksums below the first image of a RAID.
fn integrity_of<'a>(row: &Row<'a>) -> Option<&'a Segment> {
    let (group, lv, volume) = row.volume()?;
    let holder = match volume.first()? {
        SegmentType::Raid(raid) => raid.images.first()?.data,
        _ => lv,
    };
    let segment = group.vg.lv(holder).segments.first()?;
    matches!(segment.kind, SegmentType::Integrity(_)).then_some(segment)
}

fn integrity_mode(row: &Row<'_>, _: &Style) -> Value {
    let mode = integrity_of(row).and_then(|segment| segment.extra.string("mode"));
    Value::text(match mode {
        Some("B") => "bitmap",
        Some("J") => "journal",
        _ => "",
    })
}

/// What its owner has counted; nothing is counted of what nobody uses.
fn integrity_mismatches(row: &Row<'_>, _: &Style) -> Value {
    let counted = kernel::state(row)
        .active()
        .and_then(|active| active.mismatches);
    counted.map_or_else(Value::no_number, Value::number)
}

fn integrity_block_size(row: &Row<'_>, style: &Style) -> Value {
    match integrity_of(row).and_then(|segment| segment.extra.number("block_size")) {
        Some(bytes) => Value::number(bytes),
        None => minus_one(row, style),
    }
}

fn writecache_block_size(row: &Row<'_>, style: &Style) -> Value {
    let segment = row.volume().and_then(|(_, _, lv)| lv.segments.first());
    match segment.and_then(|segment| segment.extra.number("writecache_block_size")) {
        Some(bytes) => Value::number(bytes),
        None => minus_one(row, style),
    }
}

fn tags(row: &Row<'_>, _: &Style) -> Value {
    sorted_list(
        row.volume()
            .map(|(_, _, lv)| lv.tags.as_slice())
            .unwrap_or_default(),
    )
}

/// When a volume was created, as reports print it.
fn creation_time(seconds: u64, style: &Style) -> String {
    let instant = Instant(i64::try_from(seconds).unwrap_or(i64::MAX));
    style.time_format.show(&style.zone, instant)
}

fn created(row: &Row<'_>, style: &Style) -> Value {
    let time = row
        .volume()
        .and_then(|(_, _, lv)| lv.creation_time)
        .filter(|time| *time > 0);
    match time {
        Some(seconds) => Value::keyed(creation_time(seconds, style), seconds),
        None => Value::no_number(),
    }
}

/// Whether a volume is one leg of a RAID whose level can be reshaped.
pub(super) fn is_reshapable_image(group: &Group, lv: LvId) -> bool {
    group.relations.component_use(lv).is_some_and(|used| {
        matches!(used.part, Part::RaidImage(_))
            && is_reshapable(&group.vg.lv(used.by).segments[used.segment].kind)
    })
}

/// Whether a RAID's level can be reshaped.
pub(super) fn is_reshapable(kind: &SegmentType) -> bool {
    let SegmentType::Raid(raid) = kind else {
        return false;
    };
    !matches!(raid.level.family(), RaidFamily::Raid0 | RaidFamily::Raid1)
}
