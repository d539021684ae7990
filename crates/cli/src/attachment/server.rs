//! The process behind an attachment.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ashlar::activate::MissingPolicy;
use ashlar::live::wire::{Export, Way};
use ashlar::live::{Client, Heard, Use};
use block::trace::{Trace, Traced};
use block::{Device, Error, Kind, Result};
use export::fuse::{Access, FuseFile, Mount, Options};
use export::loop_device::{self, Handle, LoopDevice, usage};
use export::mounts::{is_claimed, place_of};
use signal_hook::iterator::Signals;

use super::folder::{HeldRecord, Names, Record, Runtime, is_mounted};
use super::holders::{Holder, after_glances, holders, open_places};
use super::keeper;

/// Threads that answer the kernel for one volume.
const THREADS: usize = 2;
/// How often a server looks whether somebody unmounted it behind its back.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);

/// Where a volume is to appear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// As a block device node (root only).
    Node,
    /// As a file of the attachment's own folder, or over this existing file.
    File(Option<PathBuf>),
    /// As a node, or as a file where only root can have one, with its names in this folder.
    Named(PathBuf),
}

impl Place {
    fn is_node(&self) -> bool {
        match self {
            Self::Node => true,
            Self::File(_) => false,
            Self::Named(_) => rustix::process::geteuid().is_root(),
        }
    }
}

/// What is attached.
pub(crate) enum Source {
    /// A volume that is only read.
    Reader(Arc<dyn Device>),
    /// A volume of a group that this process owns.
    Local(Use),
    /// The same, and each request is noted.
    Recorded(Use, Trace),
    /// The volume with this name, without its group, of a group that another process owns; and
    /// what may be missing of it.
    Remote(Client, String, MissingPolicy),
}

/// An attached volume. Dropping it detaches it.
#[derive(Debug)]
pub(crate) struct Server {
    // In the order in which they go: the names, the node, the file under it, the record.
    names: Names,
    node: Option<LoopDevice>,
    file: Served,
    record: HeldRecord,
    what: Record,
    access: Access,
}

/// Who answers the kernel.
#[derive(Debug)]
enum Served {
    Local(FuseFile, Option<Use>),
    Remote(Mount, Client),
}

impl Server {
    /// Attaches `source` as `volume` (`vg0/data`); `key` is its name without a `/`.
    pub(crate) fn start(
        runtime: &Runtime,
        source: Source,
        volume: &str,
        key: &str,
        access: Access,
        place: &Place,
    ) -> Result<Self> {
        let mut record = runtime.claim(key, volume)?;
        let path = match place {
            Place::File(Some(path)) => path.clone(),
            Place::File(None) | Place::Node | Place::Named(_) => record.mount_point()?,
        };
        // Written before anything is mounted, so that nothing is left that no record names.
        let absolute = std::path::absolute(&path).unwrap_or(path);
        let mut what = Record {
            volume: volume.to_owned(),
            pid: std::process::id(),
            file: absolute.canonicalize().unwrap_or(absolute),
            node: None,
            dir: match place {
                Place::Named(dir) => Some(dir.clone()),
                Place::File(_) | Place::Node => None,
            },
        };
        record.write(&what)?;
        let (mut file, block) = Served::start(source, &what.file, access)?;
        let node = if place.is_node() {
            let (block, keeper) = (block.max(512), keeper::command());
            Some(LoopDevice::attach_kept(&what.file, access, block, keeper)?)
        } else {
            None
        };
        what.node = node.as_ref().map(|node| node.path().to_owned());
        record.write(&what)?;
        let names = record.names(&what)?;
        if let Served::Local(file, Some(used)) = &mut file {
            let (announcer, resizer) = (file.announcer(), node.as_ref().map(LoopDevice::handle));
            let mut renamer = record.renamer(what.clone())?;
            used.watch(Box::new(move |_, name| {
                renamer.rename(name);
                // Who cannot be told has the old size: what lies behind it is not missed.
                let _ = announcer.announce();
                let _ = resizer.as_ref().map(Handle::refresh);
            }));
        }
        Ok(Self {
            names,
            node,
            file,
            record,
            what,
            access,
        })
    }

    /// Where the volume is now: its node, else its file.
    pub(crate) fn place(&self) -> &Path {
        let file = match &self.file {
            Served::Local(file, _) => file.path(),
            Served::Remote(mount, _) => mount.path(),
        };
        self.node.as_ref().map_or(file, LoopDevice::path)
    }

