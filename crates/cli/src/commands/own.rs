//! The process that owns a group in the background: this program again, started by a command that
//! activates volumes. It ends with the last of them.

use std::time::{Duration, Instant};

use ashlar::apply::HostDisks;
use ashlar::scan;
use export::oom;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Session;
use super::background::leave_terminal;
use super::interrupt::Beginning;
use super::open::unwritable;
use crate::args::{Arguments, Command, Error, flags};
use crate::live::{Owned, own, stay};

/// The word that makes the program one.
pub(super) const WORD: &str = "@own";

/// How long whoever started it may take to come.
const FIRST_CLIENT_MAX: Duration = Duration::from_secs(10);

/// The command, which is not listed: only this program calls it.
pub(super) const COMMAND: Command = Command {
    name: WORD,
    summary: "Own a volume group",
    operands: "UUID",
    description: "Owns a volume group for as long as volumes of it are active.",
    flags: &[&[flags::CONSISTENCY], flags::COMMON],
    examples: &[],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [uuid] = arguments.operands() else {
        return Err(Error::usage("Please give the UUID of a volume group."));
    };
    // Before any thread is started. Where it is refused, the kernel may choose this process.
    let _ = oom::protect();
    // Before all else, so that a signal during the scan is not lost.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Error::failed("Cannot wait for signals").because(error))?;
    let beginning = Beginning::of_server();
    let disks = session.disks(arguments)?;
    let group = disks.scan.find_group(uuid);
    let group = group.map_err(|error| Error::failed(error.to_string()))?;
    let source = HostDisks {
        source: disks.source.clone(),
        options: scan::Options::default(),
    };
    let owned = own(&disks.host, &source, group).map_err(|error| unwritable(&error))?;
    drop(beginning);
    session.print("owned\n")?;
    session.out().flush()?;
    // Where somebody else was faster, that one is as good.
    let Owned::Local(local) = owned else {
        return Ok(());
    };
    leave_terminal()?;
    drop(disks);
    let end = Instant::now() + FIRST_CLIENT_MAX;
    let groups = [local];
    let asked = || signals.pending().next().is_some();
    stay(&groups, asked, || {
        Instant::now() < end && !groups[0].was_used()
    });
    Ok(())
}
