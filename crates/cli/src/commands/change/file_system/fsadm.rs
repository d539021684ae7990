//! `fsadm`: a file system on any block device is checked, or gets another size, by its own tools.
//!
//! Steps, questions and tools are those of `--resizefs`; here the device keeps its size, unless
//! -l asks for both, which is `lvresize --resizefs`. Exit codes are those of LVM2's script: 1 for a
//! failure, 2 for an interruption, 3 where a file system is mounted and cannot be checked.

use std::fs::File;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use ashlar::apply::Answer;
use ashlar::filesystem::{Content, End, FileSystem};
use ashlar::live::Console;
use lvm2::Bytes;

use super::decide::{
    Check, Decision, Mount, Mounts, Situation, Step, Word, decide, e2fsprogs, plain, shown,
};
use super::least::{EXT_BLOCK_AT, EXT_BLOCK_MAX};
use super::place;
use super::resize::read_node;
use super::size_word::SizeWord;
use super::tools::{self, Asks};
use crate::args::nodes_dir::nodes_dir;
use crate::args::{
    Arguments, Command, Error, Example, Flag, Kind, Target, flags, parse, split_target,
};
use crate::attachment::Runtime;
use crate::commands::change::table::find;
use crate::commands::change::terminal::Terminal;
use crate::commands::{PrivateFolder, Session};

/// `-e`
const OFFLINE: Flag = Flag::switch(
    "extoffline",
    "Unmount ext2, ext3 and ext4 while they are resized, also where they could stay mounted.",
)
.short('e');
/// `-f`
const FORCE: Flag = Flag::switch(
    "force",
    "Check ext2, ext3 and ext4 also where they seem to be clean. No check is left out for it.",
)
.short('f');
/// `-n`
const DRY_RUN: Flag =
    Flag::switch("dryrun", "Print what would be run, and run nothing.").short('n');
/// `-l`
const LVRESIZE: Flag = Flag::switch(
    "lvresize",
    "Give the logical volume the size, too, as lvresize --resizefs does.",
)
.short('l');
/// `-c`
const CRYPTRESIZE: Flag = Flag::switch(
    "cryptresize",
    "Refused: cryptsetup resize changes a dm-crypt device.",
)
.short('c');

/// `fsadm`
pub(crate) const FSADM: Command = Command {
    name: "fsadm",
    summary: "Check or resize a file system by its own tools",
    operands: "check|resize DEVICE|VG/LV [SIZE]",
    description: "check runs e2fsck -p, xfs_repair -n or btrfs check on the file system of a block \
        device that is not mounted; one that is mounted is left alone, with exit code 3. resize \
        gives it the size, or that of the device: a number of its blocks, or one behind which B, \
        K, M, G, T, P or E stands (powers of 1024). XFS only grows, to the size of its device; \
        btrfs and XFS are mounted for it where they are not. ext2, ext3 and ext4 are checked \
        first, and unmounted where they have to be, after a question, and mounted again.\n\n\
        The exit code is 1 for every failure, and 2 after an interruption.",
    flags: &[
        &[OFFLINE, FORCE, DRY_RUN, LVRESIZE, CRYPTRESIZE],
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "fsadm check /dev/vg0/data",
            does: "checks what is on an active volume",
        },
        Example {
            line: "fsadm -n resize /dev/vg0/data 1000M",
            does: "shows what would be run",
        },
        Example {
            line: "fsadm -l -y resize vg0/data 2G",
            does: "gives the volume and its file system 2 GiB",
        },
    ],
    run,
};

const FAILED: u8 = 1;
const INTERRUPTED: u8 = 2;
const MOUNTED: u8 = 3;

/// An error of `command`, or of its words, with the exit status that callers of `fsadm` know.
pub(crate) fn own_status(command: &Command, error: Error, session: &mut Session) -> Error {
    match error.kind() {
        _ if command.name != FSADM.name => error,
        Kind::Ended(_) | Kind::Pipe => error,
        Kind::Reported => Error::ended(FAILED),
        _ => {
            session.error(&error.to_string());
            Error::ended(FAILED)
        }
    }
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let done = work(arguments, session);
    done.map_err(|error| own_status(&FSADM, error, session))
}

