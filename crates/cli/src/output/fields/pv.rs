//! Fields of physical volumes: what the label says, what the group says, runs of extents.

use ashlar::host::DeviceNumber;
use ashlar::scan::{Duplicate, FoundPv};
use lvm2::model::{PvFlag, VgFlag};
use lvm2::ondisk::PvUse;

use super::attr::pv_attr;
use super::catalogue::fields;
use super::constant::{binary, optional, size, sorted_list};
use crate::output::report::{FieldKind, Value};
use crate::output::{Row, Style};

const TEXT: FieldKind = FieldKind::Text;
const NUMBER: FieldKind = FieldKind::Number;
const SIZE: FieldKind = FieldKind::Size;

fields! { LABEL of Label {
    "pv_fmt" "Fmt" TEXT, 0, format, "The format of the metadata.";
    "pv_uuid" "PV UUID" TEXT, 38, uuid, "The UUID.";
    "dev_size" "DevSize" SIZE, 0, device_size, "Size of the device.";
    "pv_name" "PV" TEXT, 10, name, "Name of the device.";
    "pv_major" "Maj" TEXT, 0, major, "Major number of the device.";
    "pv_minor" "Min" TEXT, 0, minor, "Minor number of the device.";
    "pv_mda_free" "PMdaFree" SIZE, 9, area_free, "Room for metadata in its smallest area.";
    "pv_mda_size" "PMdaSize" SIZE, 9, area_size, "Size of its smallest metadata area.";
    "pv_ext_vsn" "PExtVsn" NUMBER, 0, extension, "Version of the header's extension.";
} }

fields! { FIELDS of Pv {
    "pe_start" "1st PE" NUMBER, 7, data_start, "Where the first extent begins on the device.";
    "pv_size" "PSize" SIZE, 0, pv_size, "Size of all extents.";
    "pv_free" "PFree" SIZE, 0, pv_free, "Size of the extents that are free.";
    "pv_used" "Used" SIZE, 0, pv_used, "Size of the extents in use.";
    "pv_attr" "Attr" TEXT, 0, attr, "State, as letters.";
    "pv_allocatable" "Allocatable" FieldKind::Binary(&["allocatable"]), 0, allocatable,
        "Whether new extents may be taken from it.";
    "pv_exported" "Exported" FieldKind::Binary(&["exported"]), 10, exported,
        "Whether its group is exported.";
    "pv_missing" "Missing" FieldKind::Binary(&["missing"]), 10, missing,
        "Whether the device is missing.";
    "pv_pe_count" "PE" NUMBER, 3, extents, "Number of extents.";
    "pv_pe_alloc_count" "Alloc" NUMBER, 0, extents_used, "Number of extents in use.";
    "pv_tags" "PV Tags" FieldKind::List, 0, tags, "Tags.";
    "pv_mda_count" "#PMda" NUMBER, 0, area_count, "Number of metadata areas.";
    "pv_mda_used_count" "#PMdaUse" NUMBER, 0, area_used_count, "Number of metadata areas in use.";
    "pv_ba_start" "BA Start" SIZE, 0, boot_start, "Where room for a boot loader begins.";
    "pv_ba_size" "BA Size" SIZE, 0, boot_size, "Size of the room for a boot loader.";
    "pv_in_use" "PInUse" FieldKind::Binary(&["used", "in use"]), 0, in_use,
        "Whether a volume group uses it.";
    "pv_duplicate" "Duplicate" FieldKind::Binary(&["duplicate"]), 0, duplicate,
        "Whether another device with the same UUID is used instead.";
    "pv_device_id" "DeviceID" TEXT, 0, device_id, "What the device is known by across reboots.";
    "pv_device_id_type" "DeviceIDType" TEXT, 0, device_id_type, "The kind of that name.";
} }

