//! Fields of volume groups.

use ashlar::scan::{Duplicate, FoundPv, FoundVg};
use lvm2::model::VgFlag;

use super::attr::vg_attr;
use super::catalogue::fields;
use super::constant::{binary, optional, size, sorted_list};
use super::pv::{areas_in_use, is_marked_used};
use crate::output::report::{FieldKind, Value};
use crate::output::{Group, Row, Style};

const TEXT: FieldKind = FieldKind::Text;
const NUMBER: FieldKind = FieldKind::Number;
const SIZE: FieldKind = FieldKind::Size;

fields! { FIELDS of Vg {
    "vg_fmt" "Fmt" TEXT, 0, |_, _| Value::text("lvm2"), "The format of the metadata.";
    "vg_uuid" "VG UUID" TEXT, 38, |row, _| text(row, |group| group.vg.uuid.to_string()),
        "The UUID.";
    "vg_name" "VG" TEXT, 0, name, "The name.";
    "vg_attr" "Attr" TEXT, 5,
        |row, _| Value::text(row.group.map_or_else(|| "r-----".into(), vg_attr)),
        "Permissions and state, as letters.";
    "vg_permissions" "VPerms" TEXT, 10, permissions, "Whether it may be changed.";
    "vg_extendable" "Extendable" FieldKind::Binary(&["extendable"]), 0,
        |row, style| flag(row, style, VgFlag::Resizeable, "extendable"),
        "Whether disks may be added and removed.";
    "vg_exported" "Exported" FieldKind::Binary(&["exported"]), 10,
        |row, style| flag(row, style, VgFlag::Exported, "exported"), "Whether it is exported.";
    "vg_autoactivation" "AutoAct" FieldKind::Binary(&["enabled"]), 0, autoactivation,
        "Whether it is activated when the machine starts.";
    "vg_partial" "Partial" FieldKind::Binary(&["partial"]), 10, partial,
        "Whether disks of it are missing.";
    "vg_allocation_policy" "AllocPol" TEXT, 10,
        |row, _| Value::text(row.group.map_or("unknown", |group| group.vg.allocation.name())),
        "How new extents are chosen.";
    "vg_clustered" "Clustered" FieldKind::Binary(&["clustered"]), 10,
        |row, style| flag(row, style, VgFlag::Clustered, "clustered"),
        "Whether an old cluster shares it.";
    "vg_shared" "Shared" FieldKind::Binary(&["shared"]), 7, shared,
        "Whether a lock manager shares it between hosts.";
    "vg_size" "VSize" SIZE, 0,
        |row, style| sectors(row, style, |group| group.sectors(group.vg.extent_count())),
        "Size of all extents.";
    "vg_free" "VFree" SIZE, 0,
        |row, style| sectors(row, style, |group| group.sectors(lvm2::Extents(free(group)))),
        "Size of the extents that are free.";
    "vg_sysid" "SYS ID" TEXT, 0, system_id, "The host that owns it.";
    "vg_systemid" "System ID" TEXT, 0, system_id, "The host that owns it.";
    "vg_lock_type" "LockType" TEXT, 0,
        |row, _| optional(row.group.and_then(lock_type)),
        "The lock manager that shares it.";
    "vg_lock_args" "VLockArgs" TEXT, 0,
        |row, _| optional(row.group.and_then(|group| group.vg.lock_args.as_deref())),
        "What the lock manager needs to know.";
    "vg_extent_size" "Ext" SIZE, 0,
        |row, style| sectors(row, style, |group| group.vg.extent_size.0), "Size of an extent.";
    "vg_extent_count" "#Ext" NUMBER, 0, |row, _| count(row, |group| group.vg.extent_count().0),
        "Number of extents.";
    "vg_free_count" "Free" NUMBER, 0, |row, _| count(row, free), "Number of free extents.";
    "max_lv" "MaxLV" NUMBER, 0, |row, _| count(row, |group| group.vg.max_lv.into()),
        "The most volumes it may have; 0 is no limit.";
    "max_pv" "MaxPV" NUMBER, 0, |row, _| count(row, |group| group.vg.max_pv.into()),
        "The most disks it may have; 0 is no limit.";
    "pv_count" "#PV" NUMBER, 0, |row, _| count(row, |group| group.vg.pv_count() as u64),
        "Number of disks.";
    "vg_missing_pv_count" "#PV Missing" NUMBER, 0,
        |row, _| count(row, |group| group.missing_count() as u64), "Number of missing disks.";
    "lv_count" "#LV" NUMBER, 0, |row, _| count(row, |group| group.visible_count() as u64),
        "Number of volumes that people see.";
    "snap_count" "#SN" NUMBER, 0, |row, _| count(row, |group| group.snapshot_count() as u64),
        "Number of snapshots.";
    "vg_seqno" "Seq" NUMBER, 0, |row, _| count(row, |group| group.vg.seqno.into()),
        "Number of the metadata's version; grows with every change.";
    "vg_tags" "VG Tags" FieldKind::List, 0, tags, "Tags.";
    "vg_profile" "VProfile" TEXT, 0,
        |row, _| optional(row.group.and_then(|group| group.vg.profile.as_deref())),
        "Profile of settings.";
    "vg_mda_count" "#VMda" NUMBER, 0,
        |row, _| Value::number(labels(row).map(|pv| pv.good_areas().count() as u64).sum::<u64>()),
        "Number of metadata areas.";
    "vg_mda_used_count" "#VMdaUse" NUMBER, 0,
        |row, _| Value::number(labels(row).map(|pv| areas_in_use(pv) as u64).sum::<u64>()),
        "Number of metadata areas in use.";
    "vg_mda_free" "VMdaFree" SIZE, 9, area_free, "Room for metadata in the smallest area.";
    "vg_mda_size" "VMdaSize" SIZE, 9, area_size, "Size of the smallest metadata area.";
    "vg_mda_copies" "#VMdaCps" NUMBER, 0, area_copies, "How many metadata areas are to be in use.";
} }

