//! One connection from its greeting to its end, on its own thread.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::wire::{Expect, Inbox, Received, Wait};
use rustix::net::sockopt::{
    Timeout, set_socket_keepalive, set_socket_send_buffer_size, set_socket_timeout,
    set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay,
};
use rustix::net::{SendFlags, send};

use super::accept::Secrecy;
use super::memory::Shared;
use super::session::Session;
use super::{Agreed, Exports, Handshake, Limits, Progress, Tls};
use block::{Error, Kind, Result};

/// Replies that a unix socket holds, in bytes, of which Linux makes twice as many and says that
/// there is room again while a quarter of those is left: the 17 or so short ones that a client
/// still has to read while the server wakes up and answers the next. In a much larger buffer,
/// replies leave the cache before the client reads them.
const UNIX_SEND_BUFFER: usize = 144 << 10;

/// A machine that was switched off, or is cut off, gives its connections back after two minutes:
/// so long nothing comes before it is asked whether it is there,
const KEEP_IDLE: Duration = Duration::from_mins(1);
/// so often,
const KEEP_INTERVAL: Duration = Duration::from_secs(10);
/// and so many times.
const KEEP_COUNT: u32 = 6;

/// Speaks with the client behind `socket` until the end.
pub(super) fn serve(
    socket: BorrowedFd<'_>,
    exports: Exports,
    (limits, memory): (Limits, &Arc<Shared>),
    secrecy: Option<&Secrecy>,
) -> Result<()> {
    // It fails for unix sockets, which do not need it. TCP finds the size of its buffers itself.
    if set_tcp_nodelay(socket, true).is_err() {
        let _ = set_socket_send_buffer_size(socket, UNIX_SEND_BUFFER);
    } else {
        // A client may be silent for days, but not gone without our noticing.
        let _ = set_socket_keepalive(socket, true);
        let _ = set_tcp_keepidle(socket, KEEP_IDLE);
        let _ = set_tcp_keepintvl(socket, KEEP_INTERVAL);
        let _ = set_tcp_keepcnt(socket, KEEP_COUNT);
    }
    let mut inbox = Inbox::default();
    let deadline = Instant::now() + limits.handshake;
    let mut out = Vec::new();
    let tls = secrecy.map_or(Tls::Off, |secrecy| secrecy.tls);
    let mut handshake = Handshake::begin(exports, tls, &mut out);
    match shake_hands(socket, &mut inbox, &mut handshake, out, deadline)? {
        Shaken::Left => Ok(()),
        Shaken::Agreed(agreed) => {
            set_timeouts(socket, None)?;
            Session::new(socket, inbox, *agreed, limits, memory)?.run()
        }
        Shaken::Secure => {
            let secrecy = secrecy.expect("it was offered");
            if !inbox.bytes().is_empty() {
                // Somebody on the way may have put it there.
                let what = "NBD: the client goes on before TLS begins";
                return Err(Error::new(Kind::Invalid, what));
            }
            let own = socket.try_clone_to_owned();
            let own = own.map_err(|error| Error::io("cannot duplicate a socket", error))?;
            let (plain, relay) = secrecy.security.accept(own, deadline)?;
            handshake.secured();
            let result = serve_secured(plain.as_fd(), &mut handshake, (limits, memory), deadline);
            drop(plain);
            // What was answered still leaves; a client that does not take it is cut off with the
            // server's end, or its own.
            let _ = relay.join();
            result
        }
    }
}

/// The rest of a connection, under TLS.
fn serve_secured(
    socket: BorrowedFd<'_>,
    handshake: &mut Handshake,
    (limits, memory): (Limits, &Arc<Shared>),
    deadline: Instant,
) -> Result<()> {
    let mut inbox = Inbox::default();
    match shake_hands(socket, &mut inbox, handshake, Vec::new(), deadline)? {
        Shaken::Agreed(agreed) => {
            set_timeouts(socket, None)?;
            Session::new(socket, inbox, *agreed, limits, memory)?.run()
        }
        Shaken::Left | Shaken::Secure => Ok(()),
    }
}

/// What came of a handshake.
enum Shaken {
    Left,
    Agreed(Box<Agreed>),
    Secure,
}

/// Lets calls on the socket block as long as the handshake may still take, and no longer: a client
/// that takes or gives a byte now and then is not waited for again and again.
fn block_until(socket: BorrowedFd<'_>, deadline: Instant) -> Result<()> {
    let rest = deadline.saturating_duration_since(Instant::now());
    if rest.is_zero() {
        let what = "NBD: the handshake takes too long";
        return Err(Error::new(Kind::Invalid, what));
    }
    // Less than this would be for ever.
    set_timeouts(socket, Some(rest.max(Duration::from_millis(1))))
}

fn set_timeouts(socket: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<()> {
    for direction in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(socket, direction, timeout)
            .map_err(|errno| Error::io("cannot set a socket's timeout", errno.into()))?;
    }
    Ok(())
}

/// What the client chose.
fn shake_hands(
    socket: BorrowedFd<'_>,
    inbox: &mut Inbox,
    handshake: &mut Handshake,
    mut out: Vec<u8>,
    deadline: Instant,
) -> Result<Shaken> {
    loop {
        send_all(socket, &mut out, deadline)?;
        let (used, progress) = match handshake.advance(inbox.bytes(), &mut out) {
            Ok(advanced) => advanced,
            Err(error) => {
                let _ = send_all(socket, &mut out, deadline);
                return Err(error);
            }
        };
        inbox.consume(used);
        match progress {
            Progress::More if used > 0 => {}
            Progress::More => {
                block_until(socket, deadline)?;
                match inbox.receive(socket, &mut [], Expect::Short, Wait::Yes)? {
                    Received::End => return Ok(Shaken::Left),
                    Received::Nothing | Received::Bytes { .. } => {}
                }
            }
            Progress::End => {
                send_all(socket, &mut out, deadline)?;
                return Ok(Shaken::Left);
            }
            Progress::Secure => {
                send_all(socket, &mut out, deadline)?;
                return Ok(Shaken::Secure);
            }
            Progress::Transmit(agreed) => {
                send_all(socket, &mut out, deadline)?;
                return Ok(Shaken::Agreed(agreed));
            }
        }
    }
}

fn send_all(socket: BorrowedFd<'_>, out: &mut Vec<u8>, deadline: Instant) -> Result<()> {
    let mut rest = out.as_slice();
    while !rest.is_empty() {
        block_until(socket, deadline)?;
        match send(socket.as_fd(), rest, SendFlags::NOSIGNAL) {
            Ok(len) => rest = &rest[len..],
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(errno) => {
                let what = "cannot answer an NBD client's option";
                return Err(Error::io(what, errno.into()));
            }
        }
    }
    out.clear();
    Ok(())
}

#[cfg(test)]
mod tests;
