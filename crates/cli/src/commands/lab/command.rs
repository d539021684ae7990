//! The command, and its words.

use super::{calibrate, record, trace};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::{Session, open};

pub(super) const SEED: Flag = Flag::value(
    "seed",
    "Number",
    "The seed of the first replicate, 1 unless given; the others follow it.",
);
pub(super) const OUTPUT: Flag = Flag::value("output", "File", "Where the result goes.");

/// `lab`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "lab",
    summary: "Find out what layouts cost, in virtual time",
    operands: "calibrate|record|replay|trace [WORD ...]",
    description: "`calibrate DEVICE' times a disk, or disk:NAME of the catalogue, and prints a \
        profile of it. It only reads, unless --write is given.\n\n\
        `record VG/LV --output FILE -- COMMAND ...' attaches a volume, mounts the file system on \
        it, runs a command there, and writes a trace of all requests, each labelled by what its \
        place is for. The command starts in the file system, and finds the node in $device and the \
        folder in $mountpoint. Needs root.\n\n\
        `trace show FILE', `trace import FILE ...', `trace export FILE' and `trace label FILE \
        IMAGE [IMAGE-BEFORE]' show a trace, make one of blktrace's files or fio's log, make fio's \
        log of one, and label one by the layout of ext2, ext3 or ext4.\n\n\
        `replay FILE' runs a trace in virtual time on a disk (--disk) or a stack (--layout), and \
        gives times by class.",
    flags: &[
        &[
            SEED,
            OUTPUT,
            calibrate::WRITE,
            record::MOUNT,
            trace::DISK,
            trace::LAYOUT,
            trace::SELECT,
        ],
        open::FLAGS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "ashlar lab calibrate 'disk:HP 97560'",
            does: "calibrates an emulated disk, in virtual time",
        },
        Example {
            line: "ashlar lab record vg0/data --output tar.trace -- tar xf /root/tree.tar",
            does: "records what tar asks of a volume",
        },
        Example {
            line: "ashlar lab replay tar.trace --disk wd800bd-like",
            does: "says how long it would have taken on another disk",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let Some((word, rest)) = arguments.operands().split_first() else {
        return Err(Error::usage(
            "lab: say what to do: calibrate, record, replay or trace",
        ));
    };
    match word.as_str() {
        "calibrate" => calibrate::calibrated(rest, arguments, session),
        "record" => record::record(rest, arguments, session),
        "replay" => trace::replayed(rest, arguments, session),
        "trace" => trace::trace(rest, arguments, session),
        _ => Err(Error::usage(format!(
            "lab: there is no '{word}'; calibrate, record, replay and trace are there"
        ))),
    }
}

/// The number behind a flag.
pub(super) fn number(arguments: &Arguments, flag: &Flag) -> Result<Option<u64>, Error> {
    // Results keep numbers as JSON does: exact up to here.
    const MOST: u64 = 1 << 53;
    let Some(text) = arguments.value(flag) else {
        return Ok(None);
    };
    let number = text.parse::<u64>().ok().filter(|number| *number < MOST);
    let wrong = || Error::usage(format!("lab: --{}: '{text}' is not a number", flag.long));
    number.map(Some).ok_or_else(wrong)
}

/// What the lab says, as this command's failure.
pub(super) fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed(error.to_string())
}

/// A file's text.
pub(super) fn text_of(path: &str) -> Result<String, Error> {
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|error| Error::failed(format!("{path} cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Error::failed(format!("{path} is not text")))
}