fields! { SEGMENT of PvSegment {
    "pvseg_start" "Start" NUMBER, 0, run_start, "First extent of the run.";
    "pvseg_size" "SSize" NUMBER, 0, run_length, "Number of extents in the run.";
} }

fn format(row: &Row<'_>, _: &Style) -> Value {
    let labelled = row.label().is_some() || row.physical().is_some();
    Value::text(if labelled { "lvm2" } else { "" })
}

fn uuid(row: &Row<'_>, _: &Style) -> Value {
    let uuid = row
        .physical()
        .map(|(_, _, pv)| pv.uuid)
        .or(row.label().map(|pv| pv.uuid));
    Value::text(uuid.map(|uuid| uuid.to_string()).unwrap_or_default())
}

fn device_size(row: &Row<'_>, style: &Style) -> Value {
    size(
        style,
        row.found_device().map_or(0, |device| device.size.0 / 512),
    )
}

fn name(row: &Row<'_>, _: &Style) -> Value {
    match (row.found_device(), row.physical()) {
        (Some(device), _) => Value::text(device.name.clone()),
        (None, Some(_)) => Value::text(row.view.unknown_device),
        (None, None) => Value::text(""),
    }
}

fn major(row: &Row<'_>, _: &Style) -> Value {
    device_number(row, |number| number.major)
}

fn minor(row: &Row<'_>, _: &Style) -> Value {
    device_number(row, |number| number.minor)
}

fn device_number(row: &Row<'_>, read: impl FnOnce(DeviceNumber) -> u32) -> Value {
    let Some(device) = row.found_device() else {
        return Value::text("0");
    };
    match device.number {
        Some(number) => Value::text(read(number).to_string()),
        None => Value::text("-1"),
    }
}

fn area_free(row: &Row<'_>, style: &Style) -> Value {
    let free = row.label().and_then(FoundPv::area_free_min);
    size(style, free.map_or(0, |free| free.0))
}

fn area_size(row: &Row<'_>, style: &Style) -> Value {
    let size_min = row.label().and_then(FoundPv::area_size_min);
    size(style, size_min.map_or(0, |bytes| bytes.0 / 512))
}

fn extension(row: &Row<'_>, _: &Style) -> Value {
    match row.label() {
        Some(pv) => Value::number(pv.extension_version()),
        None => Value::no_number(),
    }
}

fn data_start(row: &Row<'_>, style: &Style) -> Value {
    let sectors = match (row.physical(), row.label()) {
        (Some((_, _, pv)), _) => pv.pe_start.0,
        (None, Some(label)) => label
            .header
            .data_areas
            .first()
            .map_or(0, |area| area.offset.0 / 512),
        (None, None) => 0,
    };
    size(style, sectors)
}

/// Sectors of all extents, of the free ones, of those in use. A physical volume in no group is
/// as large as its label says and all free, unless it says that it is used; of an unused duplicate
/// nothing counts.
pub(super) fn sizes(row: &Row<'_>) -> (u64, u64, u64) {
    if let Some((group, pv, model)) = row.physical() {
        let used = group.allocated(pv);
        let free = model.pe_count.0.saturating_sub(used);
        let sectors = |extents| group.sectors(lvm2::Extents(extents));
        (sectors(model.pe_count.0), sectors(free), sectors(used))
    } else {
        let device = row.found_device().map_or(0, |device| device.size.0 / 512);
        // A label of old may say 0.
        let said = row.label().map(|pv| pv.header.device_size.0 / 512);
        let sectors = said.filter(|sectors| *sectors > 0).unwrap_or(device);
        match row.label() {
            None => (sectors, 0, 0),
            Some(pv) if pv.duplicate == Duplicate::Unchosen => (0, 0, 0),
            Some(pv) if is_marked_used(pv) => (sectors, 0, 0),
            Some(_) => (sectors, sectors, 0),
        }
    }
}

fn pv_size(row: &Row<'_>, style: &Style) -> Value {
    let all = if row.label().is_none() && row.physical().is_none() {
        0
    } else {
        sizes(row).0
    };
    size(style, all)
}

