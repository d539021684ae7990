//! `lab record`: what a command makes of a volume, request by request.
//!
//! The volume is attached as `attach` does it, by this process, with a layer in front of it that
//! notes each request. A file system on it is mounted, the command runs in it, and when it has been
//! unmounted again the places of all requests are looked up in the layout of the file system,
//! before and after.

use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::{SystemTime, UNIX_EPOCH};

use ashlar::apply::HostDisks;
use ashlar::live::Use;
use ashlar::scan;
use block::trace::Trace as Layer;
use block::{BlockingDevice, Device};
use dm::volume::Access as VolumeAccess;
use export::fuse::Access;
use export::oom;
use lab::trace::label::{Labels, Map};
use lab::trace::{Header, Trace, from_layer, write};
use lvm2::model::dm_name;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::command::{OUTPUT, failed};
use super::trace::{places, save, summary};
use crate::args::{Arguments, Error, Flag};
use crate::attachment::{Place, Runtime, Server, Source};
use crate::commands::open::Opener;
use crate::commands::{PrivateFolder, Session};
use crate::live::{LocalGroup, Owned, own};

/// `--mount`
pub(super) const MOUNT: Flag = Flag::value(
    "mount",
    "Path",
    "Where lab record mounts the file system of the volume; a private directory unless given. \
     Where lab drive runs a program; the present directory unless given.",
);

/// Requests that are kept; the memory for them is taken when they come.
const RECORDS_MAX: usize = 4 << 20;

pub(super) fn record(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let [name, program, rest @ ..] = words else {
        return Err(Error::usage(
            "lab record: say VG/LV --output FILE -- COMMAND ...",
        ));
    };
    let output = arguments.value(&OUTPUT);
    let output = output.ok_or_else(|| Error::usage("lab record: say --output FILE"))?;
    if !rustix::process::geteuid().is_root() {
        return Err(Error::failed("lab record: only root can attach and mount"));
    }
    // Before any thread is started.
    if let Some(warning) = oom::protect().warning() {
        session.tell(&warning);
    }
    // The command hears a signal too, and ends; then all is taken away as ever.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Error::failed("Cannot wait for signals").because(error))?;
    let Opened {
        local,
        used,
        name,
        key,
    } = open(name, arguments, session)?;
    let volume = used.volume.clone();
    let before = layout(&volume, &name);
    if let Err(error) = &before {
        session.tell(&format!("{error}; its requests are not labelled."));
    }
    let header = header(&name, volume.info().size);
    let layer = Layer::new(RECORDS_MAX);
    let runtime = Runtime::open().map_err(failed)?;
    let served = Source::Recorded(used, layer.clone());
    let access = Access::ReadWrite;
    let server = Server::start(&runtime, served, &name, &key, access, &Place::Node);
    let server = server.map_err(failed)?;
    let mount = before.is_ok() || arguments.has(&MOUNT);
    let ran = run(server.place(), mount, arguments, (program, rest));
    let records = layer.take();
    let after = before.is_ok().then(|| layout(&volume, &name)).transpose();
    // What was mounted is unmounted, so nothing holds the node.
    let (ended, record) = server.run(&mut signals, || true, || false);
    drop(local);
    drop(record);
    let ended = ended.map_err(failed);
    let mut trace = from_layer(header, &records);
    if layer.forgotten() > 0 {
        session.fail_later(&format!(
            "the first {} requests are not in it: it keeps {RECORDS_MAX}",
            layer.forgotten()
        ));
    }
    let labels = match after {
        Ok(after) => after.map(|after| Labels::new(before.ok(), after)),
        Err(error) => {
            session.fail_later(&format!("the requests are not labelled: {error}"));
            None
        }
    };
    keep(&mut trace, labels.as_ref(), output, session)?;
    ended.and(ran)
}

/// Labels the trace, writes it and says what is in it.
fn keep(
    trace: &mut Trace,
    labels: Option<&Labels>,
    output: &str,
    session: &mut Session,
) -> Result<(), Error> {
    if let Some(labels) = labels {
        labels.apply(trace);
    }
    save(output, &write(trace).map_err(failed)?)?;
    summary(trace, session)?;
    labels.map_or(Ok(()), |labels| places(labels, trace, session))
}

