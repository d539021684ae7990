//! The segments of a volume in words, for `lvdisplay -m`.

use lvm2::model::{
    Area, Discards, LvId, Mirror, Part, Raid, RaidFamily, Segment, SegmentType, Striped, ThinPool,
    ZeroNewBlocks,
};

use super::Session;
use super::display::Values;
use crate::args::Error;
use crate::output::report::{Key, Value};
use crate::output::{Group, Row, Style as RowStyle, View, fields};

/// A segment and where it belongs.
#[derive(Clone, Copy)]
struct Place<'a> {
    view: &'a View,
    group: &'a Group,
    lv: LvId,
    segment: &'a Segment,
}

/// Prints the segments of a volume.
pub(super) fn show(
    session: &mut Session,
    view: &View,
    group: &Group,
    lv: LvId,
    values: &Values,
) -> Result<(), Error> {
    session.line("--- Segments ---")?;
    for segment in &group.vg.lv(lv).segments {
        let place = Place {
            view,
            group,
            lv,
            segment,
        };
        let kind = match segment.kind {
            SegmentType::Thin(_)
            | SegmentType::Vdo(_)
            | SegmentType::Zero
            | SegmentType::Error
            | SegmentType::Unknown(_) => "Virtual",
            _ => "Logical",
        };
        let last = segment.end().0.saturating_sub(1);
        session.line(&format!("{kind} extents {} to {last}:", segment.start.0))?;
        session.line(&format!("  Type\t\t{}", segment.type_name()))?;
        if is_monitored(&segment.kind) {
            session.line("  Monitoring\t\t")?;
        }
        if is_described(&segment.kind) {
            describe(session, place, values)?;
            if !matches!(segment.kind, SegmentType::VdoPool(_) | SegmentType::Vdo(_)) {
                session.line(" ")?;
            }
        }
    }
    Ok(session.line(" ")?)
}

/// Whether stock says more than the type.
fn is_described(kind: &SegmentType) -> bool {
    !matches!(
        kind,
        SegmentType::Zero
            | SegmentType::Error
            | SegmentType::Unknown(_)
            | SegmentType::Writecache(_)
            | SegmentType::Integrity(_)
    )
}

/// Whether stock's dmeventd would watch such a segment.
fn is_monitored(kind: &SegmentType) -> bool {
    matches!(
        kind,
        SegmentType::Mirror(_)
            | SegmentType::Raid(_)
            | SegmentType::ThinPool(_)
            | SegmentType::VdoPool(_)
    )
}

fn describe(session: &mut Session, place: Place<'_>, values: &Values) -> Result<(), Error> {
    match &place.segment.kind {
        SegmentType::Striped(striped) => show_striped(session, place, striped, values),
        SegmentType::Mirror(mirror) => show_mirror(session, place, mirror, values),
        SegmentType::Raid(raid) => show_raid(session, place, raid),
        SegmentType::ThinPool(pool) => show_thin_pool(session, place, pool, values),
        SegmentType::Cache(_) | SegmentType::CachePool(_) => show_cache(session, place, values),
        SegmentType::VdoPool(_) => show_vdo_pool(session, place, values),
        SegmentType::Vdo(vdo) => {
            let area = Area::Lv {
                lv: vdo.pool,
                start: vdo.offset,
            };
            show_area(session, place, area, place.segment.length.0, "    ")
        }
        SegmentType::Thin(thin) => Ok(session.line(&format!("  Device ID\t\t{}", thin.device_id))?),
        _ => Ok(()),
    }
}

/// One disk or volume below a segment, and its extents there.
fn show_area(
    session: &mut Session,
    place: Place<'_>,
    area: Area,
    length: u64,
    indent: &str,
) -> Result<(), Error> {
    let (kind, extents, name, start) = match area {
        Area::Pv { pv, start } => (
            "Physical volume",
            "Physical",
            place.view.pv_name(place.group, pv),
            start.0,
        ),
        Area::Lv { lv, start } => (
            "Logical volume",
            "Logical",
            place.group.vg.lv(lv).name(),
            start.0,
        ),
    };
    session.line(&format!("{indent}{kind}\t{name}"))?;
    let last = (start + length).saturating_sub(1);
    Ok(session.line(&format!("{indent}{extents} extents\t{start} to {last}"))?)
}

