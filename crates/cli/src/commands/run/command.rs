//! The command: its options, what stands behind `--`, and the exit status.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command as Process, ExitStatus};

use ashlar::activate::decide;
use ashlar::apply::HostDisks;
use ashlar::live::LiveGroup;
use ashlar::scan::Options;
use dm::volume::Access;
use export::fuse;
use lvm2::model::Relations;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::held::Held;
use super::image::{Piece, piece};
use super::names::variables;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::open::{self, Opener, unwritable};
use crate::commands::{Disks, Session};

const READ_ONLY: Flag = Flag::switch(
    "readonly",
    "Only read: refuse writes, and leave the disks to others.",
)
.short('r');
const IMAGE: Flag = Flag::switch(
    "image",
    "Give the place of each volume in its image or on its disk instead of a path: also for an \
     ordinary user without FUSE. Only for volumes in one piece.",
);

/// `run`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "run",
    summary: "Run a command that gets a path for each volume",
    operands: "VG/LV ... -- COMMAND [ARGUMENT ...]",
    description: "Attaches volumes, runs a command, detaches them when it ends, and ends with its \
        exit status (128 and the signal's number if a signal ended it, 127 if there is no such \
        command). Whatever ends this process, a kill too, the volumes are detached.\n\n\
        The command finds each volume in a variable: $LV_ROOT is the node (for root) or the file \
        (through FUSE, for others) of vg0/root, $LV_ROOT_SIZE its size in bytes. The name is the \
        volume's in capitals, with _ for what a variable cannot have; $LV_VG0_ROOT is the same, \
        and alone there where two volumes would share the short name.\n\n\
        Where there is no FUSE, and with --image, $LV_ROOT is not set; $LV_ROOT_FILE is the image \
        or disk, and $LV_ROOT_OFFSET the byte at which the volume begins. Only volumes that are \
        one piece have such a place. The command must not write outside of it; nobody else \
        changes the group meanwhile.",
    flags: &[&[READ_ONLY, IMAGE], open::FLAGS, flags::COMMON],
    examples: &[
        Example {
            line: "ashlar run vg0/root -- sh -c 'e2fsck -fy $LV_ROOT && resize2fs -M $LV_ROOT'",
            does: "checks and shrinks a file system",
        },
        Example {
            line: "ashlar --devices disk.img run --image vg0/root -- sh -c 'mkfs.ext4 -E \
                   offset=$LV_ROOT_OFFSET \"$LV_ROOT_FILE\" $((LV_ROOT_SIZE / 1024))k'",
            does: "makes a file system without root and without FUSE",
        },
    ],
    run,
};

/// What a command gets.
enum Given {
    Path(Held),
    Place(Piece),
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let (names, words) = split(arguments)?;
    // Before all else, so that a signal meanwhile is not lost.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCHLD])
        .map_err(|error| Error::failed("Cannot wait for signals").because(error))?;
    let disks = session.disks(arguments)?;
    let mut volumes = Vec::new();
    for name in names {
        let found = disks.scan.find_volume(name);
        let (group, id) = found.map_err(|error| Error::failed(error.to_string()))?;
        let lv = group.model.lv(id);
        let size = lv
            .size(group.model.extent_size)
            .and_then(lvm2::Sectors::to_bytes);
        let name = (group.name.clone(), lv.name().to_owned());
        if volumes.iter().any(|(other, _)| *other == name) {
            return Err(Error::usage(format!(
                "{}/{} is named twice.",
                name.0, name.1
            )));
        }
        volumes.push((name, size.map_or(0, |size| size.0)));
    }
    let is_image = arguments.has(&IMAGE) || fuse::require_device().is_err();
    if !is_image {
        fuse::require_unmounting().map_err(|error| Error::failed(error.to_string()))?;
    }
    let locked = if is_image {
        lock(arguments, &disks, names, session)?
    } else {
        Vec::new()
    };
    let mut given = Vec::new();
    for name in names {
        given.push(if is_image {
            let found = disks.scan.find_volume(name);
            let (group, id) = found.map_err(|error| Error::failed(error.to_string()))?;
            Given::Place(piece(&disks.scan, group, id)?)
        } else {
            Given::Path(Held::attach(name, &arguments.options(&[&IMAGE]))?)
        });
    }
    let outcome = match signals.pending().find(|signal| *signal != SIGCHLD) {
        Some(signal) => Err(ended_by(signal)),
        None => start(words, &volumes, &given).and_then(|child| wait(child, &mut signals)),
    };
    let ended = take_back(given);
    drop(locked);
    outcome.and(ended)
}

