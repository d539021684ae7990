//! `serve`: volumes over NBD.
//!
//! Runs in the foreground until it is told to end: by a signal, or when the command of `--run`
//! ends. A parent process that opens the socket itself (systemd, or libnbd's tools with
//! `[ ashlar serve … ]`) needs no `--nbd`.

use std::path::Path;
use std::process::Command as Process;

use dm::volume::Access as VolumeAccess;
use lvm2::model::{LvFlag, Relations, Role};
use nbd::server::{Listener, Secrecy};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::offer::{Offer, SINCE};
use super::secrecy::{TLS, VERIFY_PEER, secrecy, warn_of_port};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::interrupt::Beginning;
use crate::commands::session::Disks;
use crate::commands::{PrivateFolder, Session, open};

const NBD: Flag = Flag::value(
    "nbd",
    "unix:Path|Host[:Port]",
    "Where clients connect: a unix socket, which is made, or a TCP port (10809 if left out). May \
     be repeated. A socket is for its owner only, until it is given to others by chgrp and chmod \
     (or made by systemd, with SocketMode=). Whoever reaches a TCP port may read and write the \
     volumes: NBD has no passwords. See --tls-verify-peer.",
);
const READ_ONLY: Flag = Flag::switch(
    "readonly",
    "Only read: refuse writes, and leave the disks to others.",
)
.short('r');
const RUN: Flag = Flag::value(
    "run",
    "Command",
    "Run a shell command while the volumes are served, and end with it and its exit status. The \
     command finds the address in $uri, and the path of the socket in $unixsocket. Without --nbd \
     the socket is a private one.",
);

/// `serve`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "serve",
    summary: "Serve volumes to NBD clients, over a socket",
    operands: "VG|VG/LV ...",
    description: "Serves logical volumes by the Network Block Device protocol, for qemu, nbdcopy, \
        the kernel's nbd driver and others. Each volume is an export with its own name, vg/lv; a \
        volume that is served alone is also the default export. Of a group as a whole, all \
        volumes that can be served are. Prints the addresses once clients can connect, and serves \
        until it is interrupted.\n\n\
        Started with sockets by systemd or by a tool of libnbd, it serves on those.\n\n\
        Clients may write, unless --readonly is given; a volume whose own permission is \
        read-only is only read. While a group is served for writing, this process owns it: \
        commands that change the group run in it, so that a volume can grow while it is used; \
        a second serve or attach adds its volumes to it; and the group's disks cannot be \
        activated elsewhere on this machine.\n\n\
        Of a snapshot, clients may ask by block status where it may differ from its origin, and \
        with --since of an origin or a snapshot, where it may differ from that other snapshot: the \
        metadata context ashlar:changed, with 1 for bytes that may differ and 0 for the same. A \
        backup reads only the former. While the origin is written an answer is of its moment: it \
        has all writes in it that were answered before.",
    flags: &[
        &[
            NBD,
            READ_ONLY,
            RUN,
            SINCE,
            TLS,
            VERIFY_PEER,
            flags::CONSISTENCY,
        ],
        open::FLAGS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "ashlar --devices disks/ serve vg0 --nbd unix:/tmp/vg0.sock",
            does: "serves all volumes of vg0 on a unix socket",
        },
        Example {
            line: "ashlar --devices disks/ serve vg0/root --run 'qemu-img info $uri'",
            does: "serves a volume for as long as qemu-img needs it",
        },
        Example {
            line: "ashlar serve -r --since vg0/monday vg0/tuesday --run 'nbdinfo \
                   --map=ashlar:changed $uri'",
            does: "lists what has changed from one snapshot to the next",
        },
        Example {
            line: "nbdcopy -- [ ashlar --devices disks/ serve vg0/root ] root.img",
            does: "copies a volume into a file",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.operands().is_empty() {
        return Err(Error::usage(
            "Please name volumes to serve, as VG/LV or VG.",
        ));
    }
    // Before all else, so that a signal during the scan is not lost.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGCHLD])
        .map_err(|error| Error::failed("Cannot wait for signals").because(error))?;
    let activated = Listener::from_activation().map_err(|error| failed(&error))?;
    let quiet = !activated.is_empty();
    let secrecy = secrecy(arguments, session)?;
    let beginning = Beginning::of_server();
    let offer = offer(arguments, session)?;
    drop(beginning);
    let names = offer.names();
    let mut listeners = activated;
    for address in arguments.values(&NBD) {
        let listener = listen(address)?;
        warn_of_port(&listener, arguments.has(&VERIFY_PEER), session);
        listeners.push(listener);
    }
    // Dropped behind the server, whose listener removes the socket in it.
    let private = if listeners.is_empty() {
        if !arguments.has(&RUN) {
            return Err(Error::usage(
                "Please say where to serve: --nbd unix:PATH or --nbd HOST:PORT.",
            ));
        }
        let folder = PrivateFolder::make()?;
        listeners
            .push(Listener::unix(folder.path().join("nbd.sock")).map_err(|error| failed(&error))?);
        Some(folder)
    } else {
        None
    };
    let addresses: Vec<String> = listeners
        .iter()
        .map(|listener| address_of(listener, &names, secrecy.as_ref()))
        .collect();
    let socket = listeners.iter().find_map(Listener::path);
    let socket = socket.map(Path::to_owned);
    let mut serving = offer.serve(listeners, secrecy)?;
    if !quiet && private.is_none() {
        for address in &addresses {
            session.line(address)?;
        }
        session.out().flush()?;
    }
    let outcome = match arguments.value(&RUN) {
        None => serving.wait(&mut signals, None),
        Some(line) => {
            let mut process = Process::new("/bin/sh");
            process.args(["-c", line]).env("uri", &addresses[0]);
            if let Some(path) = socket {
                process.env("unixsocket", path);
            }
            let child = process.spawn();
            let mut child =
                child.map_err(|error| Error::failed("Cannot run /bin/sh").because(error))?;
            serving.wait(&mut signals, Some(&mut child))
        }
    };
    let ended = serving.end(&mut signals, session);
    drop(private);
    outcome.and(ended)
}

