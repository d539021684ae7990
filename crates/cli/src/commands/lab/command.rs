//! The command, and its words.

use super::{advise, audit, calibrate, disk, drive, list, measure, record, report, run, trace};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::{Session, open};

pub(super) const SEED: Flag = Flag::value(
    "seed",
    "Number",
    "The seed of the first replicate, 1 unless given; the others follow it.",
);
pub(super) const REPLICATES: Flag = Flag::value(
    "replicates",
    "Number",
    "How often each combination is run, instead of what the experiment says. Intervals need 6.",
);
pub(super) const OUTPUT: Flag = Flag::value(
    "output",
    "File",
    "Where the result goes: lines of run (ashlar-lab.jsonl unless given), the page of report \
     (ashlar-lab.html), a trace.",
);
pub(super) const JSON: Flag = Flag::switch("json", "Print JSON: one object in each line.");

/// Where results go unless told otherwise.
pub(super) const RESULTS: &str = "ashlar-lab.jsonl";

/// `lab`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "lab",
    summary: "Find out what layouts cost, in virtual time",
    operands: "run|measure|drive|list|report|audit|advise|disk|calibrate|record|replay|trace \
        [WORD ...]",
    description: "Runs experiments on emulated disks, through the mapping that serves volumes, and \
        gives claims about the cost of layers their verdict. Only `measure', `calibrate' and \
        `record' touch real disks.\n\n\
        `run [EXPERIMENT ...|seeds]' runs experiments, all of them as `seeds' or without a name, \
        and appends a line for each run to a file of results. What the file has already is not run \
        again, so a command that was interrupted goes on when it is repeated.\n\n\
        `measure [EXPERIMENT ...]' measures the real data path on this machine beside its image \
        file: volumes, loop devices, NBD, FUSE; on images of its own in memory and in a \
        directory, in some minutes. Needs root for loop devices and FUSE, and says what it leaves \
        out. Its lines go to the same file, and it goes on as `run' does.\n\n\
        `drive [--mount FOLDER] -- COMMAND ...' runs a real program, such as PostMark, Bonnie++, \
        dbench, tar or fio, in a directory of a mounted volume, checks what it prints as `audit' \
        does, and keeps it with its times.\n\n\
        `list' shows the experiments and which claims they decide.\n\n\
        `report [RESULTS]' judges the claims and writes a page of HTML that needs nothing else.\n\n\
        `audit FILE ...' checks published results (fio, Bonnie, Bonnie++, PostMark, tables) for \
        numbers that cannot be right together; it fails if there are any.\n\n\
        `advise --workload W --disks PROFILE[xN],...' predicts every layout of these disks under a \
        load (linear, in equal shares, striped with several chunks, mirrored, at the beginning or \
        the end of the disks), ranks them with 95 % intervals, marks ties and the Pareto front, \
        and checks the best few by emulation. --output writes a page (.html) or its chart \
        (.svg).\n\n\
        `disk list', `disk show NAME' and `disk import DIR NAME' show known disks, and read the \
        parameter files of measured ones; --output keeps the profile as a file of TOML. Where a \
        disk of the catalogue can be named, such a FILE.toml can too.\n\n\
        `calibrate DEVICE' times a disk, or disk:NAME of the catalogue, and prints a \
        profile of it, which --output keeps. It only reads, unless --write is given.\n\n\
        `record VG/LV --output FILE -- COMMAND ...' attaches a volume, mounts the file system on \
        it, runs a command there, and writes a trace of all requests, each labelled by what its \
        place is for. The command starts in the file system, and finds the node in $device and the \
        directory in $mountpoint. Needs root.\n\n\
        `trace show FILE', `trace import FILE ...', `trace export FILE' and `trace label FILE \
        IMAGE [IMAGE-BEFORE]' show a trace, make one of blktrace's files or fio's log, make fio's \
        log of one, and label one by the layout of ext2, ext3, ext4 or XFS.\n\n\
        `replay FILE' runs a trace in virtual time on a disk (--disk) or a stack (--layout), and \
        gives times by class.",
    flags: &[
        &[
            SEED,
            REPLICATES,
            OUTPUT,
            JSON,
            measure::FOLDER,
            measure::QUICK,
            calibrate::WRITE,
            record::MOUNT,
            trace::DISK,
            trace::LAYOUT,
            trace::SELECT,
            advise::WORKLOAD,
            advise::DISKS,
            advise::SIZE,
            advise::TOP,
            advise::EMULATE,
        ],
        open::FLAGS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "ashlar lab run seeds",
            does: "runs every experiment on the claims of the seed documents",
        },
        Example {
            line: "ashlar lab run striping --replicates 6",
            does: "runs one, a little shorter",
        },
        Example {
            line: "ashlar lab measure --folder /srv",
            does: "measures the real data path, with images on the disk of /srv",
        },
        Example {
            line: "ashlar lab report --output costs.html",
            does: "writes the report of what was run",
        },
        Example {
            line: "ashlar lab audit results.json",
            does: "looks for impossible numbers in the output of fio",
        },
        Example {
            line: "ashlar lab advise --workload oltp --disks wd800bd-likex4 --size 40G",
            does: "ranks the layouts of four drives for a database",
        },
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
            "lab: say what to do, for instance run seeds; `ashlar help lab' names the rest",
        ));
    };
    match word.as_str() {
        "run" => run::run(rest, arguments, session),
        "measure" => measure::measured(rest, arguments, session),
        "drive" => drive::driven(rest, arguments, session),
        "list" => list::list(rest, arguments, session),
        "report" => report::report(rest, arguments, session),
        "advise" => advise::advised(rest, arguments, session),
        "audit" => audit::audit(rest, arguments, session),
        "disk" => disk::disk(rest, arguments, session),
        "calibrate" => calibrate::calibrated(rest, arguments, session),
        "record" => record::record(rest, arguments, session),
        "replay" => trace::replayed(rest, arguments, session),
        "trace" => trace::trace(rest, arguments, session),
        _ => Err(Error::usage(format!(
            "lab: there is no '{word}'; `ashlar help lab' names what is there"
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
