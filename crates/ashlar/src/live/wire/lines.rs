//! Lines on a socket, with the open files that come along with them.

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::message::LINE_MAX;
use crate::{Error, Kind, Result};

/// More open files than one request needs.
pub(in crate::live) const FILES_MAX: usize = 16;
/// How long the other side may take to read what it is sent.
const SEND_MAX: Duration = Duration::from_secs(10);

/// A socket, with what was received and not read yet.
#[derive(Debug)]
pub(in crate::live) struct Lines {
    socket: UnixStream,
    received: Vec<u8>,
    files: Vec<OwnedFd>,
}

/// What is heard.
#[derive(Debug)]
pub(in crate::live) enum Next {
    /// A line, without its end.
    Line(Vec<u8>),
    /// The other side is gone.
    Left,
    /// Nothing within the time.
    Silence,
}

impl Lines {
    pub(in crate::live) fn new(socket: UnixStream) -> Result<Self> {
        let set = socket.set_write_timeout(Some(SEND_MAX));
        set.map_err(|error| failed("set up", error))?;
        Ok(Self {
            socket,
            received: Vec::new(),
            files: Vec::new(),
        })
    }

    /// Another way to write to the same socket.
    pub(in crate::live) fn writer(&self) -> Result<Self> {
        let socket = self.socket.try_clone();
        Self::new(socket.map_err(|error| failed("duplicate", error))?)
    }

    /// The socket, for whoever reads no more from it.
    pub(in crate::live) fn into_socket(self) -> OwnedFd {
        self.socket.into()
    }

    /// Waits for the next line, at most for `limit`.
    pub(in crate::live) fn next(&mut self, limit: Duration) -> Result<Next> {
        let end = Instant::now() + limit;
        loop {
            if let Some(at) = self.received.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.received.drain(..=at).collect();
                line.pop();
                debug_assert!(!line.contains(&b'\n'), "a line ends once");
                return Ok(Next::Line(line));
            }
            if self.received.len() > LINE_MAX {
                let what = "a line on the control socket is too long";
                return Err(Error::new(Kind::Request, what));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Next::Silence);
            }
            let set = self.socket.set_read_timeout(Some(left));
            set.map_err(|error| failed("set up", error))?;
            if self.receive()? == 0 {
                return Ok(Next::Left);
            }
        }
    }

    /// The files that came along so far.
    pub(in crate::live) fn take_files(&mut self) -> Vec<OwnedFd> {
        assert!(self.files.len() <= FILES_MAX, "files have a limit");
        std::mem::take(&mut self.files)
    }

    /// How many bytes came; a time that ran out looks like one that did nothing.
    fn receive(&mut self) -> Result<usize> {
        let mut bytes = [0; 4096];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            &self.socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        );
        let received = match received.map_err(std::io::Error::from) {
            Ok(received) => received,
            Err(error) if is_passing(&error) => return Ok(usize::MAX),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(0),
            Err(error) => return Err(failed("read", error)),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.files.extend(files);
            }
        }
        // Whoever sends more than anything needs shall not fill the table of open files.
        self.files.truncate(FILES_MAX);
        self.received.extend_from_slice(&bytes[..received.bytes]);
        Ok(received.bytes)
    }

    /// Sends a line.
    pub(in crate::live) fn send(&mut self, line: &[u8]) -> Result<()> {
        self.send_with(line, &[])
    }

    /// Sends a line with open files.
    pub(in crate::live) fn send_with(
        &mut self,
        line: &[u8],
        files: &[BorrowedFd<'_>],
    ) -> Result<()> {
        assert!(files.len() <= FILES_MAX, "no request needs as many files");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            let pushed = control.push(SendAncillaryMessage::ScmRights(files));
            assert!(pushed, "there is space for as many");
        }
        debug_assert_eq!(line.last(), Some(&b'\n'), "whole lines are sent");
        let end = Instant::now() + SEND_MAX;
        let mut rest = line;
        while !rest.is_empty() {
            let sent = sendmsg(
                self.socket.as_fd(),
                &[IoSlice::new(rest)],
                &mut control,
                SendFlags::NOSIGNAL,
            );
            match sent.map_err(std::io::Error::from) {
                Ok(len) => {
                    debug_assert!(len <= rest.len(), "no more is sent than there is");
                    rest = &rest[len..];
                    control.clear();
                }
                Err(error) if is_passing(&error) && Instant::now() < end => {}
                Err(error) => return Err(failed("write to", error)),
            }
        }
        Ok(())
    }
}

fn is_passing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn failed(what: &str, error: std::io::Error) -> Error {
    Error::new(Kind::Device, format!("cannot {what} a control socket")).because(error)
}
