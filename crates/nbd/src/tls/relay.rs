//! The thread that moves bytes between a TLS connection and the socket of plain text.
//!
//! It never blocks in a call but `poll`, and holds a bounded number of bytes in each direction:
//! what one side does not take is not read from the other. The end of what the network sends is
//! passed on behind everything before it; the end of the plain side, or an error, ends both.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustls::Connection;

use super::wire::Wire;

/// Bytes taken in at once: four TLS records.
const PIECE: usize = 64 << 10;

/// A TLS connection after its handshake, and the plain socket it belongs to.
pub(super) struct Relay {
    pub(super) tls: Connection,
    pub(super) wire: Wire,
    pub(super) plain: OwnedFd,
    /// Plain text that came from the wire, of which `sent` bytes have been passed on.
    pub(super) inward: Vec<u8>,
    pub(super) sent: usize,
    /// Whether more may come from the wire, and from the plain side.
    pub(super) wire_open: bool,
    pub(super) plain_open: bool,
}

/// Did anything move?
#[derive(PartialEq, Eq)]
enum Moved {
    Yes,
    No,
}

impl Relay {
    /// Runs until the plain side has ended and all it said has left.
    pub(super) fn run(mut self) {
        // Whatever went wrong: both sides see an end.
        let _ = self.work();
        let _ = shutdown(&self.wire.socket, Shutdown::Both);
        let _ = shutdown(&self.plain, Shutdown::Both);
    }

    fn work(&mut self) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let mut moved = self.move_in(&mut piece)?;
            if self.move_out(&mut piece)? == Moved::Yes {
                moved = Moved::Yes;
            }
            if self.send_out()? == Moved::Yes {
                moved = Moved::Yes;
            }
            // Whoever speaks in plain text is gone for good then, and nobody is left to hear.
            if !self.plain_open && !self.tls.wants_write() {
                return Ok(());
            }
            if moved == Moved::No {
                self.wait()?;
            }
        }
    }

    /// From the wire to the plain socket.
    fn move_in(&mut self, piece: &mut [u8]) -> io::Result<Moved> {
        let mut moved = Moved::No;
        if self.inward.is_empty() && self.wire_open {
            match self.tls.read_tls(&mut self.wire) {
                Ok(0) => {
                    self.wire_open = false;
                    moved = Moved::Yes;
                }
                Ok(_) => moved = Moved::Yes,
                Err(error) if is_later(&error) => {}
                Err(error) => return Err(error),
            }
            if let Err(error) = self.tls.process_new_packets() {
                // The alert that says why.
                let _ = self.tls.write_tls(&mut self.wire);
                return Err(io::Error::other(error));
            }
            match self.tls.reader().read(piece) {
                Ok(0) => self.wire_open = false,
                Ok(len) => {
                    self.inward.extend_from_slice(&piece[..len]);
                    moved = Moved::Yes;
                }
                Err(error) if is_later(&error) => {}
                // The other side hung up without saying so: NBD has a goodbye of its own.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.wire_open = false;
                }
                Err(error) => return Err(error),
            }
        }
        if !self.inward.is_empty() {
            let rest = &self.inward[self.sent..];
            match send(&self.plain, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(len) => {
                    self.sent += len;
                    moved = Moved::Yes;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if self.sent == self.inward.len() {
                self.inward.clear();
                self.sent = 0;
            }
        }
        if !self.wire_open && self.inward.is_empty() {
            let _ = shutdown(&self.plain, Shutdown::Write);
        }
        Ok(moved)
    }

    /// From the plain socket into TLS, once what is there has left.
    fn move_out(&mut self, piece: &mut [u8]) -> io::Result<Moved> {
        if !self.plain_open || self.tls.wants_write() {
            return Ok(Moved::No);
        }
        match recv(&self.plain, &mut *piece, RecvFlags::DONTWAIT) {
            Ok((0, _)) => {
                self.plain_open = false;
                self.tls.send_close_notify();
            }
            // There is no limit on what TLS takes; nothing is given while it holds something.
            Ok((len, _)) => self.tls.writer().write_all(&piece[..len])?,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Moved::No),
            Err(errno) => return Err(errno.into()),
        }
        Ok(Moved::Yes)
    }

    fn send_out(&mut self) -> io::Result<Moved> {
        let mut moved = Moved::No;
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.wire) {
                Ok(_) => moved = Moved::Yes,
                Err(error) if is_later(&error) => return Ok(moved),
                Err(error) => return Err(error),
            }
        }
        Ok(moved)
    }

    fn wait(&self) -> io::Result<()> {
        let mut wire = PollFlags::empty();
        let mut plain = PollFlags::empty();
        wire.set(PollFlags::IN, self.wire_open && self.inward.is_empty());
        wire.set(PollFlags::OUT, self.tls.wants_write());
        plain.set(PollFlags::IN, self.plain_open && !self.tls.wants_write());
        plain.set(PollFlags::OUT, !self.inward.is_empty());
        // One that is waited for in no way is left out: its end would be reported again and again.
        let mut fds = Vec::with_capacity(2);
        for (fd, flags) in [
            (self.wire.socket.as_fd(), wire),
            (self.plain.as_fd(), plain),
        ] {
            if !flags.is_empty() {
                fds.push(PollFd::from_borrowed_fd(fd, flags));
            }
        }
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
