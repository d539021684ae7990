//! The process behind an attachment.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ashlar::activate::MissingPolicy;
use ashlar::live::wire::{Export, Way};
use ashlar::live::{Client, Heard, Use};
use block::trace::{Trace, Traced};
use block::{Device, Error, Kind, Result};
use export::fuse::{Access, FuseFile, Mount, Options};
use export::loop_device::{self, LoopDevice, Resizer, usage};
use signal_hook::iterator::Signals;

use super::folder::{HeldRecord, Record, Runtime, is_mounted};
use super::holders::{after_glances, holders};

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
    // In the order in which they go: the node, the file under it, the record.
    node: Option<LoopDevice>,
    file: Served,
    record: HeldRecord,
    what: Record,
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
            Place::File(None) | Place::Node => record.mount_point()?,
        };
        // Written before anything is mounted, so that nothing is left that no record names.
        let absolute = std::path::absolute(&path).unwrap_or(path);
        let mut what = Record {
            volume: volume.to_owned(),
            pid: std::process::id(),
            file: absolute.canonicalize().unwrap_or(absolute),
            node: None,
        };
        record.write(&what)?;
        let (mut file, block) = Served::start(source, &what.file, access)?;
        let node = match place {
            Place::Node => Some(LoopDevice::attach(&what.file, access, block.max(512))?),
            Place::File(_) => None,
        };
        what.node = node.as_ref().map(|node| node.path().to_owned());
        record.write(&what)?;
        if let Served::Local(file, Some(used)) = &mut file {
            let (announcer, resizer) = (file.announcer(), node.as_ref().map(LoopDevice::resizer));
            let mut renamer = record.renamer(what.clone())?;
            used.watch(Box::new(move |_, name| {
                renamer.rename(name);
                // Who cannot be told has the old size: what lies behind it is not missed.
                let _ = announcer.announce();
                let _ = resizer.as_ref().map(Resizer::refresh);
            }));
        }
        Ok(Self {
            node,
            file,
            record,
            what,
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
        let Self {
            node, file, record, ..
        } = self;
        drop(node);
        let ended = file.end();
        (served.and(ended), record)
    }

    fn serve(
        &mut self,
        signals: &mut Signals,
        is_stopped: impl Fn() -> bool,
        is_let_go: impl Fn() -> bool,
    ) -> Result<()> {
        let (mut refused, mut heard, mut told) = (false, false, false);
        loop {
            if is_let_go() {
                refused = true;
                // Whoever just looks is waited for as well.
                match self.check_unused() {
                    Err(error) if !std::mem::replace(&mut told, true) => {
                        eprintln!("ashlar: {error} (it is detached then)");
                    }
                    Err(_) => {}
                    Ok(()) => return Ok(()),
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
                    let _ = node.resizer().refresh();
                }
                client.seen().map_err(|error| of_library(&error))
            }
            Heard::Gone => {
                let what = format!("{}: the process that served it has ended", self.what.volume);
                Err(Error::new(Kind::Gone, what))
            }
        }
    }

    /// Fails, naming who uses it, if the node is mounted or open elsewhere.
    fn check_unused(&self) -> Result<()> {
        match &self.what.node {
            Some(node) => check_unused(&self.what, node),
            None => Ok(()),
        }
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

/// Fails if `node`, which is the one of `record`, is mounted, or open in other processes than its
/// server.
pub(crate) fn check_unused(record: &Record, node: &Path) -> Result<()> {
    let open = holders(node, record.pid);
    let claimed = usage(node)? == loop_device::Use::Held;
    // A server that was killed while this looked has no node any more; another server may have
    // its number by now, and what was seen is then about that one.
    if (!claimed && open.is_empty()) || !loop_device::is_over(node, &record.file) {
        return Ok(());
    }
    let mut users: Vec<String> = open
        .iter()
        .map(|holder| format!("{} ({})", holder.name, holder.pid))
        .collect();
    if claimed {
        users.push("a mount or another device".to_owned());
    }
    let (volume, place, users) = (&record.volume, node.display(), users.join(", "));
    let what = format!("{volume} is in use at {place} by {users}: unmount or close it first");
    Err(Error::new(Kind::Open, what))
}