    /// Serves until a signal or `is_stopped` asks for the end, or the file was unmounted. A first
    /// signal is refused while the node is in use; a second one is obeyed. Once `is_let_go`, the
    /// end of that use is waited for, and the first signal is obeyed.
    ///
    /// The record is given back: who detaches waits until it is dropped, and so for whatever the
    /// caller gives up before, such as the group.
    pub(crate) fn run(
        mut self,
        signals: &mut Signals,
        is_stopped: impl Fn() -> bool,
        is_let_go: impl Fn() -> bool,
    ) -> (Result<()>, HeldRecord) {
        let served = self.serve(signals, is_stopped, is_let_go);
        let (ended, record) = self.end();
        (served.and(ended), record)
    }

    /// Takes the volume away; what was written is durable then.
    fn end(self) -> (Result<()>, HeldRecord) {
        let Self {
            names,
            node,
            file,
            record,
            ..
        } = self;
        drop(names);
        drop(node);
        (file.end(), record)
    }

    /// Ends what somebody uses no more; an error says that what was written may not be durable.
    pub(crate) fn close(self) -> Result<()> {
        let (ended, record) = self.end();
        drop(record);
        ended
    }

    /// Whether it has to go: it was unmounted, or its node's holder killed, and nobody uses it.
    pub(crate) fn is_lost(&self) -> bool {
        self.file.is_ended() || (self.lost_node().is_some() && self.check_unused().is_ok())
    }

    fn serve(
        &mut self,
        signals: &mut Signals,
        is_stopped: impl Fn() -> bool,
        is_let_go: impl Fn() -> bool,
    ) -> Result<()> {
        let (mut refused, mut heard, mut told) = (false, false, false);
        loop {
            let lost = self.lost_node();
            if lost.is_some() || is_let_go() {
                refused = true;
                // Whoever just looks is waited for as well.
                match self.check_unused() {
                    Err(error) if !std::mem::replace(&mut told, true) => {
                        eprintln!("ashlar: {error} (it is detached then)");
                    }
                    Err(_) => {}
                    Ok(()) => return lost.map_or(Ok(()), Err),
                }
            }
            // Whoever said stop through the socket said it once.
            let stopped = is_stopped() && !std::mem::replace(&mut heard, true);
            let asked = signals.pending().next().is_some() || stopped;
            if asked && !refused {
                match after_glances(|| self.check_unused()) {
                    Ok(()) => return Ok(()),
                    Err(error) => {
                        eprintln!("ashlar: {error} (a second signal detaches it all the same)");
                        refused = true;
                    }
                }
            } else if asked || self.file.is_ended() {
                return Ok(());
            }
            self.wait()?;
        }
    }

    /// Lets some time pass, and follows the volume's size meanwhile.
    fn wait(&mut self) -> Result<()> {
        let Served::Remote(_, client) = &mut self.file else {
            std::thread::sleep(WATCH_INTERVAL);
            return Ok(());
        };
        match client
            .heard(WATCH_INTERVAL)
            .map_err(|error| of_library(&error))?
        {
            Heard::Nothing => Ok(()),
            Heard::Changed(volume) => {
                if self.what.volume != volume.name {
                    self.what.volume = volume.name;
                    self.record.write(&self.what)?;
                }
                if let Some(node) = &self.node {
                    let _ = node.handle().refresh();
                }
                client.seen().map_err(|error| of_library(&error))
            }
            Heard::Gone => {
                let what = format!("{}: the process that served it has ended", self.what.volume);
                Err(Error::new(Kind::Gone, what))
            }
        }
    }

    /// Why the node goes with its last user: the process that holds it was killed.
    fn lost_node(&self) -> Option<Error> {
        let node = self.node.as_ref().filter(|node| !node.is_held())?;
        let (volume, node) = (&self.what.volume, node.path().display());
        let what = format!("{volume}: the process that held {node} was killed");
        Some(Error::new(Kind::Gone, what))
    }

    /// Fails, naming who uses it, if the node is mounted or open elsewhere.
    pub(crate) fn check_unused(&self) -> Result<()> {
        match &self.what.node {
            Some(_) => check_unused(&self.what),
            None => Ok(()),
        }
    }

    /// Whether it was made to be written.
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// Its node.
    pub(crate) fn node(&self) -> Option<Handle> {
        self.node.as_ref().map(LoopDevice::handle)
    }

    /// Who uses it; `None`: nobody.
    pub(crate) fn in_use(&self) -> Result<Option<InUse>> {
        use_of(&self.what)
    }
}

