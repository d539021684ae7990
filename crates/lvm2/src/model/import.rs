//! From a text's tree to a volume group.
//!
//! Two passes: the first learns the names of all volumes, the second reads what they are made of,
//! since a volume may refer to one that stands further down.
//!
//! Refused is what the model cannot represent: missing or impossible values, references to
//! volumes that are not there, names that could not be paths, two volumes of one name. Anything
//! else is accepted, and [`check`](super::check()) says whether it makes sense; a command that
//! shows a damaged group is of more use than one that refuses it.
//!
//! Time and space are in proportion to the text.

mod fields;
mod segment;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use fields::Fields;

use super::extras::{Extras, known_in, name_of};
use super::header::{CONTENTS, Header, VERSION};
use super::historical::HistoricalVolume;
use super::ids::PvId;
use super::lv::{AllocationPolicy, LogicalVolume, ReadAhead};
use super::name::{NameOf, validate};
use super::pv::PhysicalVolume;
use super::vg::VolumeGroup;
use crate::text::{Node, Section, Value};
use crate::{Error, Extents, Kind, Result, Sectors};

pub(super) const HEADER_KEYS: &[&str] = &[
    "contents",
    "version",
    "description",
    "creation_host",
    "creation_time",
];

pub(super) const VG_KEYS: &[&str] = &[
    "id",
    "seqno",
    "format",
    "status",
    "flags",
    "tags",
    "system_id",
    "lock_type",
    "lock_args",
    "extent_size",
    "max_lv",
    "max_pv",
    "allocation_policy",
    "profile",
    "metadata_copies",
    "physical_volumes",
    "logical_volumes",
    "historical_logical_volumes",
];

const PV_KEYS: &[&str] = &[
    "id",
    "device",
    "device_id_type",
    "device_id",
    "status",
    "flags",
    "tags",
    "dev_size",
    "pe_start",
    "pe_count",
    "ba_start",
    "ba_size",
];

const LV_KEYS: &[&str] = &[
    "id",
    "status",
    "flags",
    "tags",
    "creation_time",
    "creation_host",
    "lock_args",
    "allocation_policy",
    "profile",
    "read_ahead",
    "major",
    "minor",
    "segment_count",
];

const HISTORICAL_KEYS: &[&str] = &[
    "id",
    "name",
    "creation_time",
    "removal_time",
    "origin",
    "descendants",
];

/// Reads the volume group of a text. `root` is what the parser gives.
pub fn from_text(root: &Section) -> Result<VolumeGroup> {
    let header = header(root)?;
    let section = root
        .sections()
        .next()
        .ok_or_else(|| Error::new(Kind::Model, "the text has no section of a volume group"))?;
    validate(&section.name, NameOf::VolumeGroup)?;
    let mut vg = volume_group(section)
        .map_err(|error| error.within(format_args!("volume group {}", section.name)))?;
    vg.check();
    vg.header = header;
    vg.header.has_invalid_times = has_invalid_times(root, section);
    Ok(vg)
}

/// Whether a time of creation is given that cannot be.
fn has_invalid_times(root: &Section, group: &Section) -> bool {
    let lists = ["logical_volumes", "historical_logical_volumes"];
    let lists = lists.iter().filter_map(|name| group.section(name));
    let volumes = lists.flat_map(Section::sections);
    let is_invalid = |section: &Section| {
        let time = section.value("creation_time");
        matches!(time, Some(Value::Integer(number)) if *number < 0)
    };
    is_invalid(root) || volumes.into_iter().any(is_invalid)
}

fn header(root: &Section) -> Result<Header> {
    let fields = Fields::new(root);
    if let Some(found) = fields
        .optional_str("contents")?
        .filter(|found| *found != CONTENTS)
    {
        let context = format!("the text's contents are {found:?}, not {CONTENTS:?}");
        return Err(Error::new(Kind::Model, context));
    }
    if let Some(found) = fields
        .optional_u64("version")?
        .filter(|found| *found != VERSION)
    {
        let context = format!("the text has format version {found}, and {VERSION} is known");
        return Err(Error::new(Kind::Model, context));
    }
    // A second section could be taken for the volume group when it is read again.
    let nodes = root
        .nodes
        .iter()
        .filter(|node| matches!(node, Node::Value { .. }));
    let extra = Extras::collect(nodes, |node| known_in(HEADER_KEYS, node));
    Ok(Header {
        generator: None,
        description: fields.owned("description")?,
        creation_host: fields.owned("creation_host")?,
        host_detail: None,
        creation_time: fields.time("creation_time")?,
        has_invalid_times: false,
        extra,
    })
}

