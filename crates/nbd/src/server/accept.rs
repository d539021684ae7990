//! The threads: one per listener, one per connection, and how they end.
//!
//! Ending has three steps. No new clients; existing ones are shut for reading, so that each
//! answers what it has received and leaves; after a grace period, those whose clients do not fetch
//! their answers are cut off. Requests that a device has taken are always waited for.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, getpeername, shutdown};

use super::listener::State as ListenerState;
use super::{Exports, Listener, Tls, connection, memory};
use crate::tls::{Peers, Security};
use block::{Error, Kind, Result};

/// How long to wait before accepting again when the kernel is out of something.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// What clients may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at a time; more are closed as they come.
    pub connections: usize,
    /// The same from one address of a network, so that one machine does not take all of them.
    /// Clients of unix sockets are not counted like this: they are all of one user.
    pub connections_of_peer: usize,
    /// How long a handshake may take.
    pub handshake: Duration,
    /// Requests in flight per connection.
    pub requests: usize,
    /// Bytes in flight per connection, exceeded by at most one request (32 MiB).
    pub bytes: usize,
    /// Bytes in flight and of replies that clients do not fetch that all connections share, beside
    /// 4 MiB that each may always have.
    pub shared_bytes: usize,
    /// How long a request waits for memory that other connections have before it is refused.
    pub memory_wait: Duration,
    /// How long a connection stays awake for its client's next request, if the last one came as
    /// quickly; zero: it sleeps at once.
    pub spin_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            connections_of_peer: 64,
            handshake: Duration::from_secs(10),
            requests: 512,
            bytes: 32 << 20,
            shared_bytes: 512 << 20,
            memory_wait: Duration::from_mins(1),
            spin_max: Duration::ZERO,
        }
    }
}

/// TLS for a server.
#[derive(Debug, Clone)]
pub struct Secrecy {
    pub(super) tls: Tls,
    pub(super) security: Security,
}

impl Secrecy {
    /// TLS that clients may speak ([`Tls::Offered`]) or have to ([`Tls::Required`]), with these
    /// certificates. Clients that have to show one have to speak TLS: a server that verifies only
    /// those that choose to be verified lets in anybody, so that is [`Kind::Invalid`].
    pub fn new(tls: Tls, security: Security) -> Result<Self> {
        if tls != Tls::Required && security.peers() == Peers::Verified {
            let what = "clients that need a certificate have to speak TLS, so it is to be required";
            return Err(Error::new(Kind::Invalid, what));
        }
        Ok(Self { tls, security })
    }
}

/// A server. Dropping it ends it without grace.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    acceptors: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    exports: Exports,
    limits: Limits,
    memory: Arc<memory::Shared>,
    secrecy: Option<Secrecy>,
    /// Readable once the server ends.
    stop: OwnedFd,
    connections: Mutex<Connections>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Connections {
    sockets: HashMap<u64, Connected>,
    next: u64,
    stopping: bool,
}

/// A client that is connected.
#[derive(Debug)]
struct Connected {
    socket: Arc<OwnedFd>,
    /// Its address, if it came through a network.
    peer: Option<IpAddr>,
}

impl Server {
    /// A server of these exports with the usual limits, without clients as long as it does not
    /// [`Server::listen`].
    pub fn new(exports: Exports) -> Result<Self> {
        Self::with_limits(exports, Limits::default())
    }

    /// A server of these exports.
    pub fn with_limits(exports: Exports, limits: Limits) -> Result<Self> {
        Self::with_secrecy(exports, limits, None)
    }

