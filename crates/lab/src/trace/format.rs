//! A trace as bytes, and back. `docs/trace-format.md` is the description; this is its code.
//!
//! ```text
//!   "ASHTRACE" version length │ header │ sum ║ 'R' length count │ records │ sum ║ … ║ 'E' … ║
//! ```
//!
//! Each part ends with a checksum of itself, and the last one says how many records there are, so
//! that a file which lost its tail at a seam is found out too. A record takes about ten bytes.

use super::fields::{Fields, put_from_base, put_number};
use super::record::{Certainty, Class, Header, Label, Operation, Record, TimeSource, Trace};
use crate::error::{Error, Kind, Result};

const MAGIC: &[u8; 8] = b"ASHTRACE";
const VERSION: u16 = 1;
/// Bytes before the header's own: magic, version, length.
const PREFIX: usize = 14;
/// Bytes of a header; names of devices are short.
const HEADER_MAX: usize = 64 << 10;
/// Bytes of the records of a part, as they are written and at most as they are read.
const PART: usize = 64 << 10;
const PART_MAX: usize = 16 << 20;
/// Bytes before a part's own: its kind, length and count.
const PART_PREFIX: usize = 9;
/// Bytes of a checksum.
const SUM: usize = 4;
const RECORDS: u8 = b'R';
const END: u8 = b'E';
/// The fewest bytes that a record takes.
const RECORD_MIN: usize = 5;

const PREFLUSH: u8 = 0x08;
const FUA: u8 = 0x10;
const FAILED: u8 = 0x20;
const TIMED: u8 = 0x40;
const WAITED: u8 = 0x80;

/// What could be read of a file, and what is wrong with the rest of it.
#[derive(Debug)]
pub struct Partial {
    /// All up to the damage.
    pub trace: Trace,
    /// Where and why it ends there; `None` if nothing is wrong.
    pub damage: Option<Error>,
}

/// The bytes of a file that holds `trace`.
pub fn write(trace: &Trace) -> Result<Vec<u8>> {
    trace.validate()?;
    let header = encode_header(&trace.header)?;
    let mut bytes = Vec::with_capacity(PREFIX + header.len() + trace.records.len() * 12);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    let sum = crc32fast::hash(&bytes);
    bytes.extend(sum.to_le_bytes());
    let mut before = Before::default();
    let (mut part, mut count) = (Vec::with_capacity(PART + 64), 0);
    for record in &trace.records {
        encode_record(&mut part, record, &mut before);
        count += 1;
        if part.len() >= PART {
            put_part(&mut bytes, RECORDS, &part, count);
            part.clear();
            count = 0;
        }
    }
    if count > 0 {
        put_part(&mut bytes, RECORDS, &part, count);
    }
    let total = (trace.records.len() as u64).to_le_bytes();
    put_part(&mut bytes, END, &total, 0);
    Ok(bytes)
}

/// The trace that `bytes` hold; fails, naming the offset, if they are cut short or damaged. `name`
/// is what messages call them.
pub fn read(name: &str, bytes: &[u8]) -> Result<Trace> {
    let partial = read_whole_part(name, bytes)?;
    match partial.damage {
        None => Ok(partial.trace),
        Some(damage) => Err(damage),
    }
}

/// What `bytes` hold before they are cut short or damaged; fails if that is in the header.
pub fn read_whole_part(name: &str, bytes: &[u8]) -> Result<Partial> {
    let wrong = |offset: usize, what: &str| {
        Error::new(Kind::Syntax, format!("{name} at byte {offset}: {what}"))
    };
    let mut fields = Fields::new(bytes);
    let header = read_header(&mut fields).map_err(|what| wrong(0, what))?;
    let mut trace = Trace {
        header,
        records: Vec::new(),
    };
    let mut before = Before::default();
    let damage = loop {
        let offset = bytes.len() - fields.left();
        match read_part(&mut fields, &mut trace.records, &mut before) {
            Ok(Part::Records) => {}
            Ok(Part::End) if fields.left() == 0 => break None,
            Ok(Part::End) => {
                let at = bytes.len() - fields.left();
                break Some(wrong(at, "more follows what should be the end"));
            }
            Err(what) => {
                let count = trace.records.len();
                break Some(wrong(
                    offset,
                    &format!("{what}; {count} records stand before it"),
                ));
            }
        }
    };
    let damage = match trace.validate() {
        Ok(()) => damage,
        Err(error) => return Err(error),
    };
    Ok(Partial { trace, damage })
}

