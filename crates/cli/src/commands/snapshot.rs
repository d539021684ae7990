//! `ashlar snapshot`: what snapshots can tell.
//!
//! `diff` lists where a snapshot, or two of one origin, may differ: what a backup has to read.

use ashlar::activate::{Activator, Difference};
use block::Range;
use serde::Serialize;

use super::Session;
use super::session::Disks;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const JSON: Flag = Flag::switch("json", "Print one JSON object; all numbers are bytes.");

/// `snapshot`
pub(super) const COMMAND: Command = Command {
    name: "snapshot",
    summary: "List what differs between a snapshot and its origin",
    operands: "diff VG/SNAPSHOT [VG/SNAPSHOT]",
    description: "diff lists the bytes in which a snapshot may differ from its origin, as they are \
        now: what was written to either since it was taken, in whole chunks. With two snapshots of \
        one origin, those in which they may differ from each other. All other bytes are the same, \
        so that a backup which has one of them needs to read no more of the other. Only the stores \
        of the snapshots are read; an origin or a snapshot that the kernel has active is refused, \
        since it changes meanwhile.",
    flags: &[&[JSON], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar snapshot diff vg0/monday",
            does: "lists where vg0/monday and its origin differ",
        },
        Example {
            line: "ashlar snapshot diff vg0/monday vg0/tuesday --json",
            does: "tells a backup program what to read of vg0/tuesday",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let (first, second) = match arguments.operands() {
        [word, first] if word == "diff" => (first, None),
        [word, first, second] if word == "diff" => (first, Some(second)),
        _ => {
            return Err(Error::usage(
                "snapshot: name one snapshot, or two, as in: ashlar snapshot diff vg0/monday",
            ));
        }
    };
    let disks = session.disks(arguments)?;
    let one = difference(&disks, first)?;
    let found = match second {
        None => one,
        Some(second) => {
            let other = difference(&disks, second)?;
            if one.origin != other.origin {
                return Err(Error::failed(format!(
                    "{first} is a snapshot of {}, and {second} one of {}: nothing is known of \
                     where they differ",
                    one.origin_name, other.origin_name
                )));
            }
            if one.size != other.size {
                return Err(Error::failed(format!(
                    "{first} has {} bytes, and {second} {}: {} has grown in between",
                    one.size, other.size, one.origin_name
                )));
            }
            Difference {
                changed: united(&one.changed, &other.changed),
                chunk: one.chunk.max(other.chunk),
                ..one
            }
        }
    };
    let other = second.unwrap_or(&found.origin_name);
    if arguments.has(&JSON) {
        json(session, (first, other), &found)
    } else {
        table(session, &found)
    }
}

fn difference(disks: &Disks, name: &str) -> Result<Difference, Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let (group, lv) = disks.scan.find_volume(name).map_err(failed)?;
    let mut activator = Activator::new(&disks.scan, &disks.host);
    activator.difference(group, lv).map_err(failed)
}

/// The bytes that are in one list or the other, each of which is in order.
fn united(one: &[Range], other: &[Range]) -> Vec<Range> {
    let mut all = [one, other].concat();
    all.sort_by_key(|range| range.start());
    let mut united: Vec<Range> = Vec::new();
    for range in all {
        match united.last_mut() {
            Some(last) if range.start() <= last.end() => {
                let end = last.end().max(range.end());
                *last = Range::new(last.start(), end - last.start());
            }
            _ => united.push(range),
        }
    }
    united
}

fn table(session: &mut Session, found: &Difference) -> Result<(), Error> {
    session.line(&format!("{:>20} {:>20}", "Start", "Length"))?;
    for range in &found.changed {
        session.line(&format!("{:>20} {:>20}", range.start(), range.len()))?;
    }
    Ok(())
}

fn json(session: &mut Session, names: (&str, &str), found: &Difference) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Changed {
        start: u64,
        length: u64,
    }
    #[derive(Serialize)]
    struct Difference<'a> {
        volume: &'a str,
        other: &'a str,
        size: u64,
        chunk: u64,
        changed: Vec<Changed>,
    }
    let changed = found.changed.iter().map(|range| Changed {
        start: range.start(),
        length: range.len(),
    });
    let difference = Difference {
        volume: names.0,
        other: names.1,
        size: found.size,
        chunk: found.chunk,
        changed: changed.collect(),
    };
    session.line(&serde_json::to_string(&difference).expect("texts and numbers can be written"))?;
    Ok(())
}

#[cfg(test)]
mod tests;
