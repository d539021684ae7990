//! fio's logs of versions 2 and 3: a text line for each action.
//!
//! ```text
//!   fio version 2 iolog          fio version 3 iolog
//!   FILE ACTION OFFSET LENGTH    MICROSECONDS FILE ACTION OFFSET LENGTH
//!   FILE wait MICROSECONDS 0
//! ```
//!
//! They know no durations, no flags and no dependencies. What version 2 does not wait between is
//! submitted at one moment. Files are places of their own: one of them becomes the device.

use std::collections::BTreeSet;

use crate::error::{Error, Kind, Result};
use crate::trace::record::{Header, Operation, Record, Trace};

/// Files that a message names.
const NAMED_MAX: usize = 8;
const SECTOR: u64 = 512;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

/// One line that does something.
struct Action<'a> {
    time_us: Option<u64>,
    file: &'a str,
    what: What,
}

enum What {
    Manage,
    Wait(u64),
    Ask(Operation, u64, u64),
}

/// Reads the log `text`. `name` is what messages call it; `file` says which of several files to
/// take, and may be left out if the log asks for one only.
pub fn iolog(name: &str, text: &str, file: Option<&str>) -> Result<Trace> {
    let wrong =
        |line: usize, what: &str| Error::new(Kind::Syntax, format!("{name} line {line}: {what}"));
    let mut lines = (1..).zip(text.lines());
    let version = match lines.next().map(|(_, line)| line.trim()) {
        Some("fio version 2 iolog") => Version::Two,
        Some("fio version 3 iolog") => Version::Three,
        _ => {
            return Err(wrong(
                1,
                "the first line is not 'fio version 2 iolog' or '... 3 ...'",
            ));
        }
    };
    let mut records = Vec::new();
    let mut files = BTreeSet::new();
    let (mut time_ns, mut size) = (0_u64, 0);
    for (number, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        let action = parse(line, version).map_err(|what| wrong(number, what))?;
        if let Some(time_us) = action.time_us {
            let at_ns = time_us.checked_mul(1000);
            let at_ns = at_ns.ok_or_else(|| wrong(number, "the time is too large"))?;
            // fio writes what several threads did; they may be some microseconds out of order.
            time_ns = time_ns.max(at_ns);
        }
        match action.what {
            What::Manage => {}
            What::Wait(wait_us) => {
                let next = wait_us
                    .checked_mul(1000)
                    .and_then(|ns| ns.checked_add(time_ns));
                time_ns = next.ok_or_else(|| wrong(number, "the time is too large"))?;
            }
            What::Ask(operation, offset, length) => {
                files.insert(action.file);
                if file.is_some_and(|wanted| wanted != action.file) {
                    continue;
                }
                let end = offset.checked_add(length);
                let end = end.filter(|&end| end < u64::MAX - SECTOR);
                let end = end.ok_or_else(|| wrong(number, "offset and length are too large"))?;
                let (first, last) = (offset / SECTOR, end.div_ceil(SECTOR));
                let (first, count) = match operation {
                    Operation::Flush => (0, 0),
                    _ => (first, last - first),
                };
                size = size.max(first + count);
                records.push(Record::new(time_ns, operation, first, count));
            }
        }
    }
    let device = match file {
        Some(file) if files.contains(file) => file,
        None if files.len() == 1 => files.first().copied().unwrap_or_default(),
        _ => return Err(ambiguous(name, &files, file)),
    };
    let header = Header {
        device: device.to_owned(),
        blocks: size,
        ..Header::default()
    };
    Ok(Trace { header, records })
}

fn ambiguous(name: &str, files: &BTreeSet<&str>, wanted: Option<&str>) -> Error {
    let mut list: Vec<&str> = files.iter().take(NAMED_MAX).copied().collect();
    if files.len() > NAMED_MAX {
        list.push("...");
    }
    let list = list.join(", ");
    let what = match wanted {
        _ if files.is_empty() => "it asks for nothing".to_owned(),
        Some(file) => format!("it asks for nothing in '{file}', but in {list}"),
        None => format!("it asks for several files; choose one of {list}"),
    };
    Error::new(Kind::Syntax, format!("{name}: {what}"))
}

fn parse(line: &str, version: Version) -> std::result::Result<Action<'_>, &'static str> {
    let mut fields = line.split_whitespace();
    let time_us = match version {
        Version::Two => None,
        Version::Three => {
            let time = fields.next().and_then(|text| text.parse().ok());
            Some(time.ok_or("the time is not a number")?)
        }
    };
    let file = fields.next().ok_or("the file is missing")?;
    let action = fields.next().ok_or("the action is missing")?;
    let operation = match action {
        "add" | "open" | "close" => {
            let what = What::Manage;
            return Ok(Action {
                time_us,
                file,
                what,
            });
        }
        "wait" if version == Version::Two => None,
        "wait" => return Err("version 3 has no 'wait'"),
        "read" => Some(Operation::Read),
        "write" => Some(Operation::Write),
        "trim" => Some(Operation::Discard),
        "sync" | "datasync" | "sync_file_range" => Some(Operation::Flush),
        _ => return Err("an unknown action"),
    };
    let mut number = |what: &'static str| {
        let text = fields.next();
        let ends_early = text.is_none() && operation.is_none_or(|one| one == Operation::Flush);
        match text {
            None if ends_early => Ok(0),
            text => text.and_then(|text| text.parse::<u64>().ok()).ok_or(what),
        }
    };
    let offset = number("the offset is not a number")?;
    let length = number("the length is not a number")?;
    let what = match operation {
        None => What::Wait(offset),
        Some(Operation::Flush) => What::Ask(Operation::Flush, offset, length),
        Some(_) if length == 0 => return Err("a request of 0 bytes"),
        Some(operation) => What::Ask(operation, offset, length),
    };
    Ok(Action {
        time_us,
        file,
        what,
    })
}