fn volume_group(section: &Section) -> Result<VolumeGroup> {
    let fields = Fields::new(section);
    let extent_size = Sectors(u64::from(fields.u32("extent_size")?));
    let mut vg = VolumeGroup::new(section.name.as_ref(), fields.uuid("id")?, extent_size);
    vg.seqno = fields.u32("seqno")?;
    vg.format = fields.owned("format")?;
    vg.flags = fields.flags()?;
    vg.tags = fields.strings("tags")?;
    vg.system_id = fields.owned("system_id")?;
    vg.lock_type = fields.owned("lock_type")?;
    vg.lock_args = fields.owned("lock_args")?;
    vg.max_lv = fields.u32("max_lv")?;
    vg.max_pv = fields.u32("max_pv")?;
    vg.allocation = policy(fields)?.unwrap_or(AllocationPolicy::Normal);
    vg.profile = fields.owned("profile")?;
    vg.metadata_copies = fields.optional_u32("metadata_copies")?;
    vg.extra = Extras::collect(&section.nodes, |node| known_in(VG_KEYS, node));

    let pvs = fields.section("physical_volumes")?;
    let mut pv_keys = BTreeMap::new();
    for section in pvs.sections() {
        let pv = physical_volume(section)
            .map_err(|error| error.within(format_args!("physical volume {}", section.name)))?;
        if pv_keys
            .insert(section.name.as_ref(), vg.add_pv(pv))
            .is_some()
        {
            let context = format!("there are two physical volumes {}", section.name);
            return Err(Error::new(Kind::Model, context));
        }
    }
    if let Some(lvs) = section.section("logical_volumes") {
        logical_volumes(&mut vg, lvs, &pv_keys)?;
    }
    if let Some(gone) = section.section("historical_logical_volumes") {
        for section in gone.sections() {
            let volume = historical(section).map_err(|error| {
                error.within(format_args!("historical logical volume {}", section.name))
            })?;
            vg.historical.push(volume);
        }
    }
    Ok(vg)
}

fn physical_volume(section: &Section) -> Result<PhysicalVolume> {
    let fields = Fields::new(section);
    Ok(PhysicalVolume {
        key: section.name.clone().into_owned(),
        uuid: fields.uuid("id")?,
        device: fields.owned("device")?,
        device_id_type: fields.owned("device_id_type")?,
        device_id: fields.owned("device_id")?,
        flags: fields.flags()?,
        tags: fields.strings("tags")?,
        dev_size: fields.optional_u64("dev_size")?.map(Sectors),
        pe_start: Sectors(fields.u64("pe_start")?),
        pe_count: Extents(u64::from(fields.u32("pe_count")?)),
        ba_start: fields.optional_u64("ba_start")?.map(Sectors),
        ba_size: fields.optional_u64("ba_size")?.map(Sectors),
        extra: Extras::collect(&section.nodes, |node| known_in(PV_KEYS, node)),
    })
}

fn logical_volumes(
    vg: &mut VolumeGroup,
    lvs: &Section,
    pv_keys: &BTreeMap<&str, PvId>,
) -> Result<()> {
    let mut ids = Vec::new();
    for section in lvs.sections() {
        validate(&section.name, NameOf::LogicalVolume)?;
        let lv = logical_volume(section)
            .map_err(|error| error.within(format_args!("logical volume {}", section.name)))?;
        ids.push(vg.add_lv(lv)?);
    }
    assert_eq!(ids.len(), vg.lv_count(), "each section became a volume");
    for (section, id) in lvs.sections().zip(ids) {
        let names = segment::Names { pvs: pv_keys, vg };
        let segments = segments(section, &names)
            .map_err(|error| error.within(format_args!("logical volume {}", section.name)))?;
        vg.lv_mut(id).segments = segments;
    }
    Ok(())
}

