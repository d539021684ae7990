//! Commands that LVM2 has only to say that they are gone, and so has Ashlar.

use super::Session;
use crate::args::{Arguments, Command, Error, Flag, flags};

/// All of them.
pub(super) const COMMANDS: &[&Command] = &[
    &Command {
        name: "lvmchange",
        summary: "Fail: it reset a driver of old",
        flags: &[&[], flags::COMMON],
        run: |arguments, _| {
            gone(
                arguments,
                "Use 'dmsetup' commands to reset the kernel device-mapper driver.",
            )
        },
        ..OBSOLETE
    },
    &Command {
        name: "lvmsadc",
        summary: "Fail: it collected activity data",
        flags: &[&[], flags::COMMON],
        run: |arguments, _| gone(arguments, DMSTATS),
        ..OBSOLETE
    },
    &Command {
        name: "lvmsar",
        summary: "Fail: it reported activity data",
        flags: &[
            &[
                Flag::switch("full", "Accepted for scripts.").short('f'),
                Flag::switch("stdin", "Accepted for scripts.").short('s'),
            ],
            flags::COMMON,
        ],
        run: |arguments, _| gone(arguments, DMSTATS),
        ..OBSOLETE
    },
    &Command {
        name: "pvdata",
        summary: "Fail: it showed metadata of the format before lvm2",
        flags: &[&[], flags::COMMON],
        run: |arguments, _| {
            gone(
                arguments,
                "Use lvs, pvs, vgs instead; or use vgcfgbackup and read the text file backup.",
            )
        },
        ..OBSOLETE
    },
    &Command {
        name: "vgconvert",
        summary: "Fail: it converted metadata of the format before lvm2",
        operands: "VG ...",
        flags: &[
            &[
                Flag::switch("force", "Accepted for scripts.").short('f'),
                Flag::value("metadatatype", "2|lvm2", "Accepted for scripts.").short('M'),
                Flag::value("bootloaderareasize", "Size", "Accepted for scripts."),
                Flag::value("metadatasize", "Size", "Accepted for scripts."),
                flags::LABEL_SECTOR,
                flags::PV_METADATA_COPIES,
                flags::REPORT_FORMAT,
            ],
            flags::COMMON,
        ],
        run: vgconvert,
        ..OBSOLETE
    },
];

const OBSOLETE: Command = Command {
    name: "",
    summary: "",
    operands: "",
    description: "LVM2 gave this command up and keeps its name for old scripts, which are told \
        what to do instead.",
    flags: &[],
    examples: &[],
    run: |_, _| Ok(()),
};

const DMSTATS: &str = "Please use the superior 'dmstats' facilities instead.";

fn gone(arguments: &Arguments, instead: &str) -> Result<(), Error> {
    let name = arguments.command();
    Err(Error::failed(format!(
        "There's no '{name}' command in LVM2.\n{instead}"
    )))
}

fn vgconvert(arguments: &Arguments, _: &mut Session) -> Result<(), Error> {
    if arguments.operands().is_empty() {
        return Err(Error::form(
            "No command with matching syntax recognised.  Run 'vgconvert --help' for more \
             information.",
        ));
    }
    Err(Error::failed(
        "The vgconvert command has been removed along with the lvm1 format.\n\
         Use a previous version of lvm to convert the lvm1 format to lvm2.",
    ))
}
