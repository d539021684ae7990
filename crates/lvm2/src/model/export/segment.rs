//! A segment on its way into the text.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::object::{Hint, Object, number, text};
use super::size::describe_size;
use super::{Context, write_tags};
use crate::model::flags::Flag;
use crate::model::raid_level::{RaidFamily, RaidLevel};
use crate::model::segment::{
    Area, Discards, Mirror, Raid, Segment, SegmentType, Snapshot, SnapshotState, Striped, Thin,
    ThinMessage, ThinPool, ZeroNewBlocks,
};
use crate::text::{Node, Printer, Value};
use crate::{Extents, Sectors};

const SECTORS_PER_MIB: u64 = 2048;

pub(super) fn segment(
    printer: &mut Printer,
    context: &Context<'_>,
    count: usize,
    segment: &Segment,
) {
    printer.open(&format!("segment{count}"));
    let hint = |node: &Node<'_>| hint(context, &segment.kind, node);
    let mut object = Object::begin_with_hints(printer, &segment.extra, &hint);
    object.value("start_extent", &number(segment.start.0));
    let length = context.describe(segment.length);
    object.hinted("extent_count", &number(segment.length.0), &length);
    object.printer.blank();
    if segment.reshape != Extents::ZERO {
        let length = context.describe(segment.reshape);
        object.hinted("reshape_count", &number(segment.reshape.0), &length);
    }
    object.value("type", &text(&type_name(segment)));
    write_tags(&mut object, &segment.tags);
    fields(&mut object, context, &segment.kind);
    object.end();
    printer.close();
}

/// The whole `type`, with its suffixes.
pub(super) fn type_name(segment: &Segment) -> String {
    let mut name = segment.kind.name().to_owned();
    for flag in &segment.type_flags {
        name.push('+');
        name.push_str(flag.name());
    }
    name
}

fn fields(object: &mut Object<'_, '_>, context: &Context<'_>, kind: &SegmentType) {
    let lv = |id| text(context.lv_name(id));
    match kind {
        SegmentType::Zero | SegmentType::Error => {}
        SegmentType::Striped(fields) => striped(object, context, fields),
        SegmentType::Mirror(fields) => mirror(object, context, fields),
        SegmentType::Raid(fields) => raid(object, context, fields),
        SegmentType::Snapshot(fields) => snapshot(object, context, fields),
        SegmentType::ThinPool(fields) => thin_pool(object, context, fields),
        SegmentType::Thin(fields) => thin(object, context, fields),
        SegmentType::CachePool(fields) => {
            object.value("data", &lv(fields.data));
            object.value("metadata", &lv(fields.metadata));
        }
        SegmentType::Cache(fields) => {
            object.value("cache_pool", &lv(fields.pool));
            object.value("origin", &lv(fields.origin));
        }
        SegmentType::Writecache(fields) => {
            object.value("writecache", &lv(fields.cache));
            object.value("origin", &lv(fields.origin));
        }
        SegmentType::Integrity(fields) => {
            object.value("origin", &lv(fields.origin));
            if let Some(metadata) = fields.metadata {
                object.value("meta_dev", &lv(metadata));
            }
        }
        SegmentType::VdoPool(fields) => object.value("data", &lv(fields.data)),
        SegmentType::Vdo(fields) => {
            object.value("vdo_pool", &lv(fields.pool));
            object.value("vdo_offset", &number(fields.offset.0));
        }
        SegmentType::Unknown(fields) => {
            for node in &fields.nodes {
                object.printer.carried(node);
            }
        }
    }
}

/// Pairs of a name and the first extent there.
fn areas<'a>(context: &'a Context<'_>, areas: &[Area]) -> Vec<Value<'a>> {
    let pair = |area: &Area| match *area {
        Area::Pv { pv, start } => [text(context.pv_name(pv)), number(start.0)],
        Area::Lv { lv, start } => [text(context.lv_name(lv)), number(start.0)],
    };
    areas.iter().flat_map(pair).collect()
}

fn striped(object: &mut Object<'_, '_>, context: &Context<'_>, fields: &Striped) {
    let count = number(fields.areas.len() as u64);
    if fields.areas.len() == 1 {
        object.hinted("stripe_count", &count, "linear");
    } else {
        object.value("stripe_count", &count);
        let size = fields.stripe_size;
        object.hinted("stripe_size", &number(size.0), &describe_size(size));
    }
    object.rows("stripes", &areas(context, &fields.areas), 2);
}

fn mirror(object: &mut Object<'_, '_>, context: &Context<'_>, fields: &Mirror) {
    object.value("mirror_count", &number(fields.images.len() as u64));
    if let Some(moved) = fields.extents_moved {
        object.hinted("extents_moved", &number(moved.0), &context.describe(moved));
    }
    object.optional_text("mirror_log", fields.log.map(|log| context.lv_name(log)));
    optional_sectors(object, "region_size", fields.region_size);
    object.rows("mirrors", &areas(context, &fields.images), 2);
}