enum Part {
    Records,
    End,
}

/// What the next record is told from.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    time_ns: u64,
    end: u64,
}

fn put_part(bytes: &mut Vec<u8>, kind: u8, payload: &[u8], count: u32) {
    let start = bytes.len();
    bytes.push(kind);
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(payload);
    let sum = crc32fast::hash(&bytes[start..]);
    bytes.extend(sum.to_le_bytes());
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

fn read_header(fields: &mut Fields<'_>) -> std::result::Result<Header, &'static str> {
    const SHORT: &str = "the file is cut short within the header";
    let mut whole = *fields;
    let prefix = fields.take(PREFIX).ok_or(SHORT)?;
    if !prefix.starts_with(MAGIC) {
        return Err("this is no trace: it does not begin with ASHTRACE");
    }
    if prefix[8..10] != VERSION.to_le_bytes() {
        return Err("a later version of the format, which this program cannot read");
    }
    let length = word(&prefix[10..14]) as usize;
    if length > HEADER_MAX {
        return Err("the header is longer than a header can be");
    }
    let header = fields.take(length).ok_or(SHORT)?;
    let sum = fields.take(SUM).ok_or(SHORT)?;
    let summed = whole.take(PREFIX + length).ok_or(SHORT)?;
    if word(sum) != crc32fast::hash(summed) {
        return Err("the header's checksum is wrong");
    }
    decode_header(header).ok_or("the header's fields are not what they should be")
}

fn read_part(
    fields: &mut Fields<'_>,
    records: &mut Vec<Record>,
    before: &mut Before,
) -> std::result::Result<Part, &'static str> {
    const SHORT: &str = "the file is cut short";
    let mut whole = *fields;
    let prefix = fields.take(PART_PREFIX).ok_or(SHORT)?;
    let (length, count) = (word(&prefix[1..5]) as usize, word(&prefix[5..9]) as usize);
    if length > PART_MAX {
        return Err("a part is longer than a part can be");
    }
    let payload = fields.take(length).ok_or(SHORT)?;
    let sum = fields.take(SUM).ok_or(SHORT)?;
    let summed = whole.take(PART_PREFIX + length).ok_or(SHORT)?;
    if word(sum) != crc32fast::hash(summed) {
        return Err("a checksum is wrong");
    }
    match prefix[0] {
        RECORDS => {
            if count > length / RECORD_MIN {
                return Err("a part claims more records than it has room for");
            }
            let mut next = *before;
            let mut inside = Fields::new(payload);
            let kept = records.len();
            for _ in 0..count {
                let Some(record) = decode_record(&mut inside, &mut next) else {
                    records.truncate(kept);
                    return Err("a record's fields are not what they should be");
                };
                records.push(record);
            }
            if inside.left() > 0 {
                records.truncate(kept);
                return Err("a part is longer than its records");
            }
            *before = next;
            Ok(Part::Records)
        }
        END => {
            if payload != (records.len() as u64).to_le_bytes() {
                return Err("the number of records is not what the end of the file says");
            }
            Ok(Part::End)
        }
        _ => Err("a part of an unknown kind"),
    }
}

fn encode_header(header: &Header) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let clock = match header.clock {
        TimeSource::Real => 0,
        TimeSource::Virtual => 1,
    };
    bytes.push(clock | u8::from(header.file_system.is_some()) << 1);
    put_number(&mut bytes, header.blocks);
    put_number(&mut bytes, header.begun_unix_ns);
    bytes.extend(header.file_system.iter().flatten());
    put_number(&mut bytes, header.device.len() as u64);
    bytes.extend(header.device.as_bytes());
    if bytes.len() > HEADER_MAX {
        let what = "the name of the device is too long for a trace";
        return Err(Error::new(Kind::Impossible, what));
    }
    Ok(bytes)
}

