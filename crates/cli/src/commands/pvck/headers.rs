//! The headers of a device as they stand there, value by value, whatever they say.
//!
//! The decoders of `lvm2` refuse what is damaged; this prints it. Lists are followed no further
//! than the sector that they must fit into.

use ashlar::scan::Source;
use lvm2::Bytes;
use lvm2::ondisk::{AreaHeader, AreaUse, RawLocation, Span, checksum};

use super::blank_header;

/// The flag of a slot whose area is set aside.
const IGNORED: u32 = 1;
/// Where the flags of the first slot are in a header.
const SLOT_FLAGS: usize = 60;

const SECTOR: usize = 512;
/// The type in a label that LVM2 wrote.
const LABEL_TYPE: &str = "LVM2 001";
const MAGIC: &[u8] = b"LABELONE";

/// The size of a label's own header; that of the physical volume is behind it.
const LABEL_SIZE: usize = 32;
/// Where a label is looked for that is in no other place.
const SECTOR_USUAL: usize = 1;
/// A label is in one of so many sectors, unless somebody says otherwise.
const SECTORS_MAX: usize = 4;

/// What was read.
pub(in crate::commands) struct Headers {
    /// The sector of the label, whatever is in it.
    number: usize,
    sector: Vec<u8>,
    areas: Vec<Area>,
    lines: Vec<Line>,
    damaged: bool,
}

/// What is printed, in its order.
pub(super) enum Line {
    /// A value.
    Text(String),
    /// What is wrong with one.
    Check(String),
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
    /// Whether a value of its header is wrong.
    pub(super) is_damaged: bool,
}

impl Area {
    /// The area at `span`, if the device is that large.
    pub(super) fn read(source: &Source, span: Span) -> Option<Self> {
        let sector = source.read(span.offset.0, SECTOR).ok()?;
        Some(Self {
            span,
            sector,
            is_damaged: false,
        })
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
    /// Reads the label and the areas that it names; `number`: the sector of the label, where that
    /// is not looked for.
    pub(in crate::commands) fn read(
        source: &Source,
        number: Option<usize>,
    ) -> ashlar::Result<Self> {
        let len = source.size().min(4 * SECTOR as u64) as usize;
        let head = source.read(0, len)?;
        let found = head
            .chunks_exact(SECTOR)
            .position(|sector| sector.starts_with(MAGIC));
        let number = number.or(found).unwrap_or(SECTOR_USUAL);
        let mut sector = match source.read((number * SECTOR) as u64, SECTOR) {
            Ok(sector) => sector,
            Err(error) if number < SECTORS_MAX && source.size() >= len as u64 => return Err(error),
            Err(_) => Vec::new(),
        };
        sector.resize(SECTOR, 0);
        let mut headers = Self {
            number,
            sector,
            areas: Vec::new(),
            lines: Vec::new(),
            damaged: false,
        };
        headers.walk(source);
        Ok(headers)
    }

    /// The sector of the label, if there is one.
    pub(in crate::commands) fn label_sector(&self) -> Option<usize> {
        self.sector.starts_with(MAGIC).then_some(self.number)
    }

    /// Whether the label says that LVM2 wrote it.
    pub(super) fn has_known_type(&self) -> bool {
        text_at(&self.sector, 24, 8) == LABEL_TYPE
    }

    /// How many metadata areas there are.
    pub(in crate::commands) fn count_areas(&self) -> usize {
        self.areas.len()
    }

    /// What is wrong in the label and the header behind it, a line each.
    pub(in crate::commands) fn label_checks(&self) -> impl Iterator<Item = &str> {
        self.checks().filter(|line| !line.contains("mda_header"))
    }

    /// What is wrong, a line each.
    pub(super) fn checks(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            Line::Check(text) => Some(text.as_str()),
            Line::Text(_) | Line::CurrentText(_) => None,
        })
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
            self.lines.push(Line::Check(format!("CHECK: {message}")));
        }
    }

    fn walk(&mut self, source: &Source) {
        let (number, sector) = (self.number, self.sector.clone());
        let base = number * SECTOR;
        self.label_header(base, number, &sector);
        let start = LABEL_SIZE;
        let uuid = text_at(&sector, start, 32);
        self.say(format!("pv_header at {}", base + start));
        self.say(format!("pv_header.pv_uuid {uuid}"));
        self.say(format!(
            "pv_header.device_size {}",
            u64_at(&sector, start + 32)
        ));
        let is_good = uuid.bytes().all(|byte| byte.is_ascii_alphanumeric());
        self.check(is_good, "pv_header.pv_uuid invalid format");
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
        let is_label = sector.starts_with(MAGIC);
        self.check(is_label, "label_header.id expected LABELONE");
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
        self.check(kind == LABEL_TYPE, "label_header.type expected LVM2 001");
    }

    fn extension(&mut self, base: usize, sector: &[u8], at: usize) {
        if at + 8 > SECTOR {
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
            self.say(format!(
                "{slot}.flags {}",
                slot_flags(u32_at(&sector, at + 20))
            ));
        }
        let is_damaged = self.checks().any(|line| line.contains(&name));
        // What is set aside is not read.
        if u32_at(&sector, SLOT_FLAGS) & IGNORED == 0 {
            self.lines.push(Line::CurrentText(self.areas.len()));
        }
        self.areas.push(Area {
            span,
            sector,
            is_damaged,
        });
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

/// Printable text; anything else becomes a question mark.
fn text_at(bytes: &[u8], at: usize, len: usize) -> String {
    let printable = |byte: &u8| match byte {
        0x20..=0x7e => char::from(*byte),
        _ => '?',
    };
    bytes
        .get(at..at + len)
        .unwrap_or_default()
        .iter()
        .map(printable)
        .collect()
}

/// The flags of a slot, and what they mean.
fn slot_flags(flags: u32) -> String {
    let is_ignored = flags & IGNORED != 0;
    let remark = if is_ignored {
        " # RAW_LOCN_IGNORED"
    } else {
        ""
    };
    format!("0x{flags:x}{remark}")
}
