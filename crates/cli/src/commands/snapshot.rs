//! `ashlar snapshot`: what snapshots can tell.
//!
//! `diff` lists where a snapshot, or two of one origin, may differ: what a backup has to read.

use ashlar::activate::{Activator, Changed};
use serde::Serialize;

use super::Session;
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
        since it changes meanwhile. ashlar send carries these bytes elsewhere, and NBD clients of \
        ashlar serve are told of them as ashlar:changed.",
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
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let mut activator = Activator::new(&disks.scan, &disks.host);
    let (group, since) = disks.scan.find_volume(first).map_err(failed)?;
    let of = match second {
        None => Activator::origin_of(group, since).map_err(failed)?,
        Some(second) => {
            let (other, of) = disks.scan.find_volume(second).map_err(failed)?;
            if other.uuid != group.uuid {
                return Err(Error::failed(format!(
                    "{first} and {second} are in two groups: nothing is known of where they differ"
                )));
            }
            of
        }
    };
    let found = activator.changed(group, since, of).map_err(failed)?;
    if let Some(second) = second
        && found.since_size != found.size
    {
        return Err(Error::failed(format!(
            "{first} has {} bytes, and {second} {}: {} has grown in between",
            found.since_size, found.size, found.origin_name
        )));
    }
    let other = second.unwrap_or(&found.origin_name);
    if arguments.has(&JSON) {
        json(session, (first, other), &found)
    } else {
        table(session, &found)
    }
}

fn table(session: &mut Session, found: &Changed) -> Result<(), Error> {
    session.line(&format!("{:>20} {:>20}", "Start", "Length"))?;
    for range in &found.ranges {
        session.line(&format!("{:>20} {:>20}", range.start(), range.len()))?;
    }
    Ok(())
}

fn json(session: &mut Session, names: (&str, &str), found: &Changed) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Part {
        start: u64,
        length: u64,
    }
    #[derive(Serialize)]
    struct Difference<'a> {
        volume: &'a str,
        other: &'a str,
        size: u64,
        chunk: u64,
        changed: Vec<Part>,
    }
    let changed = found.ranges.iter().map(|range| Part {
        start: range.start(),
        length: range.len(),
    });
    let difference = Difference {
        volume: names.0,
        other: names.1,
        size: found.since_size,
        chunk: found.chunk,
        changed: changed.collect(),
    };
    session.line(&serde_json::to_string(&difference).expect("texts and numbers can be written"))?;
    Ok(())
}
