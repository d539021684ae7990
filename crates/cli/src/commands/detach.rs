//! `detach`: ends what `attach` began, and cleans up after killed servers.

use std::time::{Duration, Instant};

use ashlar::live::{Client, SURVEY_MAX, survey};

use super::Session;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::attachment::{Attachment, Record, Runtime, State, after_glances, check_unused};
use crate::live::end_with;

const ALL: Flag = Flag::switch("all", "Detach every volume that is attached.").short('a');

/// How long a server may take to finish what is under way.
const PATIENCE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(20);

/// `detach`
pub(super) const COMMAND: Command = Command {
    name: "detach",
    summary: "Take back a volume's block device node or file",
    operands: "VG/LV|Node|File ...",
    description: "Ends the server behind a volume that attach made available, after whatever was \
                  written is on the disks. Refuses while the node is mounted or a process has it \
                  open, and names who. What a killed server left (a loop device, a stale mount) \
                  is cleaned up.",
    flags: &[&[ALL], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar detach vg0/root",
            does: "takes the volume's node away",
        },
        Example {
            line: "ashlar detach --all",
            does: "takes all of them away",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    let runtime = Runtime::open().map_err(failed)?;
    let mut wanted = Vec::new();
    if arguments.has(&ALL) {
        wanted = runtime.attachments().map_err(failed)?;
    } else if arguments.operands().is_empty() {
        return Err(Error::usage(
            "Please name a volume, node or file, or use --all.",
        ));
    }
    for name in arguments.operands() {
        match runtime.find(name).map_err(failed)? {
            Some(attachment) => wanted.push(attachment),
            None => session.fail_later(&format!("{name} is not attached.")),
        }
    }
    for attachment in &wanted {
        if let Err(error) = detach(attachment) {
            session.fail_later(&format!("{error}."));
        }
    }
    Ok(())
}

/// Fails, naming them, if somebody uses an attached volume.
pub(super) fn require_unused(attachment: &Attachment) -> Result<(), block::Error> {
    // A killed server holds its record until all of it is gone.
    after_glances(|| match check_unused(&attachment.record) {
        Err(error) if attachment.is_served() => Err(error),
        _ => Ok(()),
    })
}

/// Ends the server of an attached volume that nobody uses, or cleans up after it.
pub(super) fn detach(attachment: &Attachment) -> Result<(), block::Error> {
    let record = &attachment.record;
    if attachment.state == State::Served {
        require_unused(attachment)?;
        if record.dir.is_some() {
            deactivate(record)?;
        } else {
            attachment.ask_to_end()?;
        }
    }
    let start = Instant::now();
    while !attachment.is_gone()? {
        if start.elapsed() > PATIENCE {
            let what = format!(
                "the server of {} ({}) does not end: a disk may not answer; kill -9 it and detach \
                 again",
                record.volume, record.pid
            );
            return Err(block::Error::new(block::Kind::TimedOut, what));
        }
        std::thread::sleep(INTERVAL);
    }
    if attachment.is_left_mounted() {
        let what = format!(
            "{} is no longer served, but {} is still mounted: unmount it (fusermount3 -u, or \
             umount as root)",
            record.volume,
            record.file.display()
        );
        return Err(block::Error::new(block::Kind::Io, what));
    }
    Ok(())
}

/// Lets the owner of a group make an active volume inactive, which may hold others as well.
fn deactivate(record: &Record) -> Result<(), block::Error> {
    let failed = |error: ashlar::Error| block::Error::new(block::Kind::Open, error.to_string());
    let owners = survey(None, SURVEY_MAX);
    let owner = owners.iter().find(|owner| owner.pid == Some(record.pid));
    let Some(owner) = owner else {
        // It was killed; what it left is cleaned up.
        return Ok(());
    };
    let name = record.volume.rsplit('/').next().unwrap_or_default();
    match Client::find(owner.group).map_err(failed)? {
        Some(client) => end_with(client, |client| client.deactivate(name)).map_err(failed),
        None => Ok(()),
    }
}