/// Of a trace of `volume`, of so many bytes, that begins now.
fn header(volume: &str, size: u64) -> Header {
    let begun = SystemTime::now().duration_since(UNIX_EPOCH);
    let begun_ns = begun.unwrap_or_default().as_nanos();
    Header {
        device: volume.to_owned(),
        blocks: size / 512,
        begun_unix_ns: u64::try_from(begun_ns).unwrap_or(0),
        ..Header::default()
    }
}

/// A volume of a group that is now this process's.
struct Opened {
    local: LocalGroup,
    used: Use,
    /// `vg0/data`
    name: String,
    /// The same as one word.
    key: String,
}

fn open(name: &str, arguments: &Arguments, session: &mut Session) -> Result<Opened, Error> {
    let disks = session.disks(arguments)?;
    let (group, lv) = disks.scan.find_volume(name).map_err(failed)?;
    let volume = group.model.lv(lv).name();
    let missing = Opener::options(arguments, VolumeAccess::ReadWrite)?.missing;
    let source = HostDisks {
        source: disks.source.clone(),
        options: scan::Options::default(),
    };
    let local = match own(&disks.host, &source, group).map_err(failed)? {
        Owned::Local(local) => local,
        Owned::Remote(_) => {
            let group = &group.name;
            let what = format!("{group} is in use by another process; detach it first");
            return Err(Error::failed(what));
        }
    };
    let used = local.group.open(volume, missing).map_err(failed)?;
    for gap in &used.gaps {
        session.tell(&format!("WARNING: {gap}."));
    }
    Ok(Opened {
        name: format!("{}/{volume}", group.name),
        key: dm_name(&group.name, volume, None),
        local,
        used,
    })
}

/// The layout of the file system on a volume, as it is now.
fn layout(volume: &dyn Device, name: &str) -> Result<Map, Error> {
    let mut device = BlockingDevice::open(volume).map_err(failed)?;
    Map::read(name, &mut device).map_err(failed)
}

/// Runs the command, in the file system if there is one.
fn run(
    node: &Path,
    mount: bool,
    arguments: &Arguments,
    (program, rest): (&String, &[String]),
) -> Result<(), Error> {
    let mut process = Process::new(program);
    process.args(rest).env("device", node);
    let mounted = if mount {
        let mounted = FileSystem::mount(node, arguments)?;
        process
            .current_dir(&mounted.folder)
            .env("mountpoint", &mounted.folder);
        Some(mounted)
    } else {
        None
    };
    let status = process.status();
    let unmounted = mounted.map_or(Ok(()), FileSystem::unmount);
    let status =
        status.map_err(|error| Error::failed(format!("{program} cannot be run: {error}")))?;
    unmounted?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::failed(format!("{program} ended with {status}")))
    }
}

/// A mounted file system; unmounted when dropped.
struct FileSystem {
    folder: PathBuf,
    is_mounted: bool,
    /// Holds the folder, where it is ours.
    _private: Option<PrivateFolder>,
}

impl FileSystem {
    fn mount(node: &Path, arguments: &Arguments) -> Result<Self, Error> {
        let (folder, private) = if let Some(folder) = arguments.value(&MOUNT) {
            (PathBuf::from(folder), None)
        } else {
            let private = PrivateFolder::make()?;
            let folder = private.path().join("volume");
            std::fs::create_dir(&folder)?;
            (folder, Some(private))
        };
        tool(Process::new("mount").arg(node).arg(&folder), "mount")?;
        Ok(Self {
            folder,
            is_mounted: true,
            _private: private,
        })
    }

    /// Unmounts it, which writes all that is not on the volume yet.
    fn unmount(mut self) -> Result<(), Error> {
        self.is_mounted = false;
        tool(Process::new("umount").arg(&self.folder), "umount")
    }
}

impl Drop for FileSystem {
    fn drop(&mut self) {
        if self.is_mounted {
            // Nobody is left to be told; the node stays, and says that it is in use.
            let _ = tool(Process::new("umount").arg(&self.folder), "umount");
        }
    }
}

fn tool(process: &mut Process, name: &str) -> Result<(), Error> {
    let output = process.output();
    let output = output.map_err(|error| Error::failed(format!("{name} cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::failed(format!("{name} failed: {}", said.trim())))
}
