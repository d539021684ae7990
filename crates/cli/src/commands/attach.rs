//! `attach`: a volume as a block device node or a file.
//!
//! The volume is served by a process of its own. `attach` starts that process as a second run of
//! itself, told so by an environment variable, and waits for one line on its standard output: the
//! place of the volume. The server then lets go of the terminal.

use std::path::PathBuf;
use std::sync::Arc;

use ashlar::apply::HostDisks;
use ashlar::live::Client;
use ashlar::scan;
use dm::volume::Access as VolumeAccess;
use export::fuse::{self, Access};
use export::oom;
use lvm2::model::dm_name;
use rustix::event::{PollFd, PollFlags};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Session;
use super::background::{leave_terminal, run_again};
use super::interrupt::Beginning;
use super::open::{self, Opener, unwritable};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::attachment::{Place, Runtime, Server, Source};
use crate::live::{LocalGroup, Owned, own, stay};

const READ_ONLY: Flag = Flag::switch(
    "readonly",
    "Only read: refuse writes, and leave the disks to others.",
)
.short('r');
const FILE: Flag = Flag::value(
    "file",
    "Path",
    "Serve the volume as the file Path, which is made if it is not there, instead of as a block \
     device node. Needs no root.",
);
const FOREGROUND: Flag = Flag::switch(
    "foreground",
    "Stay, and detach when interrupted, instead of going into the background.",
);

/// Tells the second run that it is the server.
pub(super) const SERVER_VARIABLE: &str = "ASHLAR_ATTACH_SERVER";
/// Its value for a server that ends with whoever started it: when its standard input ends.
pub(super) const HELD: &str = "held";

/// `attach`
pub(super) const COMMAND: Command = Command {
    name: "attach",
    summary: "Make a volume a block device node or a file",
    operands: "VG/LV",
    description: "Serves a logical volume as a loop device over a FUSE file and prints the node, \
                  which can be mounted. An ordinary user, who may not make devices, gets the file \
                  alone. A process in the background serves the volume until detach, or until \
                  somebody unmounts the file. Needs neither device-mapper nor a daemon.\n\n\
                  It can be written, unless --readonly is given or its own permission is \
                  read-only. While it is attached for writing, that process owns its group: \
                  commands that change the group run in it, so that the volume can grow while it \
                  is mounted; a second attach or serve goes there too; and the group's disks \
                  cannot be activated elsewhere on this machine.",
    flags: &[
        &[READ_ONLY, FILE, FOREGROUND, flags::CONSISTENCY],
        open::FLAGS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "ashlar --devices disks/ attach vg0/root",
            does: "prints a node such as /dev/loop0 that mount takes",
        },
        Example {
            line: "ashlar --devices disks/ attach --file root.img vg0/root",
            does: "makes root.img the content of the volume, also for an ordinary user",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [name] = arguments.operands() else {
        return Err(Error::usage("Please name one logical volume, as VG/LV."));
    };
    if let Some(value) = std::env::var_os(SERVER_VARIABLE) {
        let mode = if value == HELD {
            Mode::Held
        } else {
            Mode::Background
        };
        return serve(arguments, name, session, mode);
    }
    if arguments.has(&FOREGROUND) {
        return serve(arguments, name, session, Mode::Foreground);
    }
    let place = run_again(SERVER_VARIABLE, "Cannot start the server")?;
    Ok(session.print(&place)?)
}

/// Who waits for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Foreground,
    Background,
    /// Nobody at first; it goes when whoever holds the other end of its input goes.
    Held,
}

/// Whether standard input is a pipe whose other end is closed.
fn is_let_go() -> bool {
    let input = std::io::stdin();
    let mut polled = [PollFd::new(&input, PollFlags::empty())];
    let now = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let heard = rustix::event::poll(&mut polled, Some(&now));
    heard.is_ok() && polled[0].revents().contains(PollFlags::HUP)
}

