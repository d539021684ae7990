//! The command, and its words.

use super::{create, list, member};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::Session;
use crate::commands::scrub;

/// `--force`
pub(super) const FORCE: Flag = Flag::switch(
    "force",
    "create and add: also write over what is in use as a part of something: a physical volume of a \
     group, a partition table, a leg of another array. It is named, and asked about all the same.",
)
.short('f');

/// `md`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "md",
    summary: "List, check, make and change md arrays on images and devices",
    operands: "list|check|create|add|remove [ARRAY] [DEVICE ...]",
    description: "The arrays of mdadm and of the kernel's md, on image files and block devices, \
        without the kernel: what is made and written here mdadm assembles, and the other way \
        round. An array is called md:NAME, by its name alone, or by its UUID. Arrays that the \
        kernel runs are left alone: their devices are not looked at, and /dev/md0 is a device \
        like any other. To use an array put a group on it: ashlar vgcreate vg0 md:NAME.\
        \n\n\
        `list' shows the arrays among the devices that --devices names: level, format, chunk, \
        size, state, and of each leg the device, its events, and what is wrong with it. With \
        --json one object for each array.\n\n\
        `check [ARRAY ...]' compares copies, and parity with data, of these or of all, as `ashlar \
        scrub' does: each mismatch with its sectors, its row (a stripe, to mdadm), the legs and \
        their bytes on the disks. Levels 0 and linear have nothing to compare.\n\n\
        `create NAME DEVICE ...' makes an array. The first --raid-devices are its legs (all, \
        unless that or --spare-devices is given), others are spares. What a device holds is told \
        and asked about before it is written over. Copies and parity are then brought in sync, \
        which ^C ends and the next write goes on with; --assume-clean leaves that out, for \
        devices that are known to go together, as new images of zeros do.\n\n\
        `add ARRAY DEVICE' gives an array a device. One that was a leg and was away gets what it \
        lacks: what the bitmap has marked since, or everything where there is no bitmap. Another \
        one becomes the leg that is missing, and is filled, or waits as a spare. The array must \
        not be in use meanwhile.\n\n\
        `remove ARRAY DEVICE' takes a leg out: the others say so first, and whatever it holds is \
        not believed any more until it is added again. A spare is forgotten.\n\n\
        Not done, and said so: arrays with a journal are read and not written; level, \
        size and number of legs are not changed; an array that is being reshaped is left to \
        mdadm.\n\n\
        The exit status is 0 where all was done, 1 where `check' found something, and 5 where \
        something could not be done.",
    flags: &[
        create::FLAGS,
        &[FORCE, scrub::RATE, list::JSON],
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "ashlar md list --devices disks/",
            does: "lists the arrays in a folder of images",
        },
        Example {
            line: "ashlar md create --level 5 data a.img b.img c.img",
            does: "makes a RAID 5 of three images, and brings it in sync",
        },
        Example {
            line: "ashlar vgcreate --devices a.img,b.img,c.img vg0 md:data",
            does: "puts a volume group on it",
        },
        Example {
            line: "ashlar md remove --devices a.img,b.img,c.img data b.img",
            does: "takes a disk out, on which data are wrong",
        },
        Example {
            line: "ashlar md add --devices a.img,c.img,new.img data new.img",
            does: "puts another one in its place, and fills it",
        },
        Example {
            line: "ashlar md list --json | jq -r '.members[] | select(.state == \"away\").device'",
            does: "names the devices that are not believed",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    match arguments.operands() {
        [word] if word == "list" => list::list(arguments, session),
        [word, names @ ..] if word == "check" => check(names, arguments, session),
        [word, name, devices @ ..] if word == "create" => {
            create::create(name, devices, arguments, session)
        }
        [word, name, device] if word == "add" => member::add(name, device, arguments, session),
        [word, name, device] if word == "remove" => {
            member::remove(name, device, arguments, session)
        }
        _ => Err(Error::usage(
            "md: say list, check [ARRAY ...], create NAME DEVICE ..., add ARRAY DEVICE or remove \
             ARRAY DEVICE, as in: ashlar md create --level 1 data a.img b.img",
        )),
    }
}

/// Compares the legs of these arrays, or of all that have more than one copy of something.
fn check(names: &[String], arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let disks = session.disks(arguments)?;
    let mut meant = Vec::new();
    for name in names {
        meant.push(ashlar::md::find(&disks.scan, name)?.name.clone());
    }
    if names.is_empty() {
        let all = ashlar::md::reports(&disks.scan).into_iter();
        let compared = all.filter(|array| !matches!(&*array.level, "raid0" | "linear"));
        meant.extend(compared.map(|array| array.name));
        if meant.is_empty() {
            return Err(Error::failed(
                "There is no array with copies or parity among the devices that were looked at; \
                 --devices says where to look.",
            ));
        }
    }
    scrub::compare(&meant, arguments, &disks, session)
}