fn text(row: &Row<'_>, read: impl FnOnce(&Group) -> String) -> Value {
    Value::text(row.group.map(read).unwrap_or_default())
}

/// The name; of an unused duplicate the one of its group, and `[unknown]` where a physical volume
/// says that it is used and no group is known to use it.
fn name(row: &Row<'_>, _: &Style) -> Value {
    if row.group.is_some() {
        return text(row, |group| group.vg.name.clone());
    }
    let Some(pv) = row.label() else {
        return Value::text(String::new());
    };
    let lists = |group: &&FoundVg| group.model.pv_by_uuid(&pv.uuid).is_some();
    Value::text(match row.view.scan.groups.iter().find(lists) {
        Some(group) if pv.duplicate == Duplicate::Unchosen => group.name.clone(),
        // As in stock, lines about segments do not say so.
        _ if is_marked_used(pv) && row.pv_segment.is_none() => "[unknown]".to_owned(),
        _ => String::new(),
    })
}

fn count(row: &Row<'_>, read: impl FnOnce(&Group) -> u64) -> Value {
    Value::number(row.group.map_or(0, read))
}

fn sectors(row: &Row<'_>, style: &Style, read: impl FnOnce(&Group) -> u64) -> Value {
    size(style, row.group.map_or(0, read))
}

fn flag(row: &Row<'_>, style: &Style, flag: VgFlag, word: &'static str) -> Value {
    binary(
        style,
        row.group.is_some_and(|group| group.vg.flags.has(flag)),
        word,
    )
}

fn permissions(row: &Row<'_>, _: &Style) -> Value {
    Value::text(match row.group {
        Some(group) if group.vg.is_writable() => "writeable",
        // Stock's group of disks that belong to none reads so.
        Some(_) | None => "read-only",
    })
}

fn autoactivation(row: &Row<'_>, style: &Style) -> Value {
    let set = !row
        .group
        .is_some_and(|group| group.vg.flags.has(VgFlag::NoAutoactivate));
    binary(style, set, "enabled")
}

fn partial(row: &Row<'_>, style: &Style) -> Value {
    binary(
        style,
        row.group.is_some_and(|group| group.missing_count() > 0),
        "partial",
    )
}

/// The lock manager; `none` is the same as no word about it.
fn lock_type(group: &Group) -> Option<&str> {
    group.vg.lock_type.as_deref().filter(|lock| *lock != "none")
}

fn shared(row: &Row<'_>, style: &Style) -> Value {
    binary(style, row.group.and_then(lock_type).is_some(), "shared")
}

fn system_id(row: &Row<'_>, _: &Style) -> Value {
    optional(row.group.and_then(|group| group.vg.system_id.as_deref()))
}

fn free(group: &Group) -> u64 {
    group
        .vg
        .extent_count()
        .0
        .saturating_sub(group.allocated_total())
}

fn tags(row: &Row<'_>, _: &Style) -> Value {
    sorted_list(
        row.group
            .map(|group| group.vg.tags.as_slice())
            .unwrap_or_default(),
    )
}

fn labels<'a>(row: &Row<'a>) -> impl Iterator<Item = &'a FoundPv> {
    let view = row.view;
    let group = row.group;
    let ids = group
        .into_iter()
        .flat_map(|group| group.vg.pvs().map(move |(id, _)| (group, id)));
    ids.filter_map(|(group, id)| Some(view.scan.pv(group.found(id)?)))
}

fn area_free(row: &Row<'_>, style: &Style) -> Value {
    size(
        style,
        labels(row)
            .flat_map(FoundPv::used_areas)
            .map(|area| area.free().0)
            .min()
            .unwrap_or(0),
    )
}

fn area_size(row: &Row<'_>, style: &Style) -> Value {
    size(
        style,
        labels(row)
            .flat_map(FoundPv::used_areas)
            .map(|area| area.span.size.whole_sectors().0)
            .min()
            .unwrap_or(0),
    )
}

fn area_copies(row: &Row<'_>, _: &Style) -> Value {
    match row.group.map(|group| group.vg.metadata_copies.unwrap_or(0)) {
        None | Some(0) => Value::keyed("unmanaged", 0),
        Some(u32::MAX) => Value::keyed("all", u64::from(u32::MAX)),
        Some(copies) => Value::number(copies),
    }
}