fn show_striped(
    session: &mut Session,
    place: Place<'_>,
    striped: &Striped,
    values: &Values,
) -> Result<(), Error> {
    let length = place
        .segment
        .area_length()
        .unwrap_or(place.segment.length)
        .0;
    if let [area] = striped.areas[..] {
        return show_area(session, place, area, length, "  ");
    }
    session.line(&format!("  Stripes\t\t{}", striped.areas.len()))?;
    if striped.stripe_size.0 > 0 {
        session.line(&format!(
            "  Stripe size\t\t{}",
            values.size(striped.stripe_size.0)
        ))?;
    }
    for (index, area) in striped.areas.iter().enumerate() {
        session.line(&format!("  Stripe {index}:"))?;
        show_area(session, place, *area, length, "    ")?;
    }
    Ok(())
}

fn show_mirror(
    session: &mut Session,
    place: Place<'_>,
    mirror: &Mirror,
    values: &Values,
) -> Result<(), Error> {
    let length = place.segment.length.0;
    session.line(&format!("  Mirrors\t\t{}", mirror.images.len()))?;
    session.line(&format!("  Mirror size\t\t{length}"))?;
    if let Some(log) = mirror.log {
        session.line(&format!(
            "  Mirror log volume\t{}",
            place.group.vg.lv(log).name()
        ))?;
    }
    if mirror.region_size.0 > 0 {
        let region = values.size(mirror.region_size.0);
        session.line(&format!("  Mirror region size\t{region}"))?;
    }
    for (index, image) in mirror.images.iter().enumerate() {
        match index {
            0 => session.line("  Mirror original:")?,
            1 => session.line("  Mirror destinations:")?,
            _ => {}
        }
        show_area(session, place, *image, length, "    ")?;
    }
    Ok(())
}

fn show_raid(session: &mut Session, place: Place<'_>, raid: &Raid) -> Result<(), Error> {
    let length = match raid.level.family() {
        // Stock shows the volume's extents here, not the images'.
        RaidFamily::Raid10 => place.segment.length.0,
        _ => {
            place
                .segment
                .area_length()
                .unwrap_or(place.segment.length)
                .0
        }
    };
    for (index, image) in raid.images.iter().enumerate() {
        session.line(&format!("  Raid Data LV {index}"))?;
        let area = Area::Lv {
            lv: image.data,
            start: lvm2::Extents(0),
        };
        show_area(session, place, area, length, "    ")?;
    }
    for (index, image) in raid.images.iter().enumerate() {
        if let Some(meta) = image.meta {
            let name = place.group.vg.lv(meta).name();
            session.line(&format!("  Raid Metadata LV {index}\t{name}"))?;
        }
    }
    Ok(())
}

fn show_thin_pool(
    session: &mut Session,
    place: Place<'_>,
    pool: &ThinPool,
    values: &Values,
) -> Result<(), Error> {
    let discards = match pool.discards.unwrap_or(Discards::Passdown) {
        Discards::Ignore => "ignore",
        Discards::NoPassdown => "nopassdown",
        Discards::Passdown => "passdown",
    };
    let uses = place.group.relations.used_by(place.lv).iter();
    let thins = uses.filter(|used| used.part == Part::ThinPool).count();
    let zero = if pool.zero_new_blocks == ZeroNewBlocks::Yes {
        "yes"
    } else {
        "no"
    };
    session.line(&format!(
        "  Chunk size\t\t{}",
        values.size(pool.chunk_size.0)
    ))?;
    session.line(&format!("  Discards\t\t{discards}"))?;
    session.line(&format!("  Thin count\t\t{thins}"))?;
    session.line(&format!("  Transaction ID\t{}", pool.transaction_id))?;
    Ok(session.line(&format!("  Zero new blocks\t{zero}"))?)
}