impl Served {
    /// Serves at `path`; with the size of a block, in bytes.
    fn start(source: Source, path: &Path, access: Access) -> Result<(Self, u32)> {
        let options = Options {
            access,
            threads: THREADS,
        };
        let here = |device: Arc<dyn Device>| -> Result<(FuseFile, u32)> {
            let block = device.info().logical_block;
            Ok((FuseFile::serve(device, path, &options)?, block))
        };
        match source {
            Source::Reader(device) => {
                let (file, block) = here(device)?;
                Ok((Self::Local(file, None), block))
            }
            Source::Local(used) => {
                let (file, block) = here(Arc::new(used.volume.clone()))?;
                Ok((Self::Local(file, Some(used)), block))
            }
            Source::Recorded(used, trace) => {
                let volume = Arc::new(used.volume.clone());
                let (file, block) = here(Arc::new(Traced::new(volume, trace)))?;
                Ok((Self::Local(file, Some(used)), block))
            }
            Source::Remote(mut client, name, missing) => {
                let (mount, channel) = Mount::new(path, access)?;
                let wanted = Export {
                    volumes: vec![name],
                    is_read_only: access == Access::ReadOnly,
                    missing,
                    way: Way::Fuse,
                };
                let served = client.export(&wanted, &[channel.as_fd()]);
                let served = served.map_err(|error| of_library(&error))?;
                let block = served.first().map_or(0, |volume| volume.block);
                Ok((Self::Remote(mount, client), block))
            }
        }
    }

    /// Whether somebody unmounted it.
    fn is_ended(&self) -> bool {
        match self {
            Self::Local(file, _) => file.is_ended(),
            Self::Remote(mount, _) => !is_mounted(mount.path()),
        }
    }

    /// Takes the file away; what was written is durable then.
    fn end(self) -> Result<()> {
        match self {
            Self::Local(file, used) => {
                let stopped = file.stop();
                let closed = used.map_or(Ok(()), Use::close);
                stopped.and(closed.map_err(|error| of_library(&error)))
            }
            Self::Remote(mut mount, mut client) => {
                let removed = mount.remove();
                client
                    .end()
                    .map_err(|error| of_library(&error))
                    .and(removed)
            }
        }
    }
}

fn of_library(error: &ashlar::Error) -> Error {
    Error::new(Kind::Io, error.to_string())
}

/// How an attached volume is used by others than its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InUse {
    /// Whether its node is mounted, or claimed by another device.
    pub(crate) claimed: Option<Claim>,
    /// Who has it open.
    pub(crate) open: Vec<Holder>,
}

/// Who has claimed a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    Mount,
    Device,
}

/// Who uses the volume of `record`; `None`: nobody.
pub(crate) fn use_of(record: &Record) -> Result<Option<InUse>> {
    let open = holders(record.place(), record.pid);
    let claimed = match &record.node {
        Some(node) if usage(node)? == loop_device::Use::Held => Some(claim(node)),
        _ => None,
    };
    let is_there = |node: &PathBuf| loop_device::is_over(node, &record.file);
    // A server that was killed while this looked has no node any more; another server may have
    // its number by now, and what was seen is then about that one.
    if (claimed.is_none() && open.is_empty()) || !record.node.as_ref().is_none_or(is_there) {
        return Ok(None);
    }
    Ok(Some(InUse { claimed, open }))
}

/// Those of the places of `records` that are in use: mounted, claimed, or open in other processes
/// than their servers.
pub(crate) fn places_in_use(records: &[Record]) -> HashSet<&Path> {
    let places = records.iter().map(|record| (record.place(), record.pid));
    let mut used = open_places(&places.collect());
    let nodes = records.iter().filter_map(|record| record.node.as_deref());
    used.extend(nodes.filter(|node| is_claimed(node)));
    used
}

/// Whether it is a mount that has claimed `node`, as far as this process sees mounts.
fn claim(node: &Path) -> Claim {
    let number = std::fs::metadata(node).map(|found| found.rdev());
    match number.ok().and_then(place_of) {
        Some(_) => Claim::Mount,
        None => Claim::Device,
    }
}

/// Fails if the node of `record` is mounted, or the volume open in other processes than its server.
pub(crate) fn check_unused(record: &Record) -> Result<()> {
    let Some(used) = use_of(record)? else {
        return Ok(());
    };
    let open = used.open.iter();
    let mut users: Vec<String> = open
        .map(|holder| format!("{} ({})", holder.name, holder.pid))
        .collect();
    if used.claimed.is_some() {
        users.push("a mount or another device".to_owned());
    }
    let (volume, users) = (&record.volume, users.join(", "));
    let what = match &record.node {
        Some(node) => {
            let place = node.display();
            format!("{volume} is in use at {place} by {users}: unmount or close it first")
        }
        None => format!("{volume} is in use by {users}: close it first"),
    };
    Err(Error::new(Kind::Open, what))
}