/// The volumes, and the command behind `--`.
fn split(arguments: &Arguments) -> Result<(&[String], &[String]), Error> {
    let missing =
        || Error::usage("run: name volumes, and a command behind --, as in: run vg0/root -- fsck");
    let words = arguments.words();
    let mark = words
        .iter()
        .position(|word| word == "--")
        .ok_or_else(missing)?;
    let count = words.len() - mark - 1;
    let operands = arguments.operands();
    let (names, command) = operands.split_at(operands.len().saturating_sub(count));
    if names.is_empty() || command.is_empty() {
        return Err(missing());
    }
    Ok((names, command))
}

/// Keeps the groups from everybody else while the command works on their disks, and looks whether
/// the volumes hold what they say.
fn lock(
    arguments: &Arguments,
    disks: &Disks,
    names: &[String],
    session: &mut Session,
) -> Result<Vec<LiveGroup>, Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let mut groups = Vec::new();
    let mut opener = Opener::new(disks, arguments, Access::ReadOnly)?;
    for name in names {
        opener.open(name, session)?;
        let (group, id) = disks.scan.find_volume(name).map_err(failed)?;
        if arguments.has(&READ_ONLY) {
            continue;
        }
        if !group.model.lv(id).is_writable() {
            return Err(Error::failed(format!(
                "{name} is read-only, which a place in an image cannot be: use --readonly"
            )));
        }
        if Relations::of(&group.model).is_origin(id) {
            return Err(Error::failed(format!(
                "{name} has snapshots, which have to keep what is overwritten, so that its place \
                 in an image is not written: use --readonly, or a path of its own where /dev/fuse \
                 may be used, or by root"
            )));
        }
        decide(&group.model, &group.name, id, Access::ReadWrite)
            .map_err(|error| unwritable(&error))?;
        if !groups.contains(&group.uuid) {
            groups.push(group.uuid);
        }
    }
    drop(opener);
    let all = HostDisks {
        source: disks.source.clone(),
        options: Options::default(),
    };
    let take = |uuid: &lvm2::Uuid| LiveGroup::take(&disks.host, &all, &uuid.to_string());
    groups
        .iter()
        .map(|uuid| take(uuid).map_err(failed))
        .collect()
}

fn start(
    words: &[String],
    volumes: &[((String, String), u64)],
    given: &[Given],
) -> Result<Child, Error> {
    let names: Vec<(String, String)> = volumes.iter().map(|(name, _)| name.clone()).collect();
    let mut process = Process::new(&words[0]);
    process.args(&words[1..]);
    for ((names, given), (_, size)) in variables(&names).iter().zip(given).zip(volumes) {
        for name in names {
            process.env(format!("{name}_SIZE"), size.to_string());
            match given {
                Given::Path(held) => {
                    process.env(name, &held.path);
                }
                Given::Place(piece) => {
                    process.env(format!("{name}_FILE"), &piece.file);
                    process.env(format!("{name}_OFFSET"), piece.offset.to_string());
                }
            }
        }
    }
    process.spawn().map_err(|error| {
        eprintln!("  Cannot run {}: {error}", words[0]);
        let is_missing = error.kind() == std::io::ErrorKind::NotFound;
        // As a shell has it.
        Error::ended(if is_missing { 127 } else { 126 })
    })
}

/// Waits for the end of the command; who asks this process to end, asks the command.
fn wait(mut child: Child, signals: &mut Signals) -> Result<(), Error> {
    let pid = Pid::from_raw(child.id().cast_signed());
    for signal in signals.forever() {
        let ended = child.try_wait();
        match ended.map_err(|error| Error::failed("Cannot wait for the command").because(error))? {
            Some(status) => return exit_status(status),
            None => match signal {
                SIGTERM => pid.map(|pid| kill_process(pid, Signal::TERM)),
                SIGHUP => pid.map(|pid| kill_process(pid, Signal::HUP)),
                // The terminal sends those to the command as well.
                _ => None,
            },
        };
    }
    Ok(())
}

/// The end of a command as our own.
pub(in crate::commands) fn exit_status(status: ExitStatus) -> Result<(), Error> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Error::ended(u8::try_from(code).unwrap_or(u8::MAX))),
        (None, signal) => Err(ended_by(signal.unwrap_or(0))),
    }
}

fn ended_by(signal: i32) -> Error {
    Error::ended(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// Detaches everything, in the opposite order: the first server may own the groups of the others.
fn take_back(given: Vec<Given>) -> Result<(), Error> {
    let mut outcome = Ok(());
    let mut files: Vec<PathBuf> = Vec::new();
    for one in given.into_iter().rev() {
        match one {
            Given::Path(held) => outcome = outcome.and(held.end()),
            Given::Place(piece) => files.push(piece.file),
        }
    }
    for file in files {
        // What cannot even be opened for writing was not written.
        let Ok(open) = std::fs::File::options().write(true).open(&file) else {
            continue;
        };
        let what = format!(
            "What was written to {} may not be on the disk",
            file.display()
        );
        outcome = outcome.and(
            open.sync_all()
                .map_err(|error| Error::failed(what).because(error)),
        );
    }
    outcome
}