fn raid(object: &mut Object<'_, '_>, context: &Context<'_>, fields: &Raid) {
    let count = number(fields.images.len() as u64);
    if fields.level.family() == RaidFamily::Raid0 {
        object.value("stripe_count", &count);
    } else {
        object.value("device_count", &count);
    }
    optional_number(object, "data_copies", fields.data_copies);
    optional_sectors(object, "region_size", fields.region_size);
    optional_sectors(object, "stripe_size", fields.stripe_size);
    optional_number(object, "writebehind", fields.write_behind);
    optional_number(object, "min_recovery_rate", fields.min_recovery_rate);
    optional_number(object, "max_recovery_rate", fields.max_recovery_rate);
    if let Some(offset) = fields.data_offset {
        object.value("data_offset", &number(offset.0));
    }
    let names: Vec<Value> = fields
        .images
        .iter()
        .flat_map(|image| image.meta.into_iter().chain([image.data]))
        .map(|id| text(context.lv_name(id)))
        .collect();
    let key = if fields.level == RaidLevel::Raid0 {
        "raid0_lvs"
    } else {
        "raids"
    };
    let per_row = if fields.images.iter().all(|image| image.meta.is_some()) {
        2
    } else {
        1
    };
    object.rows(key, &names, per_row);
}

fn snapshot(object: &mut Object<'_, '_>, context: &Context<'_>, fields: &Snapshot) {
    object.value("chunk_size", &number(fields.chunk_size.0));
    object.value("origin", &text(context.lv_name(fields.origin)));
    let key = match fields.state {
        SnapshotState::Apart => "cow_store",
        SnapshotState::Merging => "merging_store",
    };
    object.value(key, &text(context.lv_name(fields.cow)));
}

fn thin_pool(object: &mut Object<'_, '_>, context: &Context<'_>, fields: &ThinPool) {
    object.value("metadata", &text(context.lv_name(fields.metadata)));
    object.value("pool", &text(context.lv_name(fields.data)));
    object.value("transaction_id", &number(fields.transaction_id));
    let size = fields.chunk_size;
    object.hinted("chunk_size", &number(size.0), &describe_size(size));
    let discards = fields.discards.map(|discards| match discards {
        Discards::Ignore => "ignore",
        Discards::NoPassdown => "nopassdown",
        Discards::Passdown => "passdown",
    });
    object.optional_text("discards", discards);
    if fields.zero_new_blocks == ZeroNewBlocks::Yes {
        object.value("zero_new_blocks", &number(1_u32));
    }
    if !fields.messages.is_empty() {
        object.printer.blank();
    }
    for (index, message) in fields.messages.iter().enumerate() {
        object.printer.open(&format!("message{}", index + 1));
        match message {
            ThinMessage::Create(lv) => {
                object.printer.value("create", &text(context.lv_name(*lv)));
            }
            ThinMessage::Delete(id) => object.printer.value("delete", &number(*id)),
            ThinMessage::Unknown(nodes) => {
                for node in nodes {
                    object.printer.node(node);
                }
            }
        }
        object.printer.close();
    }
    object.done("message");
}

fn thin(object: &mut Object<'_, '_>, context: &Context<'_>, fields: &Thin) {
    let name = |id| context.lv_name(id);
    object.value("thin_pool", &text(name(fields.pool)));
    object.value("transaction_id", &number(fields.transaction_id));
    object.value("device_id", &number(fields.device_id));
    object.optional_text("external_origin", fields.external_origin.map(name));
    object.optional_text("origin", fields.origin.map(name));
    object.optional_text("merge", fields.merge.map(name));
}

fn optional_sectors(object: &mut Object<'_, '_>, name: &str, size: Sectors) {
    if size != Sectors::ZERO {
        object.value(name, &number(size.0));
    }
}

fn optional_number(object: &mut Object<'_, '_>, name: &str, value: Option<u32>) {
    if let Some(value) = value {
        object.value(name, &number(value));
    }
}

/// How a setting that is only carried is written.
fn hint(context: &Context<'_>, kind: &SegmentType, node: &Node<'_>) -> Hint {
    let (
        SegmentType::VdoPool(_),
        Node::Value {
            name,
            value: Value::Integer(value),
        },
    ) = (kind, node)
    else {
        return Hint::None;
    };
    let value = u64::try_from(*value).unwrap_or(0);
    match name.as_ref() {
        "header_size" => Hint::Size(describe_size(Sectors(value))),
        "virtual_extents" => Hint::SizeAndBlank(context.describe(Extents(value))),
        name if name.ends_with("_mb") => Hint::Size(describe_size(Sectors(
            value.saturating_mul(SECTORS_PER_MIB),
        ))),
        _ => Hint::None,
    }
}