fn decode_header(bytes: &[u8]) -> Option<Header> {
    let mut fields = Fields::new(bytes);
    let bits = fields.byte()?;
    if bits > 3 {
        return None;
    }
    let (blocks, begun_unix_ns) = (fields.number()?, fields.number()?);
    let file_system = match bits & 2 {
        0 => None,
        _ => Some(fields.take(16)?.try_into().ok()?),
    };
    let length = usize::try_from(fields.number()?).ok()?;
    let device = String::from_utf8(fields.take(length)?.to_vec()).ok()?;
    let clock = match bits & 1 {
        0 => TimeSource::Real,
        _ => TimeSource::Virtual,
    };
    (fields.left() == 0).then_some(Header {
        device,
        blocks,
        file_system,
        clock,
        begun_unix_ns,
    })
}

fn operation_number(operation: Operation) -> u8 {
    match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::WriteZeroes => 2,
        Operation::Discard => 3,
        Operation::Flush => 4,
    }
}

fn encode_record(bytes: &mut Vec<u8>, record: &Record, before: &mut Before) {
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    bytes.push(
        operation_number(record.operation)
            | flag(record.preflush, PREFLUSH)
            | flag(record.fua, FUA)
            | flag(record.failed, FAILED)
            | flag(record.duration_ns.is_some(), TIMED)
            | flag(record.after.is_some(), WAITED),
    );
    let certainty = match record.label.certainty {
        Certainty::Always => 0,
        Certainty::Sometimes => 1,
        Certainty::Mixed => 2,
    };
    bytes.push(record.label.class as u8 | certainty << 6);
    put_number(bytes, record.time_ns - before.time_ns);
    if let Some(duration_ns) = record.duration_ns {
        put_number(bytes, duration_ns);
    }
    put_from_base(bytes, record.start, before.end);
    put_number(bytes, record.count);
    if let Some(after) = record.after {
        put_number(bytes, after);
    }
    *before = Before {
        time_ns: record.time_ns,
        end: record.start + record.count,
    };
}

fn decode_record(fields: &mut Fields<'_>, before: &mut Before) -> Option<Record> {
    let bits = fields.byte()?;
    let operation = match bits & 0x07 {
        0 => Operation::Read,
        1 => Operation::Write,
        2 => Operation::WriteZeroes,
        3 => Operation::Discard,
        4 => Operation::Flush,
        _ => return None,
    };
    let label = fields.byte()?;
    let certainty = match label >> 6 {
        0 => Certainty::Always,
        1 => Certainty::Sometimes,
        2 => Certainty::Mixed,
        _ => return None,
    };
    let class = Class::from_number(label & 0x3f)?;
    let time_ns = before.time_ns.checked_add(fields.number()?)?;
    let duration_ns = match bits & TIMED {
        0 => None,
        _ => Some(fields.number()?),
    };
    let start = fields.difference(before.end)?;
    let count = fields.number()?;
    let after = match bits & WAITED {
        0 => None,
        _ => Some(fields.number()?),
    };
    *before = Before {
        time_ns,
        end: start.checked_add(count)?,
    };
    Some(Record {
        time_ns,
        duration_ns,
        operation,
        preflush: bits & PREFLUSH != 0,
        fua: bits & FUA != 0,
        failed: bits & FAILED != 0,
        start,
        count,
        label: Label { class, certainty },
        after,
    })
}