fn work(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.has(&CRYPTRESIZE) {
        return Err(Error::failed(
            "Use cryptsetup resize for a dm-crypt device.",
        ));
    }
    let operands = arguments.operands();
    match operands.first().map(String::as_str) {
        Some("check" | "resize") => {}
        Some(word) => return Err(Error::failed(format!("Wrong argument \"{word}\"."))),
        None => return Err(Error::failed("Missing command: check or resize.")),
    }
    match operands {
        [_] => Err(Error::failed("Missing device.")),
        [what, device] if what == "check" => check(device, arguments, session),
        [what, device] if what == "resize" => resize(device, None, arguments, session),
        [what, device, size] if what == "resize" => resize(device, Some(size), arguments, session),
        [.., word] => Err(Error::failed(format!("Wrong argument \"{word}\"."))),
        [] => unreachable!("there is a first one"),
    }
}

/// A device, and what is on it.
struct Found {
    /// As it was named.
    name: String,
    node: PathBuf,
    size: Bytes,
    content: Content,
    mounts: Vec<Mount>,
}

impl Found {
    fn new(name: &str, arguments: &Arguments, session: &mut Session) -> Result<Self, Error> {
        let node = node_of(name, arguments, session)?;
        let unusable = |error| Error::failed(format!("Cannot use {name}")).because(error);
        let kind = std::fs::metadata(&node).map_err(unusable)?.file_type();
        if !kind.is_block_device() {
            // Nobody knows who has mounted what is in a file.
            let what = format!("{name} is no block device: attach what is in it first.");
            return Err(Error::failed(what));
        }
        let mut file = File::open(&node).map_err(unusable)?;
        let size = std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).map_err(unusable)?;
        Ok(Self {
            name: name.to_owned(),
            size: Bytes(size),
            content: read_node(&node)?,
            mounts: place::mounts(&node)?,
            node,
        })
    }

    /// The one file system on it.
    fn file_system(&self) -> Result<&FileSystem, Error> {
        match &self.content.found[..] {
            [] => Err(Error::failed(format!(
                "No file system found on {}.",
                self.name
            ))),
            [fs] => match fs.name {
                "ext2" | "ext3" | "ext4" | "xfs" | "btrfs" => Ok(fs),
                other => Err(Error::failed(format!(
                    "File system {other} on {} is not supported by fsadm.",
                    self.name
                ))),
            },
            _ => Err(Error::failed(format!(
                "Several file systems found on {}; wipe the signatures of those that are not used \
                 (wipefs).",
                self.name
            ))),
        }
    }

    fn number(&self, at: u64) -> Result<[u8; 4], Error> {
        let mut bytes = [0; 4];
        let file = File::open(&self.node)?;
        let read = file.read_exact_at(&mut bytes, at);
        let what = || format!("Cannot read {}", self.name);
        read.map_err(|error| Error::failed(what()).because(error))?;
        Ok(bytes)
    }

    /// The bytes of a block.
    fn block(&self, fs: &FileSystem) -> Result<u64, Error> {
        match fs.name {
            "xfs" => Ok(u32::from_be_bytes(self.number(XFS_BLOCK_AT)?).into()),
            "btrfs" => Err(Error::failed("A size of btrfs needs a unit, as in 1000M.")),
            _ => {
                let power = u32::from_le_bytes(self.number(EXT_BLOCK_AT)?);
                Ok(1024 << power.min(EXT_BLOCK_MAX))
            }
        }
    }
}

/// Where the superblock of XFS has the size of a block.
const XFS_BLOCK_AT: u64 = 4;
/// Where that of ext2, ext3 and ext4 has the times of the last mount and the last check.
const EXT_MOUNTED_AT: u64 = 1024 + 44;
const EXT_CHECKED_AT: u64 = 1024 + 64;

/// The node that a word means: a path, or the name of an active volume.
fn node_of(name: &str, arguments: &Arguments, session: &mut Session) -> Result<PathBuf, Error> {
    let path = Path::new(name);
    let config = session.config(arguments)?;
    let in_dir = nodes_dir(&config)?.join(name);
    let candidates = [path, &in_dir];
    if let Some(found) = candidates.into_iter().find(|path| path.exists()) {
        return Ok(found.canonicalize()?);
    }
    let found = attached(name)?.and_then(|record| record.node);
    found.ok_or_else(|| {
        Error::failed(format!(
            "{name} is not there: it is neither a device nor a volume that is active."
        ))
    })
}

/// The attachment of a volume, by its name or node.
fn attached(name: &str) -> Result<Option<crate::attachment::Record>, Error> {
    let Some(runtime) = Runtime::if_there() else {
        return Ok(None);
    };
    Ok(runtime.find(name)?.map(|found| found.record))
}

