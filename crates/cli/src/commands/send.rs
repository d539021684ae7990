//! `ashlar send`: a volume, or what of it differs from an older snapshot, as a stream.
//!
//! What is sent is opened before it is asked what differs, so that nobody changes either meanwhile:
//! who reads a snapshot keeps others from serving its group.

use std::fs::File;
use std::io::{BufWriter, IsTerminal};

use ashlar::activate::{Activator, Moment, Permanence};
use ashlar::scan::FoundVg;
use ashlar::stream::{Header, Token, Writer};
use block::{Device, Holes, Piece, Range, read_ranges};
use dm::volume::Access;
use lvm2::model::LvId;
use serde::Serialize;

use super::cp::Bar;
use super::open::{Opened, Opener};
use super::{Disks, Session};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

/// Small records leave together.
const BUFFER: usize = 256 << 10;

/// `--since`
const SINCE: Flag = Flag::value(
    "since",
    "VG/SNAPSHOT",
    "Send only what may differ from this snapshot: of its origin, or of another snapshot of that. \
     The receiver has to hold it.",
)
.short('i');
/// `--resume`
const RESUME: Flag = Flag::value(
    "resume",
    "Token",
    "Go on with the stream that the receiver has a part of; ashlar receive --resume-token prints \
     the token. Needs no operand.",
);
const JSON: Flag = Flag::switch(
    "json",
    "With --test: print one JSON object; all numbers are bytes, but for the count of ranges.",
);

/// `send`
pub(super) const COMMAND: Command = Command {
    name: "send",
    summary: "Send a volume, or what has changed of it, as a stream",
    operands: "[VG/LV]",
    description: "Writes a volume to standard output as a stream, for ashlar receive: into a file, \
        or through a pipe, as that of ssh, to another machine. Zeros are not carried. Each record \
        has checksums and belongs behind the one before, so that nothing that was lost or changed \
        on the way is taken.\n\n\
        With --since, only what may differ from an older snapshot is read and sent; see ashlar \
        snapshot diff. A snapshot that was written is sent right as well.\n\n\
        A stream that was interrupted can be gone on with where it is of a snapshot that cannot be \
        written (lvcreate -s -pr, lvchange -pr): only that is the same later. What is sent of a \
        volume itself, or of a snapshot that may be written, is sent again from its beginning.\n\n\
        With --test nothing is sent, and it is said what would be read. What somebody serves is \
        not sent, unless it is a whole volume, which may change meanwhile.",
    flags: &[&[SINCE, RESUME, JSON], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar send vg0/monday | ssh backup ashlar receive --state monday.note vg1/data",
            does: "copies a snapshot into a volume of another machine",
        },
        Example {
            line: "ashlar send --since vg0/monday vg0/tuesday > tuesday.stream",
            does: "saves what has changed from one snapshot to the next",
        },
        Example {
            line: "ashlar send --test --json --since vg0/monday vg0/data",
            does: "says how much of vg0/data has to be read",
        },
        Example {
            line: "ashlar send --resume \"$(ashlar receive --resume-token copy.img)\"",
            does: "goes on with a stream that was interrupted",
        },
    ],
    run,
};

/// What is sent.
struct Sending<'a> {
    group: &'a FoundVg,
    lv: LvId,
    since: Option<LvId>,
    token: Option<Token>,
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let is_test = arguments.has(&flags::TEST);
    if arguments.has(&JSON) && !is_test {
        return Err(Error::usage(
            "send: --json is for --test; otherwise the output is the stream",
        ));
    }
    if !is_test && std::io::stdout().is_terminal() {
        return Err(Error::usage(
            "send: the stream is not for a terminal: write it to a file (>), or to a pipe",
        ));
    }
    let disks = session.disks(arguments)?;
    let sending = Sending::of(arguments, &disks)?;
    let mut opener = Opener::new(&disks, arguments, Access::ReadOnly)?.through_page_cache();
    // Kept until the end: while the older one is read, too, nobody writes to either.
    let since = sending.since.map(|since| sending.name(since));
    let since = since.map(|name| opener.open(&name, session)).transpose()?;
    let opened = opener.open(&sending.name(sending.lv), session)?;
    let (header, ranges) = sending.plan(&disks, &opened, since.as_ref())?;
    if is_test {
        return shown(arguments, session, &header, &ranges, since.as_ref());
    }
    warn(session, &header);
    let output = File::from(rustix::stdio::stdout().try_clone_to_owned()?);
    let writer = Writer::begin(BufWriter::with_capacity(BUFFER, output), &header)?;
    send(&opened, &ranges, writer)
}

impl<'a> Sending<'a> {
    fn of(arguments: &Arguments, disks: &'a Disks) -> Result<Self, Error> {
        let failed = |error: ashlar::Error| Error::failed(error.to_string());
        match (arguments.operands(), arguments.value(&RESUME)) {
            ([], Some(word)) if !arguments.has(&SINCE) => {
                let token: Token = word.parse().map_err(failed)?;
                Self::found(token, disks)
            }
            ([name], None) => {
                let (group, lv) = disks.scan.find_volume(name).map_err(failed)?;
                let since = match arguments.value(&SINCE) {
                    None => None,
                    Some(since) => {
                        let (other, since_lv) = disks.scan.find_volume(since).map_err(failed)?;
                        if other.uuid != group.uuid {
                            return Err(Error::failed(format!(
                                "{since} and {name} are in two groups: nothing is known of where \
                                 they differ"
                            )));
                        }
                        Some(since_lv)
                    }
                };
                Ok(Self {
                    group,
                    lv,
                    since,
                    token: None,
                })
            }
            _ => Err(Error::usage(
                "send: name one volume, as in: ashlar send vg0/monday > FILE; or only --resume and \
                 a token",
            )),
        }
    }