    /// A server of these exports that speaks TLS, if it is told how.
    pub fn with_secrecy(
        exports: Exports,
        limits: Limits,
        secrecy: Option<Secrecy>,
    ) -> Result<Self> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| Error::io("cannot make an eventfd", errno.into()))?;
        Ok(Self {
            shared: Arc::new(Shared {
                exports,
                limits,
                memory: memory::Shared::new(limits.shared_bytes),
                secrecy,
                stop,
                connections: Mutex::default(),
                left: Condvar::new(),
            }),
            acceptors: Mutex::default(),
        })
    }

    /// What is served; may be changed at any time.
    pub fn exports(&self) -> &Exports {
        &self.shared.exports
    }

    /// Serves whoever comes in by `listener`, from now on.
    pub fn listen(&self, listener: Listener) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        if listener.state == ListenerState::Connected {
            let socket = listener
                .socket()
                .try_clone()
                .map_err(|error| Error::io("cannot duplicate a client's socket", error))?;
            return Shared::connect(&shared, socket);
        }
        let thread = std::thread::Builder::new()
            .name("nbd-accept".to_owned())
            .spawn(move || Shared::accept(&shared, &listener))
            .map_err(|error| Error::io("cannot start a thread", error))?;
        self.acceptors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(thread);
        Ok(())
    }

    /// Serves the client behind a connected stream socket.
    pub fn serve(&self, socket: OwnedFd) -> Result<()> {
        Shared::connect(&self.shared, socket)
    }

    /// How many clients are connected.
    pub fn connection_count(&self) -> usize {
        self.shared.lock().sockets.len()
    }

    /// Ends: no new clients, and the present ones get answers to what they have asked, for as long
    /// as `grace`. Returns when all threads have ended.
    pub fn stop(&self, grace: Duration) {
        self.shared.lock().stopping = true;
        let _ = rustix::io::write(&self.shared.stop, &1_u64.to_ne_bytes());
        let acceptors = std::mem::take(
            &mut *self
                .acceptors
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for acceptor in acceptors {
            let _ = acceptor.join();
        }
        self.shared.shut(Shutdown::Read);
        let deadline = Instant::now() + grace;
        let mut connections = self.shared.lock();
        while !connections.sockets.is_empty() {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            let waited = self.shared.left.wait_timeout(connections, rest);
            connections = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(connections);
        self.shared.shut(Shutdown::Both);
        let mut connections = self.shared.lock();
        while !connections.sockets.is_empty() {
            let waited = self.shared.left.wait(connections);
            connections = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn shut(&self, how: Shutdown) {
        for client in self.lock().sockets.values() {
            let _ = shutdown(&client.socket, how);
        }
    }

    /// An acceptor's life.
    fn accept(shared: &Arc<Self>, listener: &Listener) {
        loop {
            let mut fds = [
                PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(shared.stop.as_fd(), PollFlags::IN),
            ];
            if poll(&mut fds, None).is_err_and(|errno| errno != Errno::INTR) {
                return;
            }
            if !fds[1].revents().is_empty() {
                return;
            }
            if fds[0].revents().is_empty() {
                continue;
            }
            match accept_with(listener.as_fd(), SocketFlags::CLOEXEC) {
                // A client that cannot be served sees its connection closed.
                Ok(socket) => _ = Self::connect(shared, socket),
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    std::thread::sleep(ACCEPT_RETRY);
                }
                Err(Errno::INVAL | Errno::BADF | Errno::NOTSOCK) => return,
                Err(_) => {}
            }
        }
    }

    fn connect(shared: &Arc<Self>, socket: OwnedFd) -> Result<()> {
        let socket = Arc::new(socket);
        let mut connections = shared.lock();
        if connections.stopping {
            return Err(Error::new(Kind::Open, "the NBD server is ending"));
        }
        if connections.sockets.len() >= shared.limits.connections {
            let what = format!(
                "the NBD server has {} clients, and takes no more",
                connections.sockets.len()
            );
            return Err(Error::new(Kind::Open, what));
        }
        let peer = peer_of(&socket);
        let others = connections.sockets.values();
        let of_peer = others.filter(|other| peer.is_some() && other.peer == peer);
        let of_peer = of_peer.count();
        if of_peer >= shared.limits.connections_of_peer {
            let what = format!("the NBD server has {of_peer} clients from one address already");
            return Err(Error::new(Kind::Open, what));
        }
        let id = connections.next;
        connections.next += 1;
        let client = Connected {
            socket: Arc::clone(&socket),
            peer,
        };
        connections.sockets.insert(id, client);
        drop(connections);
        let guard = ConnectionGuard {
            shared: Arc::clone(shared),
            id,
        };
        std::thread::Builder::new()
            .name("nbd".to_owned())
            .spawn(move || {
                let shared = Arc::clone(&guard.shared);
                // Whatever a client did wrong, it is only its own connection that ends.
                let _ = connection::serve(
                    socket.as_fd(),
                    shared.exports.clone(),
                    (shared.limits, &shared.memory),
                    shared.secrecy.as_ref(),
                );
                let _ = shutdown(&socket, Shutdown::Both);
                drop(guard);
            })
            .map_err(|error| Error::io("cannot start a thread", error))?;
        Ok(())
    }
}

/// The address of a client that came through a network.
fn peer_of(socket: &OwnedFd) -> Option<IpAddr> {
    let peer = getpeername(socket).ok()??;
    let address = SocketAddr::try_from(peer).ok()?;
    Some(address.ip().to_canonical())
}

/// A connection's place in the list, given back when its thread ends, however it does.
struct ConnectionGuard {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.shared.lock().sockets.remove(&self.id);
        self.shared.left.notify_all();
    }
}