fn check(name: &str, arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let found = Found::new(name, arguments, session)?;
    let fs = found.file_system()?;
    say(
        session,
        arguments,
        &format!("File system {} found on {name}.", fs.name),
    )?;
    if let Some(mount) = found.mounts.first() {
        let point = mount.point.display();
        session.tell(&format!("{name} is mounted at {point}: it is not checked."));
        return Err(Error::ended(MOUNTED));
    }
    let step = match fs.name {
        "xfs" => Step {
            program: "xfs_repair",
            package: "xfsprogs",
            words: vec![plain("-n"), Word::Node],
            success: 0,
            mounted: None,
        },
        "btrfs" => Step {
            program: "btrfs",
            package: "btrfs-progs",
            words: vec![plain("check"), Word::Node],
            success: 0,
            mounted: None,
        },
        _ => {
            let [mounted, checked] = [EXT_MOUNTED_AT, EXT_CHECKED_AT].map(|at| found.number(at));
            let is_used = u32::from_le_bytes(mounted?) > u32::from_le_bytes(checked?);
            let mut words = vec![plain("-p"), Word::Node];
            if is_used || arguments.has(&FORCE) {
                words.insert(0, plain("-f"));
            }
            // 1: it found errors, and corrected them.
            Step {
                success: 1,
                ..e2fsprogs("e2fsck", words)
            }
        }
    };
    let decision = Decision {
        after: vec![step],
        ..Decision::default()
    };
    Job::new(&found, &decision, arguments)?.run(session)
}

fn resize(
    name: &str,
    size: Option<&str>,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let size = size.map(SizeWord::parse).transpose()?;
    if arguments.has(&LVRESIZE)
        && let Some(size) = size
    {
        return with_volume(name, size, arguments, session);
    }
    let found = Found::new(name, arguments, session)?;
    let fs = found.file_system()?;
    let new = match size {
        None => found.size,
        Some(SizeWord::Bytes(bytes)) => Bytes(bytes),
        Some(SizeWord::Blocks(blocks)) => Bytes(blocks.saturating_mul(found.block(fs)?)),
    };
    if new > found.size {
        return Err(Error::failed(format!(
            "{name} has only {}, and {} are wanted: make it larger first; -l does both.",
            shown(found.size),
            shown(new)
        )));
    }
    let decision = decided(&found, fs, new, arguments)?;
    for note in &decision.notes {
        say(session, arguments, note)?;
    }
    if let Some(question) = &decision.question
        && !arguments.has(&DRY_RUN)
        && Terminal.ask(question) == Answer::No
    {
        let what = format!("File system on {name} NOT resized.");
        return Err(Error::failed(what));
    }
    Job::new(&found, &decision, arguments)?.run(session)
}

/// What is to be done, where the device keeps its size.
fn decided(
    found: &Found,
    fs: &FileSystem,
    new: Bytes,
    arguments: &Arguments,
) -> Result<Decision, Error> {
    let End::At(end) = fs.end else {
        unreachable!("those that are supported say where they end");
    };
    let is_smaller = new < end;
    let is_ext = fs.name.starts_with("ext");
    let is_ended = arguments.has(&OFFLINE) && is_ext && !found.mounts.is_empty() && !is_smaller;
    let mode = match (is_ended, arguments.has(&flags::YES)) {
        (true, _) => Mounts::Ended,
        (false, true) => Mounts::Managed,
        (false, false) => Mounts::Asked,
    };
    let mut decision = decide(&Situation {
        name: &found.name,
        old: found.size,
        new: if is_smaller { new } else { found.size },
        content: &found.content,
        mounts: &found.mounts,
        is_swap_on: false,
        mode,
        check: Check::Needed,
    })?;
    if !is_smaller && new < found.size {
        let step = decision.after.last_mut();
        let step = step.expect("one makes it larger");
        match fs.name {
            "btrfs" => {
                return Err(Error::failed(
                    "btrfs is made smaller, or as large as its device; leave the size out.",
                ));
            }
            // As by LVM2's script, it gets all of its device.
            "xfs" => {}
            _ => step.words.push(plain(format!("{}k", new.0 / 1024))),
        }
    }
    if let Some(mount) = found.mounts.first().filter(|_| is_ended) {
        let point = plain(mount.point.clone());
        decision.finally.push(Step {
            program: "mount",
            package: "mount",
            words: vec![plain("-o"), plain(mount.options.clone()), Word::Node, point],
            success: 0,
            mounted: None,
        });
        let point = mount.point.display();
        let question = format!("Do you want to unmount \"{point}\"? [y/n]: ");
        decision.question = Some(question).filter(|_| !arguments.has(&flags::YES));
    }
    Ok(decision)
}