fn pv_free(row: &Row<'_>, style: &Style) -> Value {
    size(style, sizes(row).1)
}

fn pv_used(row: &Row<'_>, style: &Style) -> Value {
    size(style, sizes(row).2)
}

fn attr(row: &Row<'_>, _: &Style) -> Value {
    Value::text(pv_attr(row))
}

fn allocatable(row: &Row<'_>, style: &Style) -> Value {
    let set = row
        .physical()
        .is_some_and(|(_, _, pv)| pv.flags.has(PvFlag::Allocatable));
    binary(style, set, "allocatable")
}

fn exported(row: &Row<'_>, style: &Style) -> Value {
    let set = row
        .physical()
        .is_some_and(|(group, _, _)| group.vg.flags.has(VgFlag::Exported));
    binary(style, set, "exported")
}

fn missing(row: &Row<'_>, style: &Style) -> Value {
    let set = row
        .physical()
        .is_some_and(|(group, pv, _)| group.is_missing(pv));
    binary(style, set, "missing")
}

fn extents(row: &Row<'_>, _: &Style) -> Value {
    Value::number(row.physical().map_or(0, |(_, _, pv)| pv.pe_count.0))
}

fn extents_used(row: &Row<'_>, _: &Style) -> Value {
    Value::number(
        row.physical()
            .map_or(0, |(group, pv, _)| group.allocated(pv)),
    )
}

fn tags(row: &Row<'_>, _: &Style) -> Value {
    sorted_list(
        row.physical()
            .map(|(_, _, pv)| pv.tags.as_slice())
            .unwrap_or_default(),
    )
}

fn area_count(row: &Row<'_>, _: &Style) -> Value {
    Value::number(row.label().map_or(0, |pv| pv.areas.len() as u64))
}

/// How many metadata areas of a physical volume are written to.
pub(super) fn areas_in_use(pv: &FoundPv) -> usize {
    pv.used_areas().count()
}

fn area_used_count(row: &Row<'_>, _: &Style) -> Value {
    Value::number(row.label().map_or(0, |pv| areas_in_use(pv) as u64))
}

fn boot_start(row: &Row<'_>, style: &Style) -> Value {
    let area = row.label().and_then(|pv| pv.header.bootloader_area());
    size(style, area.map_or(0, |area| area.offset.0 / 512))
}

fn boot_size(row: &Row<'_>, style: &Style) -> Value {
    let area = row.label().and_then(|pv| pv.header.bootloader_area());
    size(style, area.map_or(0, |area| area.size.0 / 512))
}

/// Whether the header says that a group uses it.
pub(super) fn is_marked_used(pv: &FoundPv) -> bool {
    pv.header.usage() == PvUse::Used
}

fn in_use(row: &Row<'_>, style: &Style) -> Value {
    let set = row.physical().is_some() || row.label().is_some_and(is_marked_used);
    binary(style, set, "used")
}

fn duplicate(row: &Row<'_>, style: &Style) -> Value {
    let set = row
        .label()
        .is_some_and(|pv| pv.duplicate == Duplicate::Unchosen);
    binary(style, set, "duplicate")
}

fn device_id(row: &Row<'_>, _: &Style) -> Value {
    optional(
        row.physical()
            .and_then(|(_, _, pv)| pv.device_id.as_deref()),
    )
}

fn device_id_type(row: &Row<'_>, _: &Style) -> Value {
    optional(
        row.physical()
            .and_then(|(_, _, pv)| pv.device_id_type.as_deref()),
    )
}

fn run_start(row: &Row<'_>, _: &Style) -> Value {
    Value::number(row.pv_segment.map_or(0, |run| run.start))
}

fn run_length(row: &Row<'_>, _: &Style) -> Value {
    Value::number(row.pv_segment.map_or(0, |run| run.length))
}
