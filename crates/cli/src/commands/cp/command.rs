//! The command: its options, and what is checked before anything is written.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ashlar::activate;
use ashlar::live::{LiveGroup, Use};
use block::salvage::Map;
use block::{Device, Piece};
use dm::volume::Access;
use lvm2::Uuid;
use lvm2::model::Relations;

use super::bar::Bar;
use super::journal::{Identity, Journal};
use super::place::Place;
use super::source::Source;
use super::target::{Start, Target};
use super::volume::{Job, RETRIES, REVERSE, command_again, require_copy};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::open::{FLAGS, Opened, Opener, take};
use crate::commands::{Disks, Session};

/// How a qcow2 image begins.
const QCOW2: &[u8; 4] = b"QFI\xfb";

/// `--map`
const MAP: Flag = Flag::value(
    "map",
    "File",
    "Keep in this file, in the format of GNU ddrescue, what of a volume was copied. If it is \
     there, the copy that it belongs to is gone on with. Without it a copy to a file has one \
     beside it, FILE.map, until it is whole.",
);
/// `cp`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "cp",
    summary: "Copy a logical volume into a file, or a file into a volume",
    operands: "VG/LV|FILE VG/LV|FILE",
    description: "Copies a volume, straight from the disks, into a file or onto a block device, or \
        a file, a block device or another volume into a volume.\n\n\
        Into a file: where the volume is known to hold zeros, or a whole block of zeros is read, a \
        new file gets a hole. An existing file is replaced; on a device every byte is written. \
        What is in use (mounted, served, the image of a virtual machine) or a physical volume is \
        not touched.\n\n\
        Into a volume: what is copied must not be larger than the volume; what lies behind it in \
        the volume stays as it is. Holes and blocks of zeros become holes in the disks where these \
        can have any. A volume that is served, active in the kernel or read-only is not written, \
        and nobody else changes or serves its group meanwhile.\n\n\
        - is standard input or output, and a pipe is read to its end; the volume must have room \
        for all of it.\n\n\
        With --partial, a volume is copied as far as it can be read. Bytes on disks that are \
        missing are left out; where a read fails, the rest of the volume comes first, and then \
        what is around the bad place, block by block. What is not there are zeros (holes in a \
        file); it is said in the end how much that is and where on which disk, and the exit \
        status is 6.\n\n\
        A copy to a file that was interrupted has a map beside it, and the command that goes on \
        with it is printed; --map goes on also after the program was killed, and when a disk has \
        come back.\n\n\
        On a terminal a bar shows how far it is, with the rate of the last seconds. When the \
        command ends well, the copy is on stable storage.",
    flags: &[&[MAP, RETRIES, REVERSE], FLAGS, flags::COMMON],
    examples: &[
        Example {
            line: "ashlar cp vg0/root root.img",
            does: "makes an image of a volume",
        },
        Example {
            line: "ashlar cp root.img vg0/root",
            does: "fills a volume from an image",
        },
        Example {
            line: "zstd -dc root.img.zst | ashlar cp - vg0/root",
            does: "fills it from a compressed one",
        },
        Example {
            line: "ashlar cp --partial --map root.map --retries 2 vg0/root root.img",
            does: "saves what can be read of a volume on a bad disk; the same again goes on",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [from, to] = arguments.operands() else {
        return Err(Error::usage(
            "cp: name a volume and a file, as in: ashlar cp vg0/root root.img",
        ));
    };
    let disks = session.disks(arguments)?;
    let places = (Place::of(from, &disks.scan)?, Place::of(to, &disks.scan)?);
    match places {
        (Place::File(_), Place::File(_)) => {
            // Says which volume is not there.
            let missing = disks.scan.find_volume(from).err();
            Err(Error::failed(missing.map_or_else(
                || "Neither operand is a volume".to_owned(),
                |error| error.to_string(),
            )))
        }
        (Place::Volume(name), Place::File(path)) => {
            out_of_volume(arguments, session, &disks, name, path)
        }
        (source, Place::Volume(name)) => into_volume(arguments, session, &disks, source, name),
    }
}

fn out_of_volume(
    arguments: &Arguments,
    session: &mut Session,
    disks: &Disks,
    name: &str,
    path: &Path,
) -> Result<(), Error> {
    let opener = Opener::new(disks, arguments, Access::ReadOnly)?;
    let opened = opener.through_page_cache().open(name, session)?;
    let job = Job::new(disks, opened, arguments)?;
    let to = path.display().to_string();
    if path.extension().is_some_and(|end| end == "qcow2") {
        session.tell(&format!(
            "WARNING: {to} gets the bytes of the volume as they are; qemu-img convert -f raw -O \
             qcow2 makes a qcow2 image of them."
        ));
    }
    let is_test = arguments.has(&flags::TEST);
    let size = job.opened().volume.info().size;
    if let Some(mut stream) = Target::stream(path)? {
        if arguments.has(&MAP) {
            return Err(Error::usage(format!(
                "{to} takes one byte after the other: no --map goes on with it"
            )));
        }
        if is_test {
            return Ok(());
        }
        return job
            .copy_in_order(session, &mut stream, Bar::new(size))?
            .result();
    }
    let (journal, map) = journal(arguments, &job, disks, Some(path))?;
    if is_test {
        return Ok(());
    }
    let start = match &journal {
        Some(journal) if journal.is_resumed() => Start::GoOn,
        _ => Start::Anew,
    };
    // It is there before the first byte of what it belongs to.
    if let Some(journal) = &journal {
        journal.write(&map)?;
    }
    let target = match Target::file(path, size, start, &disks.host) {
        Ok(target) => target,
        Err(error) => {
            journal.into_iter().for_each(Journal::withdraw);
            return Err(error);
        }
    };
    salvage(arguments, session, &job, (journal, map), target)
}

/// The map of a copy to the file or device `copy`, or to a volume.
fn journal(
    arguments: &Arguments,
    job: &Job<'_>,
    disks: &Disks,
    copy: Option<&Path>,
) -> Result<(Option<Journal>, Map), Error> {
    let opened = job.opened();
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let (group, lv) = disks.scan.find_volume(&opened.name).map_err(failed)?;
    let identity = Identity {
        name: &opened.name,
        uuid: &group.model.lv(lv).uuid.to_string(),
        size: opened.volume.info().size,
    };
    let is_file = |path: &&Path| std::fs::metadata(path).map_or(true, |found| found.is_file());
    let (journal, map) = match (arguments.value(&MAP), copy.filter(is_file)) {
        (Some(path), _) => Journal::named(Path::new(path), &identity, arguments.line())?,
        (None, Some(copy)) => Journal::beside(copy, &identity, arguments.line())?,
        (None, None) => return Ok((None, Map::new(identity.size))),
    };
    if let Some(copy) = copy.filter(|_| journal.is_resumed()) {
        require_copy(copy, identity.size, journal.path())?;
    }
    Ok((Some(journal), map))
}

fn salvage(
    arguments: &Arguments,
    session: &mut Session,
    job: &Job<'_>,
    (journal, map): (Option<Journal>, Map),
    target: Target,
) -> Result<(), Error> {
    let path = journal.as_ref().map(Journal::path);
    let again = path.map(|path| command_again(arguments, &MAP, path));
    let to = arguments.operands()[1].clone();
    let again = again.unwrap_or_default();
    job.copy_to(session, (journal, map), target, &to, &again)?
        .result()
}

fn into_volume(
    arguments: &Arguments,
    session: &mut Session,
    disks: &Disks,
    source: Place<'_>,
    name: &str,
) -> Result<(), Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let (group, id) = disks.scan.find_volume(name).map_err(failed)?;
    if let Place::Volume(other) = source {
        require_apart(disks, other, name)?;
    }
    let options = Opener::options(arguments, Access::ReadWrite)?;
    let volume = group.model.lv(id).name().to_owned();
    // What is found from here on is under the group's locks.
    let live = take(disks, group.uuid)?;
    let kept = snapshot_in(&live, group.uuid, source, disks, options)?;
    let from = match &kept {
        Some(kept) => Filling::of_use(kept, arguments, disks)?,
        None => Filling::of(source, arguments, session, disks)?,
    };
    let opened = live.open(&volume, options.missing).map_err(failed)?;
    if opened.volume.info().read_only {
        return Err(Error::failed(format!(
            "{name} is not written: its permission is read-only; lvchange -prw changes that"
        )));
    }
    for gap in &opened.gaps {
        session.tell(&format!("WARNING: {gap}."));
    }
    let size = opened.volume.info().size;
    let from = from.with_room(size);
    if from.size() > size {
        return Err(Error::failed(format!(
            "{} bytes do not fit into {name}, which has {size}; lvextend makes it larger",
            from.size()
        )));
    }
    if arguments.has(&flags::TEST) {
        return Ok(());
    }
    if from.size() < size && session.is_verbose() {
        session.tell(&format!(
            "The last {} bytes of {name} stay as they are.",
            size - from.size()
        ));
    }
    let target = Target::volume(&opened.volume, name)?;
    let operands = arguments.operands();
    let copied = match &from {
        Filling::File(file) => copy(file, target, (&operands[0], &operands[1])),
        Filling::Volume(job) => journal(arguments, job, disks, None).and_then(|(journal, map)| {
            if let Some(journal) = &journal {
                journal.write(&map)?;
            }
            salvage(arguments, session, job, (journal, map), target)
        }),
    };
    // The volume ends before others may have the group.
    copied.and(opened.close().map_err(failed))
}