fn serve(
    arguments: &Arguments,
    name: &str,
    session: &mut Session,
    mode: Mode,
) -> Result<(), Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    if !arguments.has(&READ_ONLY) {
        // Before any thread is started.
        let protection = oom::protect();
        let under_the_kernel = arguments.value(&FILE).is_none();
        if let Some(warning) = protection.warning().filter(|_| under_the_kernel) {
            session.tell(&warning);
        }
    }
    // Before all else, so that a signal during the scan is not lost.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Error::failed("Cannot wait for signals").because(error))?;
    fuse::require_device().map_err(failed)?;
    fuse::require_unmounting().map_err(failed)?;
    let beginning = Beginning::of_server();
    let found = find(arguments, name, session)?;
    drop(beginning);
    let (place, made) = place(arguments)?;
    let runtime = Runtime::open().map_err(failed)?;
    let Found {
        source,
        name,
        key,
        access,
        local,
    } = found;
    let server = Server::start(&runtime, source, &name, &key, access, &place).map_err(failed)?;
    made.keep();
    session.print(&format!("{}\n", server.place().display()))?;
    session.out().flush()?;
    if mode == Mode::Background {
        leave_terminal()?;
    }
    let is_stopped = || local.as_ref().is_some_and(LocalGroup::is_stopped);
    let is_let_go = || mode == Mode::Held && is_let_go();
    let (outcome, record) = server.run(&mut signals, is_stopped, is_let_go);
    // The group is free before the volume is detached, unless this process stays for those who
    // have others.
    let mut record = Some(record);
    if let Some(local) = local {
        let groups = [local];
        let asked = || signals.pending().next().is_some();
        stay(&groups, asked, || {
            if groups[0].user_count() > 0 {
                record = None;
            }
            false
        });
        drop(groups);
    }
    drop(record);
    outcome.map_err(failed)
}

/// A volume that can be attached.
struct Found {
    source: Source,
    /// Its name: `vg0/data`.
    name: String,
    /// Its name as one word.
    key: String,
    access: Access,
    /// Its group, if this process owns it.
    local: Option<LocalGroup>,
}

fn find(arguments: &Arguments, name: &str, session: &mut Session) -> Result<Found, Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let disks = session.disks(arguments)?;
    let (group, lv) = disks.scan.find_volume(name).map_err(failed)?;
    let volume = group.model.lv(lv);
    let is_read_only = arguments.has(&READ_ONLY) || !volume.is_writable();
    let missing = Opener::options(arguments, VolumeAccess::ReadWrite)?.missing;
    let owned = if arguments.has(&READ_ONLY) {
        // Who only reads owns nothing; but what an owner has, it alone knows as it is now.
        Client::find(group.uuid).map_err(failed)?.map(Owned::Remote)
    } else {
        let source = HostDisks {
            source: disks.source.clone(),
            options: scan::Options::default(),
        };
        let owned = own(&disks.host, &source, group);
        Some(owned.map_err(|error| unwritable(&error))?)
    };
    let (source, local) = match owned {
        None => {
            let mut opener = Opener::new(&disks, arguments, VolumeAccess::ReadOnly)?;
            let opened = opener.open(name, session)?;
            (Source::Reader(Arc::new(opened.volume)), None)
        }
        Some(Owned::Remote(client)) => {
            let name = volume.name().to_owned();
            (Source::Remote(client, name, missing), None)
        }
        Some(Owned::Local(local)) => {
            let used = local.group.open(volume.name(), missing);
            let used = used.map_err(|error| unwritable(&error))?;
            for gap in &used.gaps {
                session.tell(&format!("WARNING: {gap}."));
            }
            (Source::Local(used), Some(local))
        }
    };
    Ok(Found {
        source,
        name: format!("{}/{}", group.name, volume.name()),
        key: dm_name(&group.name, volume.name(), None),
        access: if is_read_only {
            Access::ReadOnly
        } else {
            Access::ReadWrite
        },
        local,
    })
}

/// The file for a volume, if it was made for it: it goes again unless the volume is served there.
struct MadeFile(Option<PathBuf>);

impl MadeFile {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for MadeFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nobody is left to tell; it is empty.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn place(arguments: &Arguments) -> Result<(Place, MadeFile), Error> {
    let Some(path) = arguments.value(&FILE).map(PathBuf::from) else {
        let root = rustix::process::geteuid().is_root();
        let place = if root { Place::Node } else { Place::File(None) };
        return Ok((place, MadeFile(None)));
    };
    let failed = |error: std::io::Error| {
        Error::failed(format!("Cannot use the file {}", path.display())).because(error)
    };
    let mut options = std::fs::File::options();
    options.append(true);
    let made = match options.clone().create_new(true).open(&path) {
        Ok(_) => Some(path.clone()),
        // An existing file keeps its content under the mount.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            options.open(&path).map_err(failed)?;
            None
        }
        Err(error) => return Err(failed(error)),
    };
    Ok((Place::File(Some(path)), MadeFile(made)))
}
