//! One connection from its greeting to its end, on its own thread.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use block::nbd::{Expect, Inbox, Received, Wait};
use rustix::net::sockopt::{Timeout, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{SendFlags, send};

use super::session::Session;
use super::{Agreed, Exports, Handshake, Limits, Progress};
use block::{Error, Kind, Result};

/// Speaks with the client behind `socket` until the end.
pub(super) fn serve(socket: BorrowedFd<'_>, exports: Exports, limits: Limits) -> Result<()> {
    // Not for unix sockets, where it fails and is not needed. Their buffers stay as they are: in
    // larger ones, replies leave the cache before the client reads them.
    let _ = set_tcp_nodelay(socket, true);
    let mut inbox = Inbox::default();
    set_timeouts(socket, Some(limits.handshake))?;
    let Some(agreed) = shake_hands(socket, &mut inbox, exports, limits.handshake)? else {
        return Ok(());
    };
    set_timeouts(socket, None)?;
    Session::new(socket, inbox, agreed, limits)?.run()
}

fn set_timeouts(socket: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<()> {
    for direction in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(socket, direction, timeout)
            .map_err(|errno| Error::io("cannot set a socket's timeout", errno.into()))?;
    }
    Ok(())
}

/// What the client chose; `None` if it chose to leave.
fn shake_hands(
    socket: BorrowedFd<'_>,
    inbox: &mut Inbox,
    exports: Exports,
    timeout: Duration,
) -> Result<Option<Agreed>> {
    let deadline = Instant::now() + timeout;
    let mut out = Vec::new();
    let mut handshake = Handshake::begin(exports, &mut out);
    loop {
        send_all(socket, &mut out)?;
        let (used, progress) = match handshake.advance(inbox.bytes(), &mut out) {
            Ok(advanced) => advanced,
            Err(error) => {
                let _ = send_all(socket, &mut out);
                return Err(error);
            }
        };
        inbox.consume(used);
        match progress {
            Progress::More if used > 0 => {}
            Progress::More => {
                if Instant::now() >= deadline {
                    return Err(Error::new(
                        Kind::Invalid,
                        "NBD: the handshake takes too long",
                    ));
                }
                match inbox.receive(socket, &mut [], Expect::Short, Wait::Yes)? {
                    Received::End => return Ok(None),
                    Received::Nothing | Received::Bytes { .. } => {}
                }
            }
            Progress::End => {
                send_all(socket, &mut out)?;
                return Ok(None);
            }
            Progress::Transmit(agreed) => {
                send_all(socket, &mut out)?;
                return Ok(Some(*agreed));
            }
        }
    }
}

fn send_all(socket: BorrowedFd<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut rest = out.as_slice();
    while !rest.is_empty() {
        match send(socket.as_fd(), rest, SendFlags::NOSIGNAL) {
            Ok(len) => rest = &rest[len..],
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => {
                let what = "cannot answer an NBD client's option";
                return Err(Error::io(what, errno.into()));
            }
        }
    }
    out.clear();
    Ok(())
}
