//! `stop`: a group is served no more.

use std::time::{Duration, Instant};

use ashlar::live::{Client, SURVEY_MAX, Surveyed, survey};

use super::Session;
use super::detach::detach;
use super::owners::attachments;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const ALL: Flag = Flag::switch("all", "Stop the owners of all groups.").short('a');

/// How long an owner may take to make durable what was written.
const PATIENCE: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(20);

/// `stop`
pub(super) const COMMAND: Command = Command {
    name: "stop",
    summary: "Stop serving the volumes of a group",
    operands: "VG ...",
    description: "Ends the process that owns a group, after whatever was written is on the disks: \
        volumes of the group that are attached are detached, NBD clients are cut off, and other \
        `serve' commands that use the group through that process end. Refuses, before anything \
        is ended, while an attached volume is mounted or open.",
    flags: &[&[ALL], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar stop vg0",
            does: "lets go of the disks of vg0",
        },
        Example {
            line: "ashlar stop --all",
            does: "lets go of all disks",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let owners = survey(None, SURVEY_MAX);
    let wanted = if arguments.has(&ALL) {
        owners.iter().map(|one| one.name.clone()).collect()
    } else {
        arguments.operands().to_vec()
    };
    if wanted.is_empty() && !arguments.has(&ALL) {
        return Err(Error::usage("Please name a volume group, or use --all."));
    }
    for name in &wanted {
        let outcome = match owners.iter().find(|one| one.name == *name) {
            Some(owner) => stop(owner),
            None => Err(Error::failed(format!("Volume group {name} has no owner."))),
        };
        if let Err(error) = outcome {
            session.fail_later(&error.to_string());
        }
    }
    Ok(())
}

fn stop(owner: &Surveyed) -> Result<(), Error> {
    let group = &owner.name;
    let find = || Client::find(owner.group).map_err(|error| failed(&error));
    let inside = format!("{group}/");
    let attached: Vec<_> = attachments()?
        .into_iter()
        .filter(|one| one.record.volume.starts_with(&inside))
        .collect();
    for one in &attached {
        super::detach::require_unused(one)?;
    }
    for one in &attached {
        detach(one).map_err(|error| Error::failed(format!("{error}.")))?;
    }
    // One that had only its own volume attached has ended by itself.
    let Some(mut client) = find()? else {
        return Ok(());
    };
    let pid = client.pid();
    let said = client.stop();
    drop(client);
    let end = Instant::now() + PATIENCE;
    while find()?.is_some_and(|client| client.pid() == pid) {
        if Instant::now() > end {
            let what = format!(
                "Process {pid}, which owns volume group {group}, does not end: a disk may not \
                 answer"
            );
            return Err(Error::failed(what));
        }
        std::thread::sleep(INTERVAL);
    }
    // Whoever ends at once may not answer.
    drop(said);
    Ok(())
}

fn failed(error: &ashlar::Error) -> Error {
    Error::failed(error.to_string())
}
