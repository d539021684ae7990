//! What an owner does for its clients.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ashlar::live::wire::{Export, Exported, Way};
use ashlar::live::{Console, LiveGroup, Notifier, Served, Service, Stream, Use};
use ashlar::{Error, Kind, Result};
use block::Device;
use export::fuse::{self, FuseFile};
use export::oom;
use nbd::server::{Access, Exports, Listener, Server};

use super::{Nodes, add_export};
use crate::commands::{Caller, perform};

/// How long NBD clients have for fetching their last answers.
const GRACE: Duration = Duration::from_secs(10);
/// Threads that answer the kernel for one file.
const THREADS: usize = 2;

/// Runs commands and serves volumes of a group for other processes.
pub(super) struct Exporter {
    group: LiveGroup,
    nodes: Nodes,
}

impl Exporter {
    pub(super) fn new(group: LiveGroup, nodes: Nodes) -> Self {
        Self { group, nodes }
    }
}

impl Service for Exporter {
    fn run(&self, words: &[String], folder: &str, console: &mut dyn Console) -> u8 {
        const FAILED: u8 = 5;
        let mut hooks = match self.group.hooks() {
            Ok(hooks) => hooks,
            Err(error) => {
                let _ = console.write(Stream::Err, &format!("  {error}\n"));
                return FAILED;
            }
        };
        let caller = Caller {
            console: &mut *console,
            hooks: Some(&mut hooks),
            ownership: self.group.ownership(),
            active: Some((&self.group, &self.nodes)),
            folder: Some(PathBuf::from(folder)),
        };
        let status = perform(words, caller);
        if let Err(error) = hooks.finish() {
            let _ = console.write(Stream::Err, &format!("  {error}\n"));
            return status.max(FAILED);
        }
        status
    }

    fn deactivate(&self, name: &str) -> Result<()> {
        let hooks = self.group.hooks()?;
        let volume = format!("{}/{name}", self.group.name());
        let status = self.group.status().into_iter();
        let mut uuids = status.filter_map(|one| (one.name == volume).then_some(one.uuid)?);
        let refuse = |what: String| Error::new(Kind::Refused, what);
        let lv = uuids.find(|lv| self.nodes.has(*lv));
        let lv = lv.ok_or_else(|| refuse(format!("{volume} is not active")))?;
        self.nodes
            .require_unused(lv)
            .and_then(|()| self.nodes.deactivate(lv))
            .map_err(|error| refuse(error.to_string()))?;
        hooks.finish()
    }

    fn export(
        &self,
        wanted: &Export,
        files: Vec<OwnedFd>,
        notifier: Notifier,
    ) -> Result<Box<dyn Served>> {
        let open = |name: &String| self.group.open(name, wanted.missing);
        let uses = wanted
            .volumes
            .iter()
            .map(open)
            .collect::<Result<Vec<_>>>()?;
        if uses.is_empty() || files.is_empty() {
            let what = "there is nothing to serve, or nowhere to serve it";
            return Err(Error::new(Kind::Request, what));
        }
        match wanted.way {
            Way::Nbd => serve_nbd(wanted, files, uses),
            Way::Fuse => serve_file(wanted, files, uses, notifier),
        }
    }
}

struct ServedNbd {
    server: Server,
    uses: Vec<Use>,
    is_read_only: bool,
}

fn serve_nbd(wanted: &Export, files: Vec<OwnedFd>, mut uses: Vec<Use>) -> Result<Box<dyn Served>> {
    let access = if wanted.is_read_only {
        Access::ReadOnly
    } else {
        Access::ReadWrite
    };
    let exports = Exports::new();
    for used in &mut uses {
        let context = super::live(used, None);
        add_export(&exports, used, access, context).map_err(failed)?;
    }
    let server = Server::new(exports).map_err(failed)?;
    for file in files {
        let listener = Listener::given(file).map_err(failed)?;
        server.listen(listener).map_err(failed)?;
    }
    Ok(Box::new(ServedNbd {
        server,
        uses,
        is_read_only: wanted.is_read_only,
    }))
}

impl Served for ServedNbd {
    fn volumes(&self) -> Vec<Exported> {
        let all = self.uses.iter();
        all.map(|used| described(&used.volume, &used.name, self.is_read_only))
            .collect()
    }

    fn end(self: Box<Self>) -> Result<()> {
        self.server.stop(GRACE);
        drop(self.server);
        close(self.uses)
    }
}

struct ServedFile {
    file: FuseFile,
    uses: Vec<Use>,
    is_read_only: bool,
}

fn serve_file(
    wanted: &Export,
    files: Vec<OwnedFd>,
    mut uses: Vec<Use>,
    notifier: Notifier,
) -> Result<Box<dyn Served>> {
    let ([used], Ok([channel])) = (&mut uses[..], <[OwnedFd; 1]>::try_from(files)) else {
        let what = "one volume is served through one file";
        return Err(Error::new(Kind::Request, what));
    };
    let options = fuse::Options {
        access: if wanted.is_read_only {
            fuse::Access::ReadOnly
        } else {
            fuse::Access::ReadWrite
        },
        threads: THREADS,
    };
    if !wanted.is_read_only {
        // The one who attaches has warned of what is refused here.
        let _ = oom::protect();
    }
    let device = Arc::new(used.volume.clone());
    let file = FuseFile::answer(device, channel, &options).map_err(failed)?;
    let announcer = file.announcer();
    let is_read_only = wanted.is_read_only;
    used.watch(Box::new(move |volume, name| {
        // A file that is being taken away needs no other size.
        let _ = announcer.announce();
        notifier.changed(described(volume, name, is_read_only));
    }));
    Ok(Box::new(ServedFile {
        file,
        uses,
        is_read_only,
    }))
}

impl Served for ServedFile {
    fn volumes(&self) -> Vec<Exported> {
        let all = self.uses.iter();
        all.map(|used| described(&used.volume, &used.name, self.is_read_only))
            .collect()
    }

    fn end(self: Box<Self>) -> Result<()> {
        let stopped = self.file.stop().map_err(failed);
        close(self.uses).and(stopped)
    }
}

fn described(volume: &dyn Device, name: &str, is_read_only: bool) -> Exported {
    let info = volume.info();
    Exported {
        name: name.to_owned(),
        size: info.size,
        block: info.logical_block,
        is_read_only: is_read_only || info.read_only,
    }
}

fn close(uses: Vec<Use>) -> Result<()> {
    let mut outcome = Ok(());
    for used in uses {
        outcome = outcome.and(used.close());
    }
    outcome
}

fn failed(error: block::Error) -> Error {
    Error::new(Kind::Device, "it cannot be served").because(error)
}