/// What a report shows of the segment under `field`.
fn reported(place: Place<'_>, field: &str) -> Value {
    let fields = fields::ALL.iter().copied().flatten();
    let field = fields
        .into_iter()
        .find(|known| known.name == field)
        .expect("a field of ours");
    let row = Row::of_group(place.view, place.group).with_lv(place.lv);
    (field.read)(&row, &RowStyle::default())
}

fn show_cache(session: &mut Session, place: Place<'_>, values: &Values) -> Result<(), Error> {
    let chunk = reported(place, "chunk_size").compared_number() / 512;
    session.line(&format!("  Chunk size\t\t{}", values.size(chunk)))?;
    for (label, field) in [
        ("Metadata format\t", "cache_metadata_format"),
        ("Mode\t\t", "cache_mode"),
        ("Policy\t\t", "cache_policy"),
    ] {
        let value = reported(place, field).text;
        if !value.is_empty() {
            session.line(&format!("  {label}{value}"))?;
        }
    }
    if let Key::List(settings) = reported(place, "cache_settings").key {
        for setting in settings {
            session.line(&format!("    Setting\t\t{setting}"))?;
        }
    }
    Ok(())
}

/// How a setting of a VDO pool is shown.
#[derive(Clone, Copy)]
enum Shown {
    Size,
    Number,
    Word,
    YesNo,
}

const VDO_SETTINGS: &[(&str, &str, Shown)] = &[
    ("Header size\t\t", "vdo_header_size", Shown::Size),
    ("Compression\t\t", "vdo_compression", Shown::YesNo),
    ("Deduplication\t", "vdo_deduplication", Shown::YesNo),
    ("Metadata hints\t", "vdo_use_metadata_hints", Shown::YesNo),
    ("Minimum IO size\t", "vdo_minimum_io_size", Shown::Size),
    (
        "Block map cache sz\t",
        "vdo_block_map_cache_size",
        Shown::Size,
    ),
    (
        "Block map era length\t",
        "vdo_block_map_era_length",
        Shown::Number,
    ),
    ("Sparse index\t", "vdo_use_sparse_index", Shown::YesNo),
    ("Index memory size\t", "vdo_index_memory_size", Shown::Size),
    ("Slab size\t\t", "vdo_slab_size", Shown::Size),
    ("# Ack threads\t", "vdo_ack_threads", Shown::Number),
    ("# Bio threads\t", "vdo_bio_threads", Shown::Number),
    ("Bio rotation\t", "vdo_bio_rotation", Shown::Number),
    ("# CPU threads\t", "vdo_cpu_threads", Shown::Number),
    (
        "# Hash zone threads\t",
        "vdo_hash_zone_threads",
        Shown::Number,
    ),
    ("# Logical threads\t", "vdo_logical_threads", Shown::Number),
    (
        "# Physical threads\t",
        "vdo_physical_threads",
        Shown::Number,
    ),
    ("Max discard\t", "vdo_max_discard", Shown::Number),
    ("Write policy\t", "vdo_write_policy", Shown::Word),
];

fn show_vdo_pool(session: &mut Session, place: Place<'_>, values: &Values) -> Result<(), Error> {
    if let Some(extents) = place.segment.extra.number("virtual_extents") {
        let size = values.size(place.group.sectors(lvm2::Extents(extents)));
        session.line(&format!("  Virtual size\t{size}"))?;
    }
    for (label, field, shown) in VDO_SETTINGS {
        let value = reported(place, field);
        let text = match shown {
            Shown::Size => values.size(value.compared_number() / 512),
            Shown::Number | Shown::Word => value.text.into_owned(),
            Shown::YesNo if value.compared_number() == 1 => "yes".to_owned(),
            Shown::YesNo => "no".to_owned(),
        };
        session.line(&format!("  {label}{text}"))?;
    }
    Ok(())
}