/// Everything about a logical volume but its segments.
fn logical_volume(section: &Section) -> Result<LogicalVolume> {
    let fields = Fields::new(section);
    let mut lv = LogicalVolume::new(section.name.as_ref(), fields.uuid("id")?);
    lv.flags = fields.flags()?;
    lv.tags = fields.strings("tags")?;
    lv.creation_time = fields.time("creation_time")?;
    lv.creation_host = fields.owned("creation_host")?;
    lv.lock_args = fields.owned("lock_args")?;
    lv.allocation = policy(fields)?;
    lv.profile = fields.owned("profile")?;
    lv.read_ahead = read_ahead(fields)?;
    lv.major = fields.optional_i64("major")?;
    lv.minor = fields.optional_i64("minor")?;
    lv.extra = Extras::collect(&section.nodes, |node| {
        if is_segment(node) {
            Some("segment")
        } else {
            known_in(LV_KEYS, node)
        }
    });
    Ok(lv)
}

fn segments(section: &Section, names: &segment::Names<'_>) -> Result<Vec<super::Segment>> {
    let promised = Fields::new(section).u64("segment_count")?;
    let mut segments = Vec::new();
    for node in section.nodes.iter().filter(|node| is_segment(node)) {
        let Node::Section(section) = node else {
            continue;
        };
        let segment = segment::segment(section, names)
            .map_err(|error| error.within(format_args!("{}", section.name)))?;
        segments.push(segment);
    }
    if segments.len() as u64 != promised {
        let context = format!("segment_count is {promised}, and {} follow", segments.len());
        return Err(Error::new(Kind::Model, context));
    }
    segments.sort_by_key(|segment| segment.start);
    debug_assert!(
        segments.is_sorted_by_key(|segment| segment.start),
        "in order"
    );
    Ok(segments)
}

fn is_segment(node: &Node) -> bool {
    matches!(node, Node::Section(_)) && name_of(node).starts_with("segment")
}

fn historical(section: &Section) -> Result<HistoricalVolume> {
    let fields = Fields::new(section);
    Ok(HistoricalVolume {
        key: section.name.clone().into_owned(),
        uuid: fields.uuid("id")?,
        name: fields.owned("name")?,
        creation_time: fields.time("creation_time")?,
        removal_time: fields.optional_u64("removal_time")?,
        origin: fields.owned("origin")?,
        descendants: fields.strings("descendants")?,
        extra: Extras::collect(&section.nodes, |node| known_in(HISTORICAL_KEYS, node)),
    })
}

/// A policy that we do not know is ignored, as stock does: it decides nothing that exists.
fn policy(fields: Fields<'_>) -> Result<Option<AllocationPolicy>> {
    Ok(fields
        .optional_str("allocation_policy")?
        .and_then(AllocationPolicy::from_name))
}

fn read_ahead(fields: Fields<'_>) -> Result<ReadAhead> {
    Ok(match fields.optional_i64("read_ahead")? {
        None | Some(0) => ReadAhead::Auto,
        Some(-1) => ReadAhead::None,
        Some(sectors) => ReadAhead::Sectors(
            u32::try_from(sectors)
                .map_err(|_| Error::new(Kind::Model, format!("read_ahead cannot be {sectors}")))?,
        ),
    })
}

/// Reads the comments of a text's header, which the parser drops: who wrote it, on what host.
///
/// `text` is the whole text. Only for showing: nothing depends on a comment.
pub fn read_header_comments(header: &mut Header, text: &str) {
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# Generated by ") {
            // Behind the program's name stands the time, which has four colons at most in it.
            header.generator = rest.split_once(": ").map(|(program, _)| program.to_owned());
        } else if line.starts_with("creation_host = ") {
            header.host_detail = line.split_once("\t# ").map(|(_, detail)| detail.to_owned());
        }
    }
}

/// A value that is one string, as an array of one.
fn as_slice<'a>(value: &'a Value<'a>) -> &'a [Value<'a>] {
    match value {
        Value::Array(items) => items,
        single => core::slice::from_ref(single),
    }
}

#[cfg(test)]
mod tests;
