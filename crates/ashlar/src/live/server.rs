//! The side of the owner: a thread that lets clients in, and one for each.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::net::SendFlags;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Resource, getrlimit, setrlimit};

use super::connection::serve;
use super::group::LiveGroup;
use super::runtime::Record;
use super::wire::{Export, Exported, Reply};
use super::{Console, Notifier};
use crate::{Error, Kind, Result};

/// Clients at a time for which nothing is served: those that run commands, or ask. More are turned
/// away.
const CLIENTS_MAX: usize = 64;
/// Clients at a time for which volumes are served, each with some threads and open files. A
/// machine has no more loop devices than that, and `fusermount3` makes no more mounts.
const EXPORTS_MAX: usize = 1000;
/// Open files of a process that serves for so many.
const FILES_MAX: u64 = 16 << 10;

/// What an owner does for its clients.
pub trait Service: Send + Sync {
    /// Runs a command, whose relative paths are meant from `folder`. Gives its exit status.
    fn run(&self, words: &[String], folder: &str, console: &mut dyn Console) -> u8;

    /// Makes the volume called `name`, without its group, inactive, unless somebody uses it.
    fn deactivate(&self, name: &str) -> Result<()>;

    /// Serves volumes through `files`; `notifier` tells the client how they change.
    fn export(
        &self,
        export: &Export,
        files: Vec<OwnedFd>,
        notifier: Notifier,
    ) -> Result<Box<dyn Served>>;
}

/// Volumes that are served for a client.
pub trait Served: Send {
    /// The volumes.
    fn volumes(&self) -> Vec<Exported>;

    /// Ends it; what was written is durable afterwards.
    fn end(self: Box<Self>) -> Result<()>;
}

/// The control socket of a group that this process owns.
pub struct Server {
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What the threads share.
pub(super) struct Shared {
    pub(super) group: LiveGroup,
    pub(super) service: Arc<dyn Service>,
    /// Connections for which volumes are served.
    pub(super) exporting: AtomicUsize,
    /// Whether somebody said stop.
    pub(super) is_stopped: AtomicBool,
    stop: OwnedFd,
    clients: Mutex<Clients>,
    left: Condvar,
}

#[derive(Default)]
struct Clients {
    sockets: HashMap<u64, UnixStream>,
    next: u64,
    /// Nobody is let in any more.
    is_ending: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({:?})", self.shared.group)
    }
}

impl Server {
    /// Lets clients find this process as the owner of `group`.
    ///
    /// The record comes beside it: whoever drops it says that the group is free, and so drops it
    /// after the group.
    pub fn start(group: &LiveGroup, service: Arc<dyn Service>) -> Result<(Self, Record)> {
        allow_files();
        let (record, listener) = Record::make(&group.name(), group.uuid())?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let stop = eventfd(0, flags).map_err(|errno| failed(errno.into()))?;
        let shared = Arc::new(Shared {
            group: group.clone(),
            service,
            exporting: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
            stop,
            clients: Mutex::default(),
            left: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        let acceptor = std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || theirs.accept(&listener))
            .map_err(failed)?;
        let server = Self {
            shared,
            acceptor: Some(acceptor),
        };
        Ok((server, record))
    }

    /// For how many clients volumes are served.
    pub fn exporting(&self) -> usize {
        self.shared.exporting.load(Ordering::Relaxed)
    }

    /// Whether a client asked this process to stop.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped.load(Ordering::Relaxed)
    }

    /// Whether anybody was ever let in.
    pub fn was_used(&self) -> bool {
        self.shared.clients().next > 0
    }

    /// Lets nobody in from now on, if nobody is there, and nobody who was there left something that
    /// is needed: `is_idle`. Whether that is so. Who was let in is served: whoever ends by itself
    /// asks this first.
    pub fn end_if(&self, is_idle: impl FnOnce() -> bool) -> bool {
        let mut clients = self.shared.clients();
        clients.is_ending |= clients.sockets.is_empty() && is_idle();
        clients.is_ending
    }

    fn end(&mut self) {
        let _ = rustix::io::write(&self.shared.stop, &1_u64.to_ne_bytes());
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        let mut clients = self.shared.clients();
        clients.is_ending = true;
        for socket in clients.sockets.values() {
            let _ = socket.shutdown(Shutdown::Read);
        }
        // Commands under way come to their end, and say so; they read no more from their clients.
        while !clients.sockets.is_empty() {
            let waited = self
                .shared
                .left
                .wait_timeout(clients, Duration::from_secs(1));
            clients = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody is let in any more.
    pub(super) fn is_ending(&self) -> bool {
        self.clients().is_ending
    }

    fn accept(self: &Arc<Self>, listener: &UnixListener) {
        loop {
            let mut fds = [
                PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN),
            ];
            if poll(&mut fds, None).is_err_and(|errno| errno != rustix::io::Errno::INTR) {
                return;
            }
            if !fds[1].revents().is_empty() {
                return;
            }
            if fds[0].revents().is_empty() {
                continue;
            }
            match listener.accept() {
                // Who cannot be served sees the connection closed.
                Ok((socket, _)) => _ = self.connect(socket),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn connect(self: &Arc<Self>, socket: UnixStream) -> Result<()> {
        let peer = socket_peercred(&socket).map_err(|errno| failed(errno.into()))?;
        if !peer.uid.is_root() && peer.uid != rustix::process::geteuid() {
            let what = format!("user {} may not connect", peer.uid.as_raw());
            return Err(Error::new(Kind::Refused, what));
        }
        let mut clients = self.clients();
        if clients.is_ending {
            return Err(Error::new(Kind::Ended, "it is too late"));
        }
        let exporting = self.exporting.load(Ordering::Relaxed);
        if exporting >= EXPORTS_MAX || clients.sockets.len() >= exporting + CLIENTS_MAX {
            drop(clients);
            let what = format!(
                "process {} is used by {exporting} other commands that serve volumes, and by \
                 others that ask; it takes {EXPORTS_MAX} and {CLIENTS_MAX} at a time: try again, \
                 or detach some",
                std::process::id()
            );
            let line = Reply::Error(what.clone()).to_line();
            let _ = rustix::net::send(&socket, &line, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            return Err(Error::new(Kind::Locked, what));
        }
        let id = clients.next;
        clients.next += 1;
        let socket_of_client = socket.try_clone().map_err(failed)?;
        let known = clients.sockets.insert(id, socket_of_client);
        assert!(known.is_none(), "a number is given to one client");
        let count = clients.sockets.len();
        assert!(count <= EXPORTS_MAX + CLIENTS_MAX, "clients have a limit");
        drop(clients);
        let guard = ClientGuard {
            shared: Arc::clone(self),
            id,
        };
        std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || {
                // What went wrong was said to the client, if it still listens.
                let _ = serve(&guard.shared, socket);
                drop(guard);
            })
            .map_err(failed)?;
        Ok(())
    }
}

/// A client's place in the list, given back when its thread ends, however it does.
struct ClientGuard {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        if let Some(socket) = self.shared.clients().sockets.remove(&self.id) {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.shared.left.notify_all();
    }
}

/// Lets this process have more files open than is usual, as far as it may.
fn allow_files() {
    let mut limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(FILES_MAX, |most| most.min(FILES_MAX));
    if limit.current.is_some_and(|now| now < most) {
        limit.current = Some(most);
        // Without it, the volumes that do not fit are refused.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(Kind::Device, "cannot serve a control socket").because(error)
}
