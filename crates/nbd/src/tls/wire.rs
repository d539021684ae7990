//! A socket as `std::io` sees it, with a deadline while it blocks.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// The network side of a TLS connection.
pub(super) struct Wire {
    pub(super) socket: OwnedFd,
    /// Until when calls may block; without one they never do.
    pub(super) deadline: Option<Instant>,
}

impl Wire {
    fn prepare(&self, direction: Timeout) -> io::Result<()> {
        let Some(deadline) = self.deadline else {
            return Ok(());
        };
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        set_socket_timeout(
            &self.socket,
            direction,
            Some(rest.max(Duration::from_millis(1))),
        )?;
        Ok(())
    }
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.prepare(Timeout::Recv)?;
        let flags = match self.deadline {
            Some(_) => RecvFlags::empty(),
            None => RecvFlags::DONTWAIT,
        };
        Ok(recv(self.socket.as_fd(), into, flags).map(|(len, _)| len)?)
    }
}

impl Write for Wire {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.prepare(Timeout::Send)?;
        let mut flags = SendFlags::NOSIGNAL;
        flags.set(SendFlags::DONTWAIT, self.deadline.is_none());
        Ok(send(self.socket.as_fd(), from, flags)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
