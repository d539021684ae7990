//! The two directions of a connection: what has been received, and what waits to be sent.
//!
//! System calls are what a small request costs, so each carries as much as it can: an [`Inbox`]
//! takes in up to 256 KiB at once, which is many requests, and an [`Outbox`] sends up to 64
//! messages at once, each a head and a payload from where it lies. A long payload is received
//! straight into its own buffer; the inbox only takes what comes behind it.
//!
//! Both work on a stream socket, never raise SIGPIPE, and allocate nothing once they have grown.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, recv, recvmsg, sendmsg,
};

use super::HeadBytes;
use block::{Buffer, Error, Result};

/// The most bytes that one receive takes in besides a payload.
const INBOX_LEN: usize = 256 << 10;
/// How little an inbox takes in while long payloads come, so that they are seldom copied. Longer
/// than any header.
const INBOX_LEN_SHORT: usize = 4 << 10;
/// Messages in one send: twice as many pieces, well under the kernel's limit of 1024.
const SEND_COUNT_MAX: usize = 64;

/// May a call wait for the other side?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until something has come.
    Yes,
    /// Take what is there.
    No,
}

/// What came of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Something.
    Bytes {
        /// How many bytes of it went into the payload.
        payload: usize,
        /// Whether there may be more.
        rest: Rest,
    },
    /// Nothing is there yet.
    Nothing,
    /// The other side will send no more.
    End,
}

/// Whether there is more to receive at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// All room was filled: try again.
    Possible,
    /// There was room for more.
    Unlikely,
}

/// What to expect next, which decides how much is taken in beside a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Many short messages.
    Short,
    /// A long payload, soon.
    Long,
}

/// Bytes received and not yet understood.
#[derive(Debug)]
pub struct Inbox {
    memory: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            memory: vec![0; INBOX_LEN].into_boxed_slice(),
            start: 0,
            end: 0,
        }
    }
}

impl Inbox {
    /// The bytes, oldest first.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// Forgets the first `len` bytes.
    pub fn consume(&mut self, len: usize) {
        assert!(len <= self.end - self.start, "only what is there is used");
        self.start += len;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.consume(self.end - self.start);
    }

    /// Moves as many bytes as there are, and as fit, to `payload`. Returns how many.
    pub fn drain_to(&mut self, payload: &mut [u8]) -> usize {
        let len = payload.len().min(self.end - self.start);
        payload[..len].copy_from_slice(&self.bytes()[..len]);
        self.consume(len);
        len
    }

    /// Whether more can be received.
    pub fn has_room(&self) -> bool {
        self.end - self.start < self.memory.len()
    }

    /// Receives: first into `payload` (which must come before all else, so the inbox is empty if
    /// it is not), then into the inbox.
    pub fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        payload: &mut [u8],
        expect: Expect,
        wait: Wait,
    ) -> Result<Received> {
        let flags = match wait {
            Wait::Yes => RecvFlags::empty(),
            Wait::No => RecvFlags::DONTWAIT,
        };
        let limit = match expect {
            Expect::Short => INBOX_LEN,
            Expect::Long => INBOX_LEN_SHORT,
        };
        let payload_len = payload.len();
        assert!(
            payload_len == 0 || self.start == self.end,
            "a payload comes first"
        );
        let room = self.room(limit);
        let capacity = payload_len + room.len();
        let received = if payload_len == 0 {
            recv(socket, &mut *room, flags).map(|(len, _)| len)
        } else {
            let mut pieces = [IoSliceMut::new(payload), IoSliceMut::new(room)];
            let mut no_ancillary = RecvAncillaryBuffer::new(&mut []);
            recvmsg(socket, &mut pieces, &mut no_ancillary, flags).map(|message| message.bytes)
        };
        match received {
            Ok(0) => Ok(Received::End),
            Ok(total) => {
                let payload = total.min(payload_len);
                self.end += total - payload;
                let rest = if total == capacity {
                    Rest::Possible
                } else {
                    Rest::Unlikely
                };
                Ok(Received::Bytes { payload, rest })
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(errno) => Err(Error::io("cannot receive", errno.into())),
        }
    }

    /// Free memory behind the bytes, at most `limit`.
    fn room(&mut self, limit: usize) -> &mut [u8] {
        if self.start > 0 && self.memory.len() - self.end < limit {
            self.memory.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let end = self.memory.len().min(self.end + limit);
        &mut self.memory[self.end..end]
    }
}

/// Messages that wait to be sent, in order.
#[derive(Debug, Default)]
pub struct Outbox {
    messages: VecDeque<(HeadBytes, Buffer)>,
    /// How much of the first message has been sent.
    sent: usize,
    memory: usize,
}

/// What a message keeps from others until all of it has been sent, in bytes.
fn memory_of(payload: &Buffer) -> usize {
    size_of::<(HeadBytes, Buffer)>() + payload.footprint()
}

impl Outbox {
    /// Appends a message.
    pub fn push(&mut self, head: HeadBytes, payload: Buffer) {
        self.memory += memory_of(&payload);
        self.messages.push_back((head, payload));
    }

    /// The memory that those that wait take, in bytes.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Whether all has been sent.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Forgets what has not been sent; the buffers go to `unsent`.
    pub fn clear_with(&mut self, mut unsent: impl FnMut(Buffer)) {
        for (_, payload) in self.messages.drain(..) {
            unsent(payload);
        }
        self.sent = 0;
        self.memory = 0;
    }

    /// Sends as much as the socket takes.
    pub fn send(&mut self, socket: BorrowedFd<'_>, wait: Wait) -> Result<()> {
        self.send_with(socket, wait, drop)
    }

    /// Sends as much as the socket takes; the buffers of sent messages go to `sent`.
    pub fn send_with(
        &mut self,
        socket: BorrowedFd<'_>,
        wait: Wait,
        mut sent: impl FnMut(Buffer),
    ) -> Result<()> {
        let mut flags = SendFlags::NOSIGNAL;
        flags.set(SendFlags::DONTWAIT, wait == Wait::No);
        while !self.messages.is_empty() {
            let mut pieces = [IoSlice::new(&[]); 2 * SEND_COUNT_MAX];
            let count = self.pieces(&mut pieces);
            let mut no_ancillary = SendAncillaryBuffer::default();
            match sendmsg(socket, &pieces[..count], &mut no_ancillary, flags) {
                Ok(len) => self.forget(len, &mut sent),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::io("cannot send", errno.into())),
            }
        }
        Ok(())
    }

    /// The next pieces to send, without what has been sent of the first message.
    fn pieces<'a>(&'a self, pieces: &mut [IoSlice<'a>; 2 * SEND_COUNT_MAX]) -> usize {
        let mut count = 0;
        let mut skip = self.sent;
        for (head, payload) in self.messages.iter().take(SEND_COUNT_MAX) {
            for piece in [head.as_slice(), &payload[..]] {
                let taken = skip.min(piece.len());
                skip -= taken;
                let piece = &piece[taken..];
                if !piece.is_empty() {
                    pieces[count] = IoSlice::new(piece);
                    count += 1;
                }
            }
        }
        count
    }

    fn forget(&mut self, len: usize, sent: &mut impl FnMut(Buffer)) {
        self.sent += len;
        while let Some((head, payload)) = self.messages.front() {
            let whole = head.as_slice().len() + payload.len();
            if self.sent < whole {
                break;
            }
            self.sent -= whole;
            if let Some((_, payload)) = self.messages.pop_front() {
                self.memory -= memory_of(&payload);
                sent(payload);
            }
        }
    }
}