/// The source, if it is a snapshot of the group that is served, or seen through one: it changes
/// with its origin, so its owner reads it.
fn snapshot_in(
    live: &LiveGroup,
    uuid: Uuid,
    source: Place<'_>,
    disks: &Disks,
    options: activate::Options,
) -> Result<Option<Use>, Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let Place::Volume(name) = source else {
        return Ok(None);
    };
    let (group, id) = disks.scan.find_volume(name).map_err(failed)?;
    let relations = Relations::of(&group.model);
    if group.uuid != uuid || relations.seen_through(&group.model, id).is_none() {
        return Ok(None);
    }
    let name = group.model.lv(id).name();
    live.open(name, options.missing).map(Some).map_err(failed)
}

/// Refuses to copy a volume into itself, or a snapshot into its origin, which would have to keep
/// all that it loses in the store of that very snapshot.
fn require_apart(disks: &Disks, from: &str, to: &str) -> Result<(), Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let (from_group, from_lv) = disks.scan.find_volume(from).map_err(failed)?;
    let (group, lv) = disks.scan.find_volume(to).map_err(failed)?;
    if from_group.uuid != group.uuid {
        return Ok(());
    }
    if from_lv == lv {
        return Err(Error::failed(format!("{to} cannot be copied into itself")));
    }
    let snapshot = Relations::of(&group.model).snapshot_of_cow(&group.model, from_lv);
    if snapshot.is_some_and(|snapshot| snapshot.origin == lv) {
        return Err(Error::failed(format!(
            "{from} is a snapshot of {to}: what {to} loses by the copy would have to be kept in \
             it, and it may become full before the end; copy it to a file first, remove it, and \
             copy that back"
        )));
    }
    Ok(())
}

