//! Where clients come in: a unix socket, a TCP port, or what a parent process opened for us.
//!
//! Socket activation is systemd's: `LISTEN_FDS` sockets from descriptor 3 on, for the process
//! `LISTEN_PID`. Each is either listening or already connected to one client; both are served.
//! libnbd's tools start a server this way: `nbdcopy -- [ ashlar serve vg/lv ] out`.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, fchmod};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::sockopt::socket_acceptconn;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

use crate::client::Address;
use block::{Error, Kind, Result};

/// The first descriptor that a parent hands over.
const ACTIVATION_FD_FIRST: i32 = 3;
/// More sockets than anybody hands over.
const ACTIVATION_FD_COUNT_MAX: i32 = 64;
/// Clients that may wait until they are let in; what the standard library takes.
const BACKLOG: i32 = 128;
/// The port for NBD.
const PORT: u16 = 10809;

/// A socket that clients come in by.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    place: Place,
    /// A socket file of ours, with its inode, to be removed at the end.
    file: Option<(PathBuf, u64)>,
    /// Whether `socket` is a client already.
    pub(super) state: State,
}

/// Where clients find a listener.
#[derive(Debug)]
enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
    /// A parent process knows.
    Given,
}

/// What a socket from a parent process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Listening,
    Connected,
}

impl Listener {
    /// Listens on a unix socket at `path`, which only its owner may connect to, whatever the
    /// umask. A socket file that nobody listens on is replaced.
    pub fn unix(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let cannot = |error: std::io::Error| {
            let kind = match error.kind() {
                std::io::ErrorKind::AddrInUse => Kind::Open,
                _ => Kind::Io,
            };
            Error::io(format!("cannot listen on {}", path.display()), error).with_kind(kind)
        };
        let listener = match bind_private(path) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && is_stale(path) => {
                std::fs::remove_file(path).map_err(cannot)?;
                bind_private(path)
            }
            other => other,
        };
        let socket = listener.map_err(cannot)?;
        let inode = std::fs::metadata(path).map_err(cannot)?.ino();
        Ok(Self {
            socket,
            place: Place::Unix(path.to_owned()),
            file: Some((path.to_owned(), inode)),
            state: State::Listening,
        })
    }

    /// Listens on `HOST:PORT` or `HOST` (port 10809); port 0 takes a free one.
    pub fn tcp(address: &str) -> Result<Self> {
        let cannot = |error: std::io::Error| {
            let kind = match error.kind() {
                std::io::ErrorKind::AddrInUse => Kind::Open,
                std::io::ErrorKind::InvalidInput => Kind::Invalid,
                _ => Kind::Io,
            };
            Error::io(format!("cannot listen on {address}"), error).with_kind(kind)
        };
        let has_port = address.rsplit_once(':').is_some_and(|(host, port)| {
            !port.ends_with(']') && (!host.contains(':') || host.ends_with(']'))
        });
        let listener = if has_port {
            TcpListener::bind(address)
        } else {
            TcpListener::bind((address.trim_matches(['[', ']']), PORT))
        };
        let listener = listener.map_err(cannot)?;
        let local: SocketAddr = listener.local_addr().map_err(cannot)?;
        Ok(Self {
            socket: listener.into(),
            place: Place::Tcp(local),
            file: None,
            state: State::Listening,
        })
    }

    /// The sockets that a parent process handed over; none if it did not. They are taken once: a
    /// second call finds none.
    pub fn from_activation() -> Result<Vec<Self>> {
        static TAKEN: AtomicBool = AtomicBool::new(false);
        let number = |name| -> Option<i32> { std::env::var(name).ok()?.parse().ok() };
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let count = handed_over(me, number("LISTEN_PID"), number("LISTEN_FDS"))?;
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Ok(Vec::new());
        }
        (ACTIVATION_FD_FIRST..ACTIVATION_FD_FIRST + count)
            .map(Self::activated)
            .collect()
    }

    fn activated(fd: i32) -> Result<Self> {
        // SAFETY: the parent said that this descriptor is for us, nothing else in this process
        // owns it, and it is taken only once.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        Self::given(socket)
            .map_err(|error| error.within(format_args!("descriptor {fd}, from socket activation")))
    }

    /// A socket that somebody handed over: one that listens, or one with a client.
    pub fn given(socket: OwnedFd) -> Result<Self> {
        let failed = |errno: rustix::io::Errno| {
            let what = "an open file that was handed over is no socket";
            Error::io(what, errno.into()).with_kind(Kind::Invalid)
        };
        let listening = socket_acceptconn(&socket).map_err(failed)?;
        fcntl_setfd(&socket, FdFlags::CLOEXEC).map_err(failed)?;
        Ok(Self {
            socket,
            place: Place::Given,
            file: None,
            state: if listening {
                State::Listening
            } else {
                State::Connected
            },
        })
    }

    /// Where clients find the export called `name`, as an NBD URI; what a parent process gave us
    /// has none that we know.
    pub fn uri(&self, name: &str) -> String {
        match &self.place {
            Place::Unix(path) => Address::unix(path, name).to_string(),
            Place::Tcp(address) => {
                Address::tcp(address.ip().to_string(), address.port(), name).to_string()
            }
            Place::Given => String::new(),
        }
    }

    /// The address of a TCP port that was opened here, which whoever reaches it may connect to.
    pub fn port(&self) -> Option<SocketAddr> {
        match &self.place {
            Place::Tcp(address) => Some(*address),
            Place::Unix(_) | Place::Given => None,
        }
    }

    /// The path of a unix socket that was made here.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Unix(path) => Some(path),
            Place::Tcp(_) | Place::Given => None,
        }
    }

    /// The socket itself, to be handed over.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, inode)) = &self.file
            && std::fs::metadata(path).is_ok_and(|now| now.ino() == *inode)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// How many sockets a parent process hands over to the process `me`, by what it says.
fn handed_over(me: i32, pid: Option<i32>, count: Option<i32>) -> Result<i32> {
    match count {
        Some(count) if pid == Some(me) && count > ACTIVATION_FD_COUNT_MAX => {
            let what = format!("LISTEN_FDS={count} is more than {ACTIVATION_FD_COUNT_MAX}");
            Err(Error::new(Kind::Invalid, what))
        }
        Some(count) if pid == Some(me) => Ok(count.max(0)),
        _ => Ok(0),
    }
}

/// A listening socket at `path` with mode 0600. It gets its mode before it gets its name (Linux
/// makes the file with the mode of the socket), so there is no moment at which others may connect.
fn bind_private(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Whether `path` is a socket that its listener left behind.
fn is_stale(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    is_socket
        && UnixStream::connect(path)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests;
