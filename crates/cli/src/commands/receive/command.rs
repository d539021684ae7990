//! The command: its options, and what is checked before anything is written.

use std::io::{BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use ashlar::activate::MissingPolicy;
use ashlar::live::Use;
use ashlar::stream::{Header, Note, Reader, Verdict};
use block::Device;
use lvm2::Uuid;

use super::input::Input;
use super::shown::{Form, again, position, show};
use super::state::State;
use super::take::{Ended, Taking};
use crate::args::{Arguments, Command, Error, Example, Flag, Kind, flags};
use crate::commands::cp::{Place, Signals, Start, Target};
use crate::commands::open::take;
use crate::commands::{Disks, Session};

/// Small records come together.
const BUFFER: usize = 256 << 10;

/// `--state`
const STATE: Flag = Flag::value(
    "state",
    "File",
    "Keep in this file what the target holds: it decides which stream may follow. Left out, it is \
     FILE.received beside a file; a volume has none of its own.",
);
const STATUS: Flag = Flag::switch(
    "status",
    "Receive nothing; say what the target holds, and how to go on.",
);
const RESUME_TOKEN: Flag = Flag::switch(
    "resume-token",
    "Receive nothing; print the token for ashlar send --resume, or fail if there is none.",
);
const JSON: Flag = Flag::switch(
    "json",
    "Print what the target holds, in the end or with --status, as one JSON object; all numbers \
     are bytes.",
);

/// `receive`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "receive",
    summary: "Receive a stream of ashlar send into a volume or a file",
    operands: "VG/LV|FILE",
    description: "Reads a stream of ashlar send from standard input and makes a volume, a file or \
        a block device what was sent. A volume or a device must not be smaller than that; what \
        lies behind it stays as it is. The target is held as by ashlar cp meanwhile.\n\n\
        A stream with only what differs from an older snapshot is refused unless the target \
        received that last, all of it, and was not changed since; so is one for a target that has \
        only a part of another. What the target holds is kept in a file (--state), which belongs \
        to it. Do not write to the target between two streams; what is mounted for writing is \
        changed. Take a snapshot of it and use that.\n\n\
        Every record is checked before a byte of it is used. When the command ends well, all of \
        the stream was there and is on stable storage. When the stream ends early the exit status \
        is 6: what came stays, and the token that is printed goes on behind it (ashlar send \
        --resume). Nothing is sent twice, but for a record that came in part and, after a crash, \
        what came in the last seconds.",
    flags: &[&[STATE, STATUS, RESUME_TOKEN, JSON], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar send vg0/monday | ashlar receive data.img",
            does: "makes an image of a snapshot, which later streams change",
        },
        Example {
            line: "ashlar receive --state /var/lib/data.note vg1/data < tuesday.stream",
            does: "brings a volume from the moment that it holds to the next one",
        },
        Example {
            line: "ashlar receive --status --json data.img",
            does: "tells a program what data.img holds, and how far an interrupted stream came",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [word] = arguments.operands() else {
        return Err(Error::usage(
            "receive: name a volume or a file, as in: ashlar receive data.img < FILE",
        ));
    };
    let disks = session.disks(arguments)?;
    let place = Place::of(word, &disks.scan)?;
    let (volume, mut state) = state(arguments, &disks, place)?;
    let form = if arguments.has(&JSON) {
        Form::Json
    } else {
        Form::Lines
    };
    if arguments.has(&RESUME_TOKEN) {
        let token = state.note().and_then(Note::token).ok_or_else(|| {
            Error::failed(format!(
                "There is nothing in {word} that can be gone on with"
            ))
        })?;
        return Ok(session.print(&format!("{token}\n"))?);
    }
    if arguments.has(&STATUS) {
        return show(session, word, state.note(), form);
    }
    if std::io::stdin().is_terminal() {
        return Err(Error::usage(
            "receive: the stream comes from a file (<) or a pipe, not from a terminal",
        ));
    }
    let signals = Signals::watch()?;
    let input = BufReader::with_capacity(BUFFER, Input::new(&signals)?);
    let mut reader = Reader::begin(input).map_err(|error| unread(&error, &signals))?;
    let header = reader.header().clone();
    let verdict = Note::permit(state.note(), &header);
    let verdict = verdict.map_err(|error| Error::failed(error.to_string()))?;
    let mut open = Open::new(&disks, place)?;
    open.require_room(word, &header)?;
    if arguments.has(&flags::TEST) {
        return Ok(());
    }
    let mut taking = Taking {
        target: &mut open.target,
        volume,
        state: &mut state,
        signals: &signals,
        name: word,
    };
    if verdict == Verdict::Onto {
        taking.require_unchanged()?;
    }
    taking.begin(&header, reader.stand())?;
    let start = match verdict {
        Verdict::Anew => Start::Anew,
        Verdict::Onto => Start::GoOn,
    };
    taking.target.prepare(header.size, start)?;
    let ended = taking.all(&mut reader);
    // The volume ends before others may have the group.
    let ended = open.close().and(ended)?;
    match ended {
        Ended::Whole if arguments.has(&JSON) => show(session, word, state.note(), form),
        Ended::Whole => Ok(()),
        Ended::Early(error) => Err(interrupted(session, word, &state, error)),
    }
}

/// The note of the target, and the volume that this is.
fn state(
    arguments: &Arguments,
    disks: &Disks,
    place: Place<'_>,
) -> Result<(Option<Uuid>, State), Error> {
    let given = arguments.value(&STATE).map(PathBuf::from);
    match place {
        Place::File(path) if path == Path::new("-") => Err(Error::usage(
            "receive: name a volume or a file: a stream is not made of a stream",
        )),
        Place::File(path) => {
            let path = given.unwrap_or_else(|| State::beside(path));
            Ok((None, State::read(path, None)?))
        }
        Place::Volume(name) => {
            let found = disks.scan.find_volume(name);
            let (group, lv) = found.map_err(|error| Error::failed(error.to_string()))?;
            let uuid = Some(group.model.lv(lv).uuid);
            let path = given.ok_or_else(|| {
                Error::usage(format!(
                    "receive: name a file that says what {name} holds, and belongs to it from now \
                     on: --state FILE"
                ))
            })?;
            Ok((uuid, State::read(path, uuid)?))
        }
    }
}

/// A target that is held.
struct Open {
    target: Target,
    /// Of a volume.
    used: Option<Use>,
}

impl Open {
    fn new(disks: &Disks, place: Place<'_>) -> Result<Self, Error> {
        let failed = |error: ashlar::Error| Error::failed(error.to_string());
        let name = match place {
            Place::File(path) => {
                let target = Target::held(path, &disks.host)?;
                return Ok(Self { target, used: None });
            }
            Place::Volume(name) => name,
        };
        let (group, lv) = disks.scan.find_volume(name).map_err(failed)?;
        let volume = group.model.lv(lv).name();
        let live = take(disks, group.uuid)?;
        let used = live.open(volume, MissingPolicy::default());
        let used = used.map_err(failed)?;
        if used.volume.info().read_only {
            return Err(Error::failed(format!(
                "{name} is not written: its permission is read-only; lvchange -prw changes that"
            )));
        }
        Ok(Self {
            target: Target::volume(&used.volume, name)?,
            used: Some(used),
        })
    }

    fn require_room(&self, name: &str, header: &Header) -> Result<(), Error> {
        let room = self.target.room()?;
        match room.filter(|room| *room < header.size) {
            None => Ok(()),
            Some(room) => Err(Error::failed(format!(
                "{} bytes of {} do not fit into {name}, which has {room}; lvextend makes a volume \
                 larger",
                header.size, header.name
            ))),
        }
    }

    fn close(self) -> Result<(), Error> {
        let Self { target, used } = self;
        drop(target);
        let closed = used.map_or(Ok(()), Use::close);
        closed.map_err(|error| Error::failed(error.to_string()))
    }
}

/// Why there is no stream to be read.
fn unread(error: &ashlar::Error, signals: &Signals) -> Error {
    signals
        .check()
        .err()
        .unwrap_or_else(|| Error::failed(error.to_string()))
}

/// Says what is there of a stream that ended early, and what goes on with it.
fn interrupted(session: &mut Session, name: &str, state: &State, error: Error) -> Error {
    let Some(note) = state.note() else {
        return error;
    };
    let header = &note.header;
    let position = position(note);
    let how = match error.kind() {
        Kind::Incomplete => "The stream ended early",
        Kind::Ended(_) => "Receiving was interrupted",
        _ => "The stream was not taken to its end",
    };
    let next = note.token().map_or_else(
        || again(header.permanence).to_owned(),
        |token| format!("This goes on with it: ashlar send --resume {token}"),
    );
    let said = format!(
        "{how}; {name} has the first {position} of {} bytes of {}\n{next}",
        header.size, header.name
    );
    if error.kind() == Kind::Failed {
        return Error::failed(format!("{error}\n{said}"));
    }
    session.error(&said);
    error
}
