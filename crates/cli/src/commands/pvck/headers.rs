//! The headers of a device as they stand there, value by value, whatever they say.
//!
//! The decoders of `lvm2` refuse what is damaged; this prints it. Lists are followed no further
//! than the sector that they must fit into.

use ashlar::scan::Source;
use lvm2::Bytes;
use lvm2::ondisk::{AreaHeader, AreaUse, RawLocation, Span, checksum};

use super::blank_header;

const SECTOR: usize = 512;
const MAGIC: &[u8] = b"LABELONE";

/// What was read.
pub(super) struct Headers {
    label: Option<(usize, Vec<u8>)>,
    areas: Vec<Area>,
    lines: Vec<Line>,
    damaged: bool,
}

/// What is printed, in its order.
pub(super) enum Line {
    /// A value, or what is wrong with one.
    Text(String),
    /// The text in the area with this index.
    CurrentText(usize),
}

/// A metadata area.
#[derive(Debug, Clone)]
pub(super) struct Area {
    /// Where it is.
    pub(super) span: Span,
    /// Its first sector.
    sector: Vec<u8>,
}

impl Area {
    /// The area at `span`, if the device is that large.
    pub(super) fn read(source: &Source, span: Span) -> Option<Self> {
        let sector = source.read(span.offset.0, SECTOR).ok()?;
        Some(Self { span, sector })
    }

    /// A header for looking at texts, good enough even where the real one is damaged.
    pub(super) fn header_for_texts(&self) -> AreaHeader {
        let device_end = Bytes(u64::MAX);
        if let Ok(header) = AreaHeader::decode(&self.sector, self.span, device_end) {
            return header;
        }
        let mut header = blank_header(self.span);
        let slot = RawLocation {
            offset: Bytes(u64_at(&self.sector, 40)),
            size: Bytes(u64_at(&self.sector, 48)),
            checksum: u32_at(&self.sector, 56),
        };
        header.committed = (slot.offset.0 != 0).then_some(slot);
        header.usage = AreaUse::Used;
        header
    }
}

impl Headers {
    /// Reads the label and the areas that it names.
    pub(super) fn read(source: &Source) -> ashlar::Result<Self> {
        let len = source.size().min(4 * SECTOR as u64) as usize;
        let head = source.read(0, len)?;
        let sectors = head.chunks_exact(SECTOR).enumerate();
        let label = sectors
            .filter(|(_, sector)| sector.starts_with(MAGIC))
            .map(|(number, sector)| (number, sector.to_vec()))
            .next();
        let mut headers = Self {
            label,
            areas: Vec::new(),
            lines: Vec::new(),
            damaged: false,
        };
        headers.walk(source);
        Ok(headers)
    }

    /// The sector of the label.
    pub(super) fn label_sector(&self) -> Option<usize> {
        self.label.as_ref().map(|(number, _)| *number)
    }

    /// The metadata areas that the label names.
    pub(super) fn areas(&self) -> &[Area] {
        &self.areas
    }

