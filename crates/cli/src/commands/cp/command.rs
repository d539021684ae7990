//! The command: its options, what is checked before anything is written, and the bar.

use std::io::{IsTerminal, Read};
use std::path::Path;

use block::{Device, Piece};
use indicatif::{ProgressBar, ProgressStyle};
use manager::apply::HostDisks;
use manager::live::LiveGroup;
use manager::scan::Options;
use target::volume::Access;

use super::place::Place;
use super::source::Source;
use super::target::Target;
use crate::args::{Arguments, Command, Error, Example, flags};
use crate::commands::open::{FLAGS, Opener};
use crate::commands::{Disks, Session};

/// How a qcow2 image begins.
const QCOW2: &[u8; 4] = b"QFI\xfb";

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
        On a terminal a bar shows how far it is. When the command ends well, the copy is on stable \
        storage.",
    flags: &[FLAGS, flags::COMMON],
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
            let opener = Opener::new(&disks, arguments, Access::ReadOnly)?;
            let mut opener = opener.through_page_cache();
            let source = Source::Volume(opener.open(name, session)?.volume);
            if path.extension().is_some_and(|end| end == "qcow2") {
                session.tell(&format!(
                    "WARNING: {to} gets the bytes of the volume as they are; qemu-img convert -f \
                     raw -O qcow2 makes a qcow2 image of them."
                ));
            }
            if arguments.has(&flags::TEST) {
                return Ok(());
            }
            let target = Target::file(path, source.size(), &disks.host)?;
            copy(&source, target, (from, to))
        }
        (source, Place::Volume(name)) => into_volume(arguments, session, &disks, source, name),
    }
}

fn into_volume(
    arguments: &Arguments,
    session: &mut Session,
    disks: &Disks,
    source: Place<'_>,
    name: &str,
) -> Result<(), Error> {
    let failed = |error: manager::Error| Error::failed(error.to_string());
    let (group, id) = disks.scan.find_volume(name).map_err(failed)?;
    if let Place::Volume(other) = source {
        let other = disks.scan.find_volume(other).map_err(failed)?;
        if (other.0.uuid, other.1) == (group.uuid, id) {
            return Err(Error::failed(format!(
                "{name} cannot be copied into itself"
            )));
        }
    }
    let options = Opener::options(arguments, Access::ReadWrite)?;
    let all = HostDisks {
        source: disks.source.clone(),
        options: Options::default(),
    };
    let (uuid, volume) = (group.uuid.to_string(), group.model.lv(id).name().to_owned());
    // What is found from here on is under the group's locks.
    let live = LiveGroup::take(&disks.host, &all, &uuid).map_err(failed)?;
    live.warn_with(Box::new(|text| {
        eprintln!("  {}", crate::output::harmless(text));
    }));
    let from = match source {
        Place::File(path) => {
            refuse_qcow2(path, arguments)?;
            Source::file(path)?
        }
        Place::Volume(other) => {
            let mut opener = Opener::new(disks, arguments, Access::ReadOnly)?;
            Source::Volume(opener.open(other, session)?.volume)
        }
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
    let copied = copy(&from, target, (&operands[0], &operands[1]));
    // The volume ends before others may have the group.
    copied.and(opened.close().map_err(failed))
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

/// Copies everything, and makes it durable.
fn copy(source: &Source, mut target: Target, names: (&str, &str)) -> Result<(), Error> {
    let bar = progress(source.size());
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
        bar.set_position(start + length);
        Ok(())
    });
    bar.finish_and_clear();
    let (from, to) = names;
    copied.and_then(|()| target.sync()).map_err(|error| {
        Error::failed(format!(
            "Copying {from} to {to} ended early; {to} is incomplete"
        ))
        .because(error)
    })
}

fn progress(size: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(size);
    let template = "  {bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    // The template is a constant; should it not be one, the bar's own style does.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
