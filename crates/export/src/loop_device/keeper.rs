//! A small process that holds a loop device open for the process that serves its file.
//!
//! ```text
//!   server ── FUSE ─▸ file ◂── loop device ◂── keeper          server ══ socket ══ keeper
//! ```
//!
//! The last to close a loop device waits until its dirty pages are written, which takes answers of
//! the server. A server that were killed while it is this last one would never go: it closes one
//! thing after the other, and the connection of FUSE, whose end gives those writes an error, may
//! come later; so may a ring of `io_uring` that still waits on that connection, which goes with the
//! memory of the last thread, so a thread with open files of its own is not far enough away. While
//! such a process hangs, each `sync` of the machine does. A keeper has nothing else open: it sees
//! the socket end, closes the device, and gets an answer or the connection's end.
//!
//! A request is one byte; its answer is the error number, four bytes of this machine's order, 0
//! for none. What writes out cached pages is a request, too: it waits for answers of the server, so
//! that nothing of the server may wait for it that could not be killed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use block::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec};

use super::frozen::Frozen;
use super::take_size;

/// The request: take the backing file's size.
const TAKE_SIZE: u8 = b's';
/// The request: write out what is cached, and let a file system in it rest.
const FREEZE: u8 = b'f';
/// The request: let it go on.
const THAW: u8 = b't';

/// How long writing out may take.
const FREEZE_MAX: Duration = Duration::from_mins(5);
/// A file system that was told to rest goes on by itself after this time: whatever its server waits
/// for, those who write to it do not.
const FROZEN_MAX: Duration = Duration::from_mins(1);
/// How long a keeper may take for another answer, which the file's server gives.
const PATIENCE: Duration = Duration::from_secs(30);

/// The process, as its starter knows it. Dropping it lets the device go, and waits for that.
#[derive(Debug)]
pub(super) struct Keeper(Mutex<Parts>);

#[derive(Debug)]
struct Parts {
    socket: UnixStream,
    child: Child,
}

impl Keeper {
    /// Starts `command`, which must run [`keep`], to hold `device`.
    pub(super) fn start(mut command: Command, device: File) -> Result<Self> {
        let failed = |error| Error::io("cannot start the keeper of a loop device", error);
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(device))
            .stderr(Stdio::null());
        let child = command.spawn().map_err(failed)?;
        Ok(Self(Mutex::new(Parts {
            socket: ours,
            child,
        })))
    }

    pub(super) fn is_alive(&self) -> bool {
        matches!(self.parts().child.try_wait(), Ok(None))
    }

    pub(super) fn take_size(&self) -> io::Result<()> {
        self.ask(TAKE_SIZE, PATIENCE)
    }

    pub(super) fn freeze(&self) -> io::Result<()> {
        self.ask(FREEZE, FREEZE_MAX)
    }

    pub(super) fn thaw(&self) -> io::Result<()> {
        self.ask(THAW, PATIENCE)
    }

    fn ask(&self, request: u8, patience: Duration) -> io::Result<()> {
        let socket = &mut self.parts().socket;
        socket.set_read_timeout(Some(patience))?;
        socket.write_all(&[request])?;
        let mut answer = [0; 4];
        socket.read_exact(&mut answer)?;
        match i32::from_ne_bytes(answer) {
            0 => Ok(()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    fn parts(&self) -> std::sync::MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut parts = self.parts();
        // It cannot fail for a socket that is connected. The keeper's end is waited for, whatever
        // it ended with: then the device is closed.
        let _ = parts.socket.shutdown(Shutdown::Both);
        let _ = parts.child.wait();
    }
}

/// What a keeper does: holds the device that is its standard output until its standard input, a
/// socket, ends. Signals that ask a program to end are not meant for it: it ends with the server.
pub fn keep() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        // SAFETY: no handler is installed; this process has one thread.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let (mut requests, device) = (io::stdin().lock(), io::stdout());
    let mut frozen = Frozen::default();
    let mut request = [0];
    loop {
        if !frozen.is_empty() && !is_heard(requests.as_fd()) {
            let _ = frozen.thaw();
        }
        if requests.read_exact(&mut request).is_err() {
            break;
        }
        let done = match request[0] {
            FREEZE => frozen.freeze(device.as_fd()),
            THAW => frozen.thaw(),
            _ => take_size(device.as_fd()),
        };
        let errno = done.err().and_then(|error| error.raw_os_error());
        if rustix::io::write(requests.as_fd(), &errno.unwrap_or(0).to_ne_bytes()).is_err() {
            break;
        }
    }
    // Before the device goes, and with it whoever could write to it.
    let _ = frozen.thaw();
}

/// Whether a request comes before what is frozen has to go on.
fn is_heard(requests: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(requests, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: FROZEN_MAX.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    rustix::event::poll(&mut polled, Some(&limit)).is_ok_and(|heard| heard > 0)
}