    /// Every value, a line each.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Whether a value is not what it should be.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged
    }

    fn say(&mut self, line: String) {
        self.lines.push(Line::Text(line));
    }

    fn check(&mut self, good: bool, message: &str) {
        if !good {
            self.damaged = true;
            self.say(format!("CHECK: {message}"));
        }
    }

    fn walk(&mut self, source: &Source) {
        let Some((number, sector)) = self.label.clone() else {
            self.check(false, "no label_header found");
            return;
        };
        let base = number * SECTOR;
        self.label_header(base, number, &sector);
        let start = u32_at(&sector, 20) as usize;
        if start + 40 > SECTOR {
            self.check(
                false,
                &format!("label_header.offset {start} is outside the sector"),
            );
            return;
        }
        self.say(format!("pv_header at {}", base + start));
        self.say(format!("pv_header.pv_uuid {}", text_at(&sector, start, 32)));
        self.say(format!(
            "pv_header.device_size {}",
            u64_at(&sector, start + 32)
        ));
        let mut list = List {
            base,
            at: start + 40,
            index: 0,
            name: "pv_header",
        };
        list.next(self, &sector, "location of data area");
        let spans = list.next(self, &sector, "location of metadata area");
        self.extension(base, &sector, list.at);
        for (index, span) in spans.into_iter().enumerate() {
            self.metadata_area(source, index + 1, span);
        }
        if self.areas.is_empty() {
            self.say("zero metadata copies".to_owned());
        }
    }

    fn label_header(&mut self, base: usize, number: usize, sector: &[u8]) {
        let crc = u32_at(sector, 16);
        let expected = checksum(&sector[20..]);
        self.say(format!("label_header at {base}"));
        self.say(format!("label_header.id {}", text_at(sector, 0, 8)));
        self.say(format!("label_header.sector {}", u64_at(sector, 8)));
        self.say(format!("label_header.crc 0x{crc:x}"));
        self.say(format!("label_header.offset {}", u32_at(sector, 20)));
        self.say(format!("label_header.type {}", text_at(sector, 24, 8)));
        let stored = u64_at(sector, 8);
        self.check(
            stored == number as u64,
            &format!("label_header.sector expected {number}"),
        );
        self.check(
            crc == expected,
            &format!("label_header.crc expected 0x{expected:x}"),
        );
        self.check(u32_at(sector, 20) == 32, "label_header.offset expected 32");
        let kind = text_at(sector, 24, 8);
        self.check(kind == "LVM2 001", "label_header.type expected LVM2 001");
    }

    fn extension(&mut self, base: usize, sector: &[u8], at: usize) {
        if at + 8 > SECTOR || u32_at(sector, at) == 0 {
            return;
        }
        self.say(format!("pv_header_extension at {}", base + at));
        self.say(format!(
            "pv_header_extension.version {}",
            u32_at(sector, at)
        ));
        self.say(format!(
            "pv_header_extension.flags {}",
            u32_at(sector, at + 4)
        ));
        let mut list = List {
            base,
            at: at + 8,
            index: 0,
            name: "pv_header_extension",
        };
        list.next(self, sector, "bootloader area");
    }

    fn metadata_area(&mut self, source: &Source, number: usize, span: Span) {
        let start = span.offset.0;
        self.say(format!("mda_header_{number} at {start} # metadata area"));
        let Ok(sector) = source.read(start, SECTOR) else {
            self.check(
                false,
                &format!("mda_header_{number} is behind the end of the device"),
            );
            return;
        };
        let name = format!("mda_header_{number}");
        let (stored, expected) = (u32_at(&sector, 0), checksum(&sector[4..]));
        let magic = format!(
            "{:032x}",
            sector[4..20]
                .iter()
                .fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte))
        );
        self.say(format!("{name}.checksum 0x{stored:x}"));
        self.say(format!("{name}.magic 0x{magic}"));
        self.say(format!("{name}.version {}", u32_at(&sector, 20)));
        self.say(format!("{name}.start {}", u64_at(&sector, 24)));
        self.say(format!("{name}.size {}", u64_at(&sector, 32)));
        self.check(
            stored == expected,
            &format!("{name}.checksum expected 0x{expected:x}"),
        );
        let good = magic == "204c564d3220785b35412572304e2a3e";
        self.check(
            good,
            &format!("{name}.magic expected 0x204c564d3220785b35412572304e2a3e"),
        );
        self.check(
            u32_at(&sector, 20) == 1,
            &format!("{name}.version expected 1"),
        );
        self.check(
            u64_at(&sector, 24) == start,
            &format!("{name}.start expected {start}"),
        );
        let size = span.size.0;
        self.check(
            u64_at(&sector, 32) == size,
            &format!("{name}.size expected {size}"),
        );
        for (index, what) in ["commit", "precommit"].into_iter().enumerate() {
            let at = 40 + index * 24;
            let slot = format!("{name}.raw_locn[{index}]");
            self.say(format!("{slot} at {} # {what}", start + at as u64));
            self.say(format!("{slot}.offset {}", u64_at(&sector, at)));
            self.say(format!("{slot}.size {}", u64_at(&sector, at + 8)));
            self.say(format!("{slot}.checksum 0x{:x}", u32_at(&sector, at + 16)));
            self.say(format!("{slot}.flags 0x{:x}", u32_at(&sector, at + 20)));
        }
        self.lines.push(Line::CurrentText(self.areas.len()));
        self.areas.push(Area { span, sector });
    }
}

/// A list of locations that ends with an empty one.
struct List {
    base: usize,
    at: usize,
    index: usize,
    name: &'static str,
}

impl List {
    /// Prints one list and gives its spans.
    fn next(&mut self, headers: &mut Headers, sector: &[u8], what: &str) -> Vec<Span> {
        let mut spans = Vec::new();
        loop {
            if self.at + 16 > SECTOR {
                headers.check(false, &format!("{}.disk_locn has no end", self.name));
                return spans;
            }
            let (offset, size) = (u64_at(sector, self.at), u64_at(sector, self.at + 8));
            let remark = if offset == 0 {
                "location list end"
            } else {
                what
            };
            let slot = format!("{}.disk_locn[{}]", self.name, self.index);
            headers.say(format!("{slot} at {} # {remark}", self.base + self.at));
            headers.say(format!("{slot}.offset {offset}"));
            headers.say(format!("{slot}.size {size}"));
            self.at += 16;
            self.index += 1;
            if offset == 0 {
                return spans;
            }
            spans.push(Span {
                offset: Bytes(offset),
                size: Bytes(size),
            });
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

/// Printable text; anything else becomes a dot.
fn text_at(bytes: &[u8], at: usize, len: usize) -> String {
    let printable = |byte: &u8| match byte {
        0x20..=0x7e => char::from(*byte),
        _ => '.',
    };
    bytes
        .get(at..at + len)
        .unwrap_or_default()
        .iter()
        .map(printable)
        .collect()
}