fn failed(error: &block::Error) -> Error {
    Error::failed(error.to_string())
}

/// What the operands name, and who is to serve it.
fn offer(arguments: &Arguments, session: &mut Session) -> Result<Offer, Error> {
    let disks = session.disks(arguments)?;
    let access = if arguments.has(&READ_ONLY) {
        VolumeAccess::ReadOnly
    } else {
        VolumeAccess::ReadWrite
    };
    let mut offer = Offer::gather(&disks, arguments, access)?;
    for operand in arguments.operands() {
        let plain = operand.strip_prefix("/dev/").unwrap_or(operand);
        if plain.contains('/') {
            offer.add(operand, session)?;
            continue;
        }
        offer.own(operand)?;
        for name in volumes(&disks, operand)? {
            // One volume that cannot be served does not keep the others from it.
            if let Err(error) = offer.add(&name, session) {
                session.tell(&error.to_string());
            }
        }
    }
    offer.finish()
}

/// The names of the volumes of a group that people see, without those to be activated only by
/// their own names.
fn volumes(disks: &Disks, group: &str) -> Result<Vec<String>, Error> {
    let found = disks.scan.find_group(group);
    let found = found.map_err(|error| Error::failed(error.to_string()))?;
    let relations = Relations::of(&found.model);
    let whole = found.model.lvs().filter(|(id, volume)| {
        relations.role(&found.model, *id) == Role::Whole
            && !volume.flags.has(LvFlag::ActivationSkip)
    });
    Ok(whole
        .map(|(_, volume)| format!("{group}/{}", volume.name()))
        .collect())
}

fn listen(address: &str) -> Result<Listener, Error> {
    match address.strip_prefix("unix:") {
        Some(path) => Listener::unix(path),
        None if address.contains('/') => Listener::unix(address),
        None => Listener::tcp(address),
    }
    .map_err(|error| failed(&error))
}

/// What a client types; with the export's name in it if there is only one.
fn address_of(listener: &Listener, names: &[String], secrecy: Option<&Secrecy>) -> String {
    let uri = match names {
        [only] => listener.uri(only),
        _ => listener.uri(""),
    };
    match secrecy {
        Some(_) => uri.replacen("nbd", "nbds", 1),
        None => uri,
    }
}