/// The volume and its file system together: `lvresize --resizefs`.
fn with_volume(
    name: &str,
    size: SizeWord,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let volume = match (attached(name)?, split_target(name)) {
        (Some(record), _) => record.volume,
        (None, Target::Lv(lv)) => format!("{}/{}", lv.vg, lv.lv),
        (None, _) => {
            let what = format!("{name} is no logical volume, whose size could be changed.");
            return Err(Error::failed(what));
        }
    };
    let SizeWord::Bytes(bytes) = size else {
        let what = "With -l the size of the volume needs a unit, as in 1000M.";
        return Err(Error::failed(what));
    };
    let (command, _) = find("lvresize").expect("it is in the table");
    let own = [&OFFLINE, &FORCE, &DRY_RUN, &LVRESIZE];
    let mut words = arguments.options(&own);
    words.extend(["--resizefs".to_owned(), format!("--size={bytes}b")]);
    if arguments.has(&DRY_RUN) {
        words.push("--test".to_owned());
    }
    words.extend(["--".to_owned(), volume]);
    let arguments = parse(command, &words)?;
    session.begin(command, &arguments);
    (command.run)(&arguments, session)
}

fn say(session: &mut Session, arguments: &Arguments, text: &str) -> Result<(), Error> {
    if arguments.has(&flags::VERBOSE) {
        session.line(text)?;
        session.out().flush()?;
    }
    Ok(())
}

/// Steps on a device.
struct Job<'a> {
    found: &'a Found,
    decision: &'a Decision,
    arguments: &'a Arguments,
    point: PathBuf,
    /// The mount point, if it was made for this.
    _directory: Option<PrivateFolder>,
}

impl<'a> Job<'a> {
    fn new(
        found: &'a Found,
        decision: &'a Decision,
        arguments: &'a Arguments,
    ) -> Result<Self, Error> {
        let mut steps = decision.before.iter().chain(&decision.after);
        let is_mounted = steps.any(|step| step.mounted.is_some()) && !arguments.has(&DRY_RUN);
        let directory = is_mounted.then(PrivateFolder::make).transpose()?;
        let made = directory.as_ref().map(|made| made.path().to_owned());
        let point = found.mounts.first().map(|mount| mount.point.clone());
        Ok(Self {
            found,
            decision,
            arguments,
            point: point
                .or(made)
                .unwrap_or_else(|| PathBuf::from("MOUNTPOINT")),
            _directory: directory,
        })
    }

    fn run(&self, session: &mut Session) -> Result<(), Error> {
        let Decision {
            before,
            after,
            finally,
            ..
        } = self.decision;
        if self.arguments.has(&DRY_RUN) {
            for step in before.iter().chain(after).chain(finally) {
                let line = tools::shown(step, &self.found.node, &self.point);
                session.line(&format!("Dry execution {line}"))?;
            }
            return Ok(());
        }
        tools::require(before.iter().chain(after).chain(finally))?;
        let mut asks = Asks::watch()?;
        let mut is_unmounted = false;
        let mut outcome = Ok(());
        for step in before.iter().chain(after) {
            if asks.is_asked() {
                session.error("Interrupted.");
                outcome = Err(Error::ended(INTERRUPTED));
                break;
            }
            outcome = self.step(step, session);
            if outcome.is_ok() && step.program == "umount" {
                is_unmounted = true;
                outcome = place::unmounted(&self.found.name, &self.found.node);
            }
            if outcome.is_err() {
                break;
            }
        }
        let again = finally.iter().filter(|_| is_unmounted);
        let mounted = again.map(|step| self.step(step, session));
        let mounted = mounted.fold(Ok(()), Result::and);
        match (outcome, mounted) {
            (Err(error), Err(later)) => {
                session.error(&later.to_string());
                Err(error)
            }
            (outcome, mounted) => outcome.and(mounted),
        }
    }

    fn step(&self, step: &Step, session: &mut Session) -> Result<(), Error> {
        let (node, point) = (&self.found.node, &self.point);
        let line = tools::shown(step, node, point);
        say(session, self.arguments, &format!("Executing {line}"))?;
        let date = session.config(self.arguments)?.source_date();
        let printed = tools::run(step, node, point, date)?;
        for line in printed.lines().filter(|line| !line.trim().is_empty()) {
            say(session, self.arguments, line)?;
        }
        Ok(())
    }
}
