//! Linux's blktrace: a binary record of 48 bytes for each step of each request.
//!
//! ```text
//!    0 magic 0x656174xx, version 7 in its last byte     32 process
//!    4 sequence    8 time, ns     16 sector             36 device: major « 20 │ minor
//!   24 bytes      28 action: kinds « 16 │ step          40 processor
//!                                                      44 error    46 bytes that follow
//! ```
//!
//! Each processor writes a file of its own, in its own byte order; the files are merged by time.
//! A request begins where it is given to the driver (D), or, where no such step was recorded as
//! for devices made of devices, where it was queued (Q). It ends with the completion (C) of the
//! same direction that begins at its sector.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::error::{Error, Kind, Result};
use crate::trace::depend::find_dependencies;
use crate::trace::record::{Header, Operation, Record, Trace};

const HEAD: usize = 48;
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Steps, from the low half of the action.
const QUEUE: u16 = 1;
const ISSUE: u16 = 7;
const COMPLETE: u16 = 8;

/// Kinds, from the high half.
const WRITE: u16 = 1 << 1;
const FLUSH: u16 = 1 << 2;
const PASSED_THROUGH: u16 = 1 << 9;
const NOTIFY: u16 = 1 << 10;
const DISCARD: u16 = 1 << 13;
const FUA: u16 = 1 << 15;

/// A trace that was read, and what of it was left out.
#[derive(Debug)]
pub struct Imported {
    /// The requests of one device.
    pub trace: Trace,
    /// What a user should know of the rest.
    pub remarks: Vec<String>,
}

#[derive(Clone, Copy)]
struct Event {
    time_ns: u64,
    sequence: u32,
    sector: u64,
    bytes: u32,
    step: u16,
    kinds: u16,
    device: u32,
    error: u16,
}

/// Reads the files of one run, each with the name that messages call it. Of several devices the
/// one with the most requests is taken, and the remarks name the others.
pub fn blktrace(files: &[(&str, &[u8])]) -> Result<Imported> {
    let mut events = Vec::new();
    for (name, bytes) in files {
        read_events(name, bytes, &mut events)?;
    }
    events.sort_unstable_by_key(|event| (event.time_ns, event.sequence));
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for event in events.iter().filter(|event| event.step != COMPLETE) {
        *counts.entry(event.device).or_default() += 1;
    }
    let name = files.first().map_or("blktrace", |file| file.0);
    let busiest = counts
        .iter()
        .max_by_key(|&(device, count)| (*count, !*device));
    let Some((&device, _)) = busiest else {
        let what = format!("{name}: no request was queued or issued in it");
        return Err(Error::new(Kind::Syntax, what));
    };
    let others: Vec<String> = counts
        .iter()
        .filter(|&(&other, _)| other != device)
        .map(|(&other, count)| format!("{count} steps of {} are left out", device_name(other)))
        .collect();
    events.retain(|event| event.device == device);
    let mut imported = requests(&events, device);
    imported.remarks.extend(others);
    Ok(imported)
}

fn device_name(device: u32) -> String {
    format!("{}:{}", device >> 20, device & 0xf_ffff)
}

fn read_events(name: &str, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
    let mut at = 0;
    while at < bytes.len() {
        let wrong = |what: &str| {
            let what = format!("{name} at byte {at}: {what}");
            Err(Error::new(Kind::Syntax, what))
        };
        let Some(head) = bytes[at..].first_chunk::<HEAD>() else {
            return wrong("the file is cut short within a record");
        };
        let magic = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let little = match (magic & !0xff == MAGIC, magic.swap_bytes() & !0xff == MAGIC) {
            (true, _) => true,
            (_, true) => false,
            _ => return wrong("this is no record of blktrace"),
        };
        let magic = if little { magic } else { magic.swap_bytes() };
        if magic & 0xff != VERSION {
            return wrong("a version of blktrace's format other than 7");
        }
        let field = |from: usize, size: usize| {
            let take = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
            let field = &head[from..from + size];
            if little {
                field.iter().rev().fold(0, take)
            } else {
                field.iter().fold(0, take)
            }
        };
        let action = field(28, 4) as u32;
        let event = Event {
            sequence: field(4, 4) as u32,
            time_ns: field(8, 8),
            sector: field(16, 8),
            bytes: field(24, 4) as u32,
            step: action as u16,
            kinds: (action >> 16) as u16,
            device: field(36, 4) as u32,
            error: field(44, 2) as u16,
        };
        let follow = field(46, 2) as usize;
        if bytes.len() - at - HEAD < follow {
            return wrong("the file is cut short within what follows a record");
        }
        at += HEAD + follow;
        let request = event.kinds & (NOTIFY | PASSED_THROUGH) == 0;
        if request && matches!(event.step, QUEUE | ISSUE | COMPLETE) {
            events.push(event);
        }
    }
    Ok(())
}

fn requests(events: &[Event], device: u32) -> Imported {
    let issued = events.iter().any(|event| event.step == ISSUE);
    let begin = if issued { ISSUE } else { QUEUE };
    let first_ns = events.first().map_or(0, |event| event.time_ns);
    let mut records: Vec<Record> = Vec::new();
    let mut waiting: HashMap<(u64, Operation), VecDeque<usize>> = HashMap::new();
    let (mut size, mut strays, mut impossible) = (0, 0_u64, 0_u64);
    for event in events {
        let time_ns = event.time_ns - first_ns;
        let operation = operation_of(event);
        if event.step == COMPLETE {
            let queue = waiting.get_mut(&(event.sector, operation));
            match queue.and_then(VecDeque::pop_front) {
                Some(index) => {
                    records[index].duration_ns = Some(time_ns - records[index].time_ns);
                    records[index].failed = event.error != 0;
                }
                None => strays += 1,
            }
        } else if event.step == begin {
            let count = u64::from(event.bytes).div_ceil(512);
            let Some(end) = event.sector.checked_add(count) else {
                impossible += 1;
                continue;
            };
            let flush = operation == Operation::Flush;
            let start = if flush { 0 } else { event.sector };
            let count = if flush { 0 } else { count };
            if !flush {
                size = size.max(end);
            }
            let mut record = Record::new(time_ns, operation, start, count);
            record.preflush = event.kinds & FLUSH != 0 && !flush;
            record.fua = event.kinds & FUA != 0;
            let key = (event.sector, operation);
            waiting.entry(key).or_default().push_back(records.len());
            records.push(record);
        }
    }
    let mut remarks = Vec::new();
    let open: usize = waiting.values().map(VecDeque::len).sum();
    let mut remark = |count: u64, what: &str| {
        if count > 0 {
            remarks.push(format!("{count} {what}"));
        }
    };
    remark(
        open as u64,
        "requests have no completion, so nobody knows how long they took",
    );
    remark(strays, "completions belong to no request of this trace");
    remark(
        impossible,
        "requests lie past the end of any device and are left out",
    );
    find_dependencies(&mut records);
    let header = Header {
        device: device_name(device),
        blocks: size,
        ..Header::default()
    };
    let trace = Trace { header, records };
    Imported { trace, remarks }
}

fn operation_of(event: &Event) -> Operation {
    let has = |kind: u16| event.kinds & kind != 0;
    match (has(DISCARD), has(WRITE), has(FLUSH)) {
        (true, _, _) => Operation::Discard,
        (_, _, true) if event.bytes == 0 => Operation::Flush,
        (_, true, _) => Operation::Write,
        _ => Operation::Read,
    }
}
