//! `vgmknodes`: the names of active volumes, made anew, and those of killed processes taken away.

use super::Session;
use crate::args::{Arguments, Command, Error, Example, Flag, Target, flags, split_target};
use crate::attachment::{Attachment, Runtime, State};

/// `vgmknodes`
pub(super) const COMMAND: Command = Command {
    name: "vgmknodes",
    summary: "Make the names of active volumes anew",
    operands: "[VG|LV ...]",
    description: "Makes /dev/VG/LV and /dev/mapper/VG-LV of active volumes where they are lost, \
        and takes away what a killed process left: names, nodes and mounts. vgscan --mknodes does \
        the same.",
    flags: &[
        &[
            flags::IGNORE_LOCKING_FAILURE,
            Flag::switch(
                "refresh",
                "Accepted for scripts; who serves a volume has its newest table.",
            ),
            flags::REPORT_FORMAT,
        ],
        flags::COMMON,
    ],
    examples: &[Example {
        line: "vgmknodes",
        does: "makes all names that should be there",
    }],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    make_names(arguments.operands(), session)
}

/// Makes the names of these active volumes and groups, or of all.
pub(super) fn make_names(wanted: &[String], session: &mut Session) -> Result<(), Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    let Some(runtime) = Runtime::if_there() else {
        return Ok(());
    };
    for found in runtime.attachments().map_err(failed)? {
        if !wanted.is_empty() && !wanted.iter().any(|word| names(word, &found)) {
            continue;
        }
        let made = match found.state {
            State::Served => found.record.make_names(),
            State::Stale => found.clean_up(),
        };
        if let Err(error) = made {
            session.fail_later(&format!("{error}."));
        }
    }
    Ok(())
}

/// Whether a word names an attached volume or its group.
fn names(word: &str, found: &Attachment) -> bool {
    let volume = &found.record.volume;
    match split_target(word) {
        Target::Vg(group) => volume.split('/').next() == Some(&group),
        Target::Lv(name) => *volume == format!("{}/{}", name.vg, name.lv),
        Target::Tag(_) => false,
    }
}