    /// The moments that a token means.
    fn found(token: Token, disks: &'a Disks) -> Result<Self, Error> {
        let mut groups = disks.scan.groups.iter();
        let moment = groups.find_map(|group| Some((group, Moment::find(group, token.moment)?)));
        let Some((group, lv)) = moment else {
            return Err(Error::failed(format!(
                "No snapshot here is the moment {}: it was removed, or this is not the machine \
                 that sent it",
                token.moment
            )));
        };
        let since = match token.base {
            None => None,
            Some(base) => Some(Moment::find(group, base).ok_or_else(|| {
                Error::failed(format!(
                    "No snapshot of {} is the moment {base}, since which it was sent: it was \
                     removed",
                    group.name
                ))
            })?),
        };
        Ok(Self {
            group,
            lv,
            since,
            token: Some(token),
        })
    }

    fn name(&self, lv: LvId) -> String {
        format!("{}/{}", self.group.name, self.group.model.lv(lv).name())
    }

    /// The head of the stream, and which bytes are in it.
    fn plan(
        &self,
        disks: &Disks,
        opened: &Opened,
        since: Option<&Opened>,
    ) -> Result<(Header, Vec<Range>), Error> {
        let failed = |error: ashlar::Error| Error::failed(error.to_string());
        let info = opened.volume.info();
        let moment = Moment::of(self.group, self.lv);
        let mut ranges = vec![Range::new(0, info.size)];
        if let Some(base) = self.since {
            let mut activator = Activator::new(&disks.scan, &disks.host);
            let changed = activator
                .changed(self.group, base, self.lv)
                .map_err(failed)?;
            assert_eq!(changed.size, info.size, "both are of one scan");
            ranges = aligned(&changed.to_read(), u64::from(info.logical_block), info.size);
        }
        let from = self.token.map(|token| (token.position, token.chain));
        if let Some((position, _)) = from {
            if moment.permanence != Permanence::Lasting {
                return Err(Error::failed(format!(
                    "{} may have been written since: send it again from its beginning",
                    moment.name
                )));
            }
            if position > info.size || position % u64::from(info.logical_block) != 0 {
                return Err(Error::failed("The token is of another volume"));
            }
            let rest = Range::new(position, info.size - position);
            let left = ranges.iter().filter_map(|range| range.intersection(rest));
            ranges = left.collect();
        }
        debug_assert_eq!(since.is_some(), self.since.is_some());
        let header = Header {
            name: moment.name,
            volume: moment.volume,
            moment: moment.uuid,
            base: self.since.map(|base| Moment::of(self.group, base).uuid),
            permanence: moment.permanence,
            size: info.size,
            from,
        };
        Ok((header, ranges))
    }
}

/// The same ranges, and what is beside them in their blocks.
fn aligned(ranges: &[Range], block: u64, size: u64) -> Vec<Range> {
    let mut all: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let start = range.start() - range.start() % block;
        let end = range.end().next_multiple_of(block).min(size);
        match all.last_mut() {
            Some(last) if start <= last.end() => {
                *last = Range::new(last.start(), end.max(last.end()) - last.start());
            }
            _ => all.push(Range::new(start, end - start)),
        }
    }
    all
}

fn total(ranges: &[Range]) -> u64 {
    ranges.iter().map(|range| range.len()).sum()
}

/// Says what nobody will be able to go on with.
fn warn(session: &mut Session, header: &Header) {
    let (name, is_volume) = (&header.name, header.moment == header.volume);
    if header.permanence == Permanence::Passing && !is_volume {
        session.tell(&format!(
            "{name} may be written: a stream of it that is interrupted has to be sent again from \
             its beginning (lvchange -pr {name} first makes it one that is gone on with)"
        ));
    }
}

fn send(
    opened: &Opened,
    ranges: &[Range],
    mut writer: Writer<BufWriter<File>>,
) -> Result<(), Error> {
    let total = total(ranges);
    let (mut bar, mut done) = (Bar::new(total), 0);
    let read = read_ranges(&opened.volume, ranges, Holes::Skip, |start, piece| {
        done += match piece {
            Piece::Data(bytes) => {
                writer.bytes(start, bytes)?;
                bytes.len() as u64
            }
            Piece::Zeroes(count) => {
                writer.zeroes(Range::new(start, count))?;
                count
            }
        };
        bar.show(done, total - done, String::new);
        Ok::<_, Error>(())
    });
    bar.clear();
    read?;
    writer.finish()?;
    Ok(())
}

/// What would be sent, for programs.
#[derive(Serialize)]
struct Planned<'a> {
    name: &'a str,
    moment: String,
    base: Option<String>,
    size: u64,
    position: u64,
    read: u64,
    ranges: usize,
    resumable: bool,
}

/// What would be sent.
fn shown(
    arguments: &Arguments,
    session: &mut Session,
    header: &Header,
    ranges: &[Range],
    since: Option<&Opened>,
) -> Result<(), Error> {
    let (name, size, count) = (&header.name, header.size, ranges.len());
    let bytes = total(ranges);
    if arguments.has(&JSON) {
        let planned = Planned {
            name,
            moment: header.moment.to_string(),
            base: header.base.map(|base| base.to_string()),
            size,
            position: header.position(),
            read: bytes,
            ranges: count,
            resumable: header.permanence == Permanence::Lasting,
        };
        let line = serde_json::to_string(&planned).expect("texts and numbers can be written");
        return Ok(session.line(&line)?);
    }
    let since = since.map_or_else(String::new, |since| format!(" since {}", since.name));
    let line = format!("{name}{since}: {bytes} of {size} bytes to read, in {count} ranges");
    Ok(session.line(&line)?)
}

#[cfg(test)]
mod tests;
