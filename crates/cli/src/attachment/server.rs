//! The process behind an attachment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use block::{Device, Error, Kind, Result};
use export::fuse::{Access, FuseFile, Options};
use export::loop_device::{LoopDevice, Use, usage};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::folder::{HeldRecord, Record, Runtime};
use super::holders::holders;

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

/// An attached volume. Dropping it detaches it.
#[derive(Debug)]
pub(crate) struct Server {
    // In the order in which they go: the node, the file under it, the record.
    node: Option<LoopDevice>,
    file: FuseFile,
    _record: HeldRecord,
    volume: String,
}

impl Server {
    /// Attaches `device` as `volume` (`vg0/data`); `key` is its name without a `/`.
    pub(crate) fn start(
        runtime: &Runtime,
        device: Arc<dyn Device>,
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
        let block = device.info().logical_block.max(512);
        // Written before anything is mounted, so that nothing is left that no record names.
        let absolute = std::path::absolute(&path).unwrap_or(path);
        let mut what = Record {
            volume: volume.to_owned(),
            pid: std::process::id(),
            file: absolute.canonicalize().unwrap_or(absolute),
            node: None,
        };
        record.write(&what)?;
        let file = FuseFile::serve(
            device,
            &what.file,
            &Options {
                access,
                threads: THREADS,
            },
        )?;
        let node = match place {
            Place::Node => Some(LoopDevice::attach(file.path(), access, block)?),
            Place::File(_) => None,
        };
        what.node = node.as_ref().map(|node| node.path().to_owned());
        record.write(&what)?;
        Ok(Self {
            node,
            file,
            _record: record,
            volume: volume.to_owned(),
        })
    }

    /// Where the volume is now: its node, else its file.
    pub(crate) fn place(&self) -> &Path {
        self.node
            .as_ref()
            .map_or(self.file.path(), LoopDevice::path)
    }

    /// Serves until a signal asks for the end, or the file was unmounted. A first signal is
    /// refused while the node is in use; a second one is obeyed.
    pub(crate) fn run(self) -> Result<()> {
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
            .map_err(|error| Error::io("cannot wait for signals", error))?;
        let mut refused = false;
        loop {
            let asked = signals.pending().next().is_some();
            if asked && !refused {
                match self.check_unused() {
                    Ok(()) => break,
                    Err(error) => {
                        eprintln!("ashlar: {error} (a second signal detaches it all the same)");
                        refused = true;
                    }
                }
            } else if asked || self.file.is_ended() {
                break;
            }
            std::thread::sleep(WATCH_INTERVAL);
        }
        let Self { node, file, .. } = self;
        drop(node);
        file.stop()
    }

    /// Fails, naming who uses it, if the node is mounted or open elsewhere.
    fn check_unused(&self) -> Result<()> {
        let Some(node) = &self.node else {
            return Ok(());
        };
        check_unused(&self.volume, node.path(), std::process::id())
    }
}

/// Fails if the node of `volume`, served by process `server`, is mounted or open elsewhere.
pub(crate) fn check_unused(volume: &str, node: &Path, server: u32) -> Result<()> {
    let open = holders(node, server);
    let claimed = usage(node)? == Use::Held;
    if !claimed && open.is_empty() {
        return Ok(());
    }
    let mut users: Vec<String> = open
        .iter()
        .map(|holder| format!("{} ({})", holder.name, holder.pid))
        .collect();
    if claimed {
        users.push("a mount or another device".to_owned());
    }
    let (place, users) = (node.display(), users.join(", "));
    let what = format!("{volume} is in use at {place} by {users}: unmount or close it first");
    Err(Error::new(Kind::Open, what))
}
