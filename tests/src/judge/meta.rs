//! What stands on disks, as fields: labels, headers of areas, and each text value by value.
//!
//! The project's own decoders read it. What is made anew each time (identities that were not there
//! before, times, hosts, descriptions) is made equal.

use std::collections::{BTreeMap, BTreeSet};

use lvm2::ondisk::{AREA_HEADER_SIZE, AreaHeader, LABEL_SCAN_SIZE, Label, Ring, checksum};
use lvm2::text::{Node, Section, Value, parse, until_nul};
use lvm2::{Bytes, ondisk::Span};

use super::pages::{PAGE, Pages};
use super::values::Names;

/// Values by the paths to them.
pub(super) type Fields = BTreeMap<String, String>;

/// Where data begins at the earliest, in pages.
const DATA: u64 = (1 << 20) / PAGE as u64;
/// What is other each time.
const MADE: &[&str] = &["creation_time", "creation_host", "description"];

/// A text on a disk.
pub(super) struct Text {
    disk: usize,
    area: usize,
    header: AreaHeader,
    pub(super) bytes: Vec<u8>,
}

impl Text {
    /// Lets other bytes be the text, at the same place; its header follows.
    pub(super) fn replace(&self, disks: &mut [Pages], bytes: &[u8]) {
        let mut header = self.header;
        let text = header.committed.as_mut().expect("there is a text");
        text.size = Bytes(bytes.len() as u64);
        text.checksum = checksum(bytes);
        let (start, offset) = (header.start.0, text.offset.0);
        disks[self.disk].put(start + offset, bytes);
        disks[self.disk].put(start, &header.encode());
    }

    pub(super) fn disk(&self) -> usize {
        self.disk
    }

    /// Its first byte, from the device's start.
    pub(super) fn start(&self) -> u64 {
        self.header.start.0
            + self
                .header
                .committed
                .as_ref()
                .expect("there is a text")
                .offset
                .0
    }
}

/// The texts that count on disks of `size` bytes.
pub(super) fn texts(disks: &[Pages], size: u64) -> Vec<Text> {
    let mut texts = Vec::new();
    for (disk, pages) in disks.iter().enumerate() {
        let label = Label::scan(&pages.bytes(0, LABEL_SCAN_SIZE)).label;
        let areas = label
            .as_ref()
            .map(Label::metadata_areas)
            .unwrap_or_default();
        for (area, span) in areas.iter().enumerate() {
            texts.extend(text(pages, *span, size).map(|(header, bytes)| Text {
                disk,
                area,
                header,
                bytes,
            }));
        }
    }
    texts
}

fn text(pages: &Pages, span: Span, size: u64) -> Option<(AreaHeader, Vec<u8>)> {
    let sector = pages.bytes(span.offset.0, AREA_HEADER_SIZE);
    let header = AreaHeader::decode(&sector, span, Bytes(size)).ok()?;
    let committed = header.committed.as_ref()?;
    let spans = Ring::new(&header).spans(committed).ok()?;
    let mut bytes = Vec::new();
    for span in spans {
        let at = header.start.0 + span.offset.0;
        bytes.extend(pages.bytes(at, span.size.0 as usize));
    }
    Some((header, bytes))
}