/// Refuses an image of qemu's, whose bytes are not those of the disk in it; `-y` takes them.
fn refuse_qcow2(path: &Path, arguments: &Arguments) -> Result<(), Error> {
    let mut head = [0; QCOW2.len()];
    // A stream would lose what is read here.
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let read = is_file && {
        let file = std::fs::File::open(path);
        file.and_then(|mut file| file.read_exact(&mut head)).is_ok()
    };
    if !read || head != *QCOW2 || arguments.has(&flags::YES) {
        return Ok(());
    }
    Err(Error::failed(format!(
        "{path} is a qcow2 image, and its bytes are not those of the disk in it: convert it with \
         qemu-img convert -O raw {path} FILE, or copy it as it is with -y",
        path = path.display()
    )))
}

/// What a volume is filled from.
enum Filling<'a> {
    File(Source),
    Volume(Job<'a>),
}

impl<'a> Filling<'a> {
    fn of(
        place: Place<'_>,
        arguments: &Arguments,
        session: &mut Session,
        disks: &'a Disks,
    ) -> Result<Self, Error> {
        let filling = match place {
            Place::File(path) => {
                refuse_qcow2(path, arguments)?;
                Self::File(Source::file(path)?)
            }
            Place::Volume(other) => {
                let mut opener = Opener::new(disks, arguments, Access::ReadOnly)?;
                let other = opener.open(other, session)?;
                Self::Volume(Job::new(disks, other, arguments)?)
            }
        };
        filling.require_flags(arguments)?;
        Ok(filling)
    }

    /// The same of a volume that this process serves.
    fn of_use(used: &Use, arguments: &Arguments, disks: &'a Disks) -> Result<Self, Error> {
        let opened = Opened {
            volume: used.volume.clone(),
            layout: Arc::clone(&used.layout),
            name: used.name.clone(),
        };
        let filling = Self::Volume(Job::new(disks, opened, arguments)?);
        filling.require_flags(arguments)?;
        Ok(filling)
    }

    fn size(&self) -> u64 {
        match self {
            Self::File(source) => source.size(),
            Self::Volume(job) => job.opened().volume.info().size,
        }
    }

    fn with_room(self, room: u64) -> Self {
        match self {
            Self::File(source) => Self::File(source.with_room(room)),
            Self::Volume(job) => Self::Volume(job),
        }
    }

    /// Refuses options that mean nothing for a file.
    fn require_flags(&self, arguments: &Arguments) -> Result<(), Error> {
        let is_meant = |flag: &&Flag| arguments.has(flag);
        let flag = [&MAP, &RETRIES, &REVERSE].into_iter().find(is_meant);
        match (self, flag) {
            (Self::File(_), Some(flag)) => Err(Error::usage(format!(
                "--{} is for copies of volumes",
                flag.long
            ))),
            _ => Ok(()),
        }
    }
}

/// Copies a whole file or stream, and makes it durable.
fn copy(source: &Source, mut target: Target, names: (&str, &str)) -> Result<(), Error> {
    let size = source.size();
    let mut bar = Bar::new(size);
    let copied = source.each(|start, piece| {
        let length = match piece {
            Piece::Data(bytes) => {
                target.write(start, bytes)?;
                bytes.len() as u64
            }
            Piece::Zeroes(count) => {
                target.write_zeroes(start, count)?;
                count
            }
        };
        let done = start + length;
        bar.show(done, size - done, String::new);
        Ok(())
    });
    bar.clear();
    let (from, to) = names;
    copied.and_then(|()| target.sync()).map_err(|error| {
        Error::failed(format!(
            "Copying {from} to {to} ended early; {to} is incomplete"
        ))
        .because(error)
    })
}