/// All that stands on disks of `size` bytes; `known` are identities that are not made equal.
pub(super) fn fields(disks: &[Pages], size: u64, known: &BTreeSet<String>) -> Fields {
    let mut fields = Fields::new();
    for (disk, pages) in disks.iter().enumerate() {
        let Some(label) = Label::scan(&pages.bytes(0, LABEL_SCAN_SIZE)).label else {
            let page = pages.bytes(0, PAGE);
            fields.insert(format!("disk{disk}/head"), format!("{:x}", checksum(&page)));
            continue;
        };
        let pv = &label.pv;
        let id = identity(&pv.uuid.to_string(), known);
        let flags = pv
            .extension
            .as_ref()
            .map(|extension| (extension.version, extension.flags));
        let spans = |spans: &[Span]| {
            let shown = spans
                .iter()
                .map(|span| format!("{}+{}", span.offset.0, span.size.0));
            shown.collect::<Vec<_>>().join(" ")
        };
        for (name, value) in [
            ("sector", label.sector.to_string()),
            ("id", id),
            ("device_size", pv.device_size.0.to_string()),
            ("data", spans(&pv.data_areas)),
            ("areas", spans(&pv.metadata_areas)),
            ("flags", format!("{flags:?}")),
            ("boot", format!("{:?}", pv.bootloader_area())),
            ("pages", data(pages, &pv.metadata_areas)),
        ] {
            fields.insert(format!("disk{disk}/{name}"), value);
        }
        for (area, span) in pv.metadata_areas.iter().enumerate() {
            let sector = pages.bytes(span.offset.0, AREA_HEADER_SIZE);
            let header = AreaHeader::decode(&sector, *span, Bytes(size));
            let usage = header.map_or("damaged".to_owned(), |header| format!("{:?}", header.usage));
            fields.insert(format!("disk{disk}/area{area}"), usage);
        }
    }
    for text in texts(disks, size) {
        let path = format!("disk{}/area{}", text.disk, text.area);
        match parse(until_nul(&text.bytes)) {
            Ok(root) => flatten(&path, &root, known, &mut fields),
            Err(_) => drop(fields.insert(format!("{path}/text"), "no text".to_owned())),
        }
    }
    fields
}

/// The values of a text in a file, if it is one.
pub(super) fn file_fields(path: &str, text: &str, known: &BTreeSet<String>, fields: &mut Fields) {
    if let Ok(root) = parse(text.as_bytes()) {
        flatten(path, &root, known, fields);
    }
}

/// What the extents hold: pages and their checksums.
fn data(pages: &Pages, areas: &[Span]) -> String {
    let is_area = |number: u64| {
        let at = number * PAGE as u64;
        areas
            .iter()
            .any(|span| (span.offset.0..span.offset.0 + span.size.0).contains(&at))
    };
    let held = pages.from(DATA).filter(|(number, _)| !is_area(*number));
    let held = held.map(|(number, page)| format!("{number}:{:x}", checksum(page)));
    held.collect::<Vec<_>>().join(" ")
}

fn flatten(path: &str, section: &Section<'_>, known: &BTreeSet<String>, fields: &mut Fields) {
    for node in &section.nodes {
        match node {
            Node::Section(inner) => {
                flatten(&format!("{path}/{}", inner.name), inner, known, fields);
            }
            Node::Value { name, .. } if MADE.contains(&name.as_ref()) => {}
            Node::Value { name, value } => {
                let value = identity(&shown(value), known);
                fields.insert(format!("{path}/{name}"), value);
            }
        }
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Float(text) | Value::String(text) => text.to_string(),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(shown).collect();
            format!("[{}]", values.join(", "))
        }
    }
}

fn identity(value: &str, known: &BTreeSet<String>) -> String {
    let is_new = super::neutral::is_identity(value) && !known.contains(value);
    if is_new {
        "ID".to_owned()
    } else {
        value.to_owned()
    }
}

/// What lines may name of what stands on disks.
pub(super) fn names(disks: &[Pages], size: u64, names: &mut Names) {
    let add = |list: &mut Vec<String>, name: &str| {
        if !list.iter().any(|known| known == name) {
            list.push(name.to_owned());
        }
    };
    for text in texts(disks, size) {
        let Ok(root) = parse(until_nul(&text.bytes)) else {
            continue;
        };
        for group in root.sections() {
            add(&mut names.groups, &group.name);
            let volumes = group.section("logical_volumes");
            let volumes = volumes.map(Section::sections).into_iter().flatten();
            let parts = group.section("physical_volumes");
            let parts = parts.map(Section::sections).into_iter().flatten();
            let mut all = vec![group];
            for volume in volumes {
                add(
                    &mut names.volumes,
                    &format!("{}/{}", group.name, volume.name),
                );
                all.push(volume);
            }
            for object in all.into_iter().chain(parts) {
                if let Some(Value::String(id)) = object.value("id") {
                    add(&mut names.ids, id);
                }
                if let Some(Value::Array(tags)) = object.value("tags") {
                    for tag in tags {
                        add(&mut names.tags, &shown(tag));
                    }
                }
            }
        }
    }
    for pages in disks {
        if let Some(label) = Label::scan(&pages.bytes(0, LABEL_SCAN_SIZE)).label {
            add(&mut names.ids, &label.pv.uuid.to_string());
        }
    }
}
