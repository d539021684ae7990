//! The data path: one connection, many requests in flight.
//!
//! Nothing blocks but the end: dropping a queue waits, for a limited time, until the server has
//! answered what is in flight.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connect::{Agreed, Connection};
use super::device::QueueSlot;
use super::slots::{Cookie, Slot, Slots, Stage};
use crate::wire::constants::{
    CMD_DISC, CMD_FLAG_FUA, CMD_FLAG_NO_HOLE, CMD_FLAG_PAYLOAD_LEN, CMD_FLUSH, CMD_READ, CMD_TRIM,
    CMD_WRITE, CMD_WRITE_ZEROES, FLAG_SEND_FLUSH, FLAG_SEND_FUA, FLAG_SEND_TRIM,
    FLAG_SEND_WRITE_ZEROES, REPLY_FLAG_DONE, REPLY_TYPE_FLAG_ERROR, REPLY_TYPE_NONE,
    REPLY_TYPE_OFFSET_DATA, REPLY_TYPE_OFFSET_HOLE,
};
use crate::wire::{
    Expect, HeadBytes, Inbox, Outbox, Received, ReplyHeader, RequestHeader, RequestStyle, Rest,
    Wait, decode_error, error_from_code,
};
use block::{
    Answers, Buffer, Completion, Driver, Durability, Error, Kind, Operation, Queue, Readiness,
    Request, Result, Unmap, Watch,
};

/// How long a dropped queue waits for its answers.
const FAREWELL_MAX: Duration = Duration::from_secs(30);
/// A read of this many bytes or more makes the inbox leave payloads alone.
const LONG_PAYLOAD: usize = 16 << 10;
/// A piece of a request without data, in bytes: fits in 32 bits, and a multiple of any block.
const BARE_PIECE: u64 = 1 << 31;
/// The longest payload that is not data, in bytes: an error's text.
const WORDS_MAX: u64 = 8 << 10;

/// What the next received bytes are.
enum Incoming {
    Header,
    /// Data of a read: goes to these bytes of the slot's buffer.
    Data {
        cookie: Cookie,
        at: usize,
        end: usize,
        last: Last,
    },
    /// Text of an error, so many bytes of it.
    Words {
        cookie: Cookie,
        kind: u16,
        len: usize,
        last: Last,
    },
}

/// Is this the last chunk of its reply?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Yes,
    No,
}

/// One connection.
pub(super) struct NbdQueue {
    name: String,
    socket: Arc<OwnedFd>,
    watch: Watch,
    driver: Driver,
    agreed: Agreed,
    slots: Slots,
    outbox: Outbox,
    /// The slots of the messages in the outbox, oldest first.
    sending: VecDeque<u32>,
    inbox: Inbox,
    incoming: Incoming,
    expect: Expect,
    answers: Answers,
    /// Why nothing more will come, once that is so: what happened, and the answer to everybody.
    dead: Option<(Kind, Error)>,
    _slot: Option<QueueSlot>,
}

impl NbdQueue {
    /// A slot is held for as long as the queue is.
    pub(super) fn new(
        name: String,
        connection: Connection,
        driver: &Driver,
        slot: Option<QueueSlot>,
    ) -> Self {
        let socket = Arc::new(connection.socket);
        Self {
            name,
            watch: driver.watch(Arc::clone(&socket), None),
            socket,
            driver: driver.clone(),
            agreed: connection.agreed,
            slots: Slots::default(),
            outbox: Outbox::default(),
            sending: VecDeque::new(),
            inbox: Inbox::default(),
            incoming: Incoming::Header,
            expect: Expect::Short,
            answers: Answers::new(driver),
            dead: None,
            _slot: slot,
        }
    }

    fn has(&self, flag: u16) -> bool {
        self.agreed.flags & flag != 0
    }

    /// The protocol's command and flags for a request; `None` if it is done already.
    fn command(&self, request: &Request) -> Result<Option<(u16, u16)>> {
        let unsupported = |what: &str| {
            let what = format!("the server of {} {what}", self.name);
            Err(Error::new(Kind::Unsupported, what))
        };
        let fua = match request.durability {
            Durability::Fua if self.has(FLAG_SEND_FUA) => CMD_FLAG_FUA,
            Durability::Fua | Durability::Volatile => 0,
        };
        match request.operation {
            Operation::Read => Ok(Some((CMD_READ, 0))),
            Operation::Write => {
                let payload = match self.agreed.requests {
                    RequestStyle::Extended => CMD_FLAG_PAYLOAD_LEN,
                    RequestStyle::Compact => 0,
                };
                Ok(Some((CMD_WRITE, fua | payload)))
            }
            Operation::WriteZeroes(_) if !self.has(FLAG_SEND_WRITE_ZEROES) => {
                unsupported("does not write zeros")
            }
            Operation::WriteZeroes(Unmap::Allowed) => Ok(Some((CMD_WRITE_ZEROES, fua))),
            Operation::WriteZeroes(Unmap::Forbidden) => {
                Ok(Some((CMD_WRITE_ZEROES, fua | CMD_FLAG_NO_HOLE)))
            }
            Operation::Discard if !self.has(FLAG_SEND_TRIM) => unsupported("does not discard"),
            Operation::Discard => Ok(Some((CMD_TRIM, 0))),
            // A server that knows no flush has nothing to flush.
            Operation::Flush => Ok(self.has(FLAG_SEND_FLUSH).then_some((CMD_FLUSH, 0))),
        }
    }

    /// Puts a request into the outbox, in pieces that the server takes.
    fn send(&mut self, mut request: Request, command: u16, flags: u16) {
        let durable = flags & CMD_FLAG_FUA != 0 || request.durability == Durability::Volatile;
        let stage = if durable || !request.operation.is_write() || !self.has(FLAG_SEND_FLUSH) {
            Stage::Last
        } else {
            Stage::ThenFlush
        };
        let range = request.range;
        let mut data = match request.operation {
            Operation::Write => std::mem::take(&mut request.buffer),
            _ => Buffer::empty(),
        };
        let slot = self.slots.insert(Slot {
            request,
            pieces: 0,
            received: 0,
            error: None,
            stage,
        });
        let piece_max = self.piece_max(command);
        let mut pieces = 0;
        let mut offset = range.start();
        loop {
            let len = piece_max.min(range.end() - offset);
            let cookie = Cookie {
                slot,
                piece: pieces,
            };
            let rest = data.split_off(data.len().min(len as usize));
            let header = RequestHeader {
                flags,
                command,
                cookie: cookie.to_wire(),
                offset,
                len,
            };
            self.outbox
                .push(HeadBytes::request(self.agreed.requests, &header), data);
            self.sending.push_back(slot);
            data = rest;
            pieces += 1;
            offset += len;
            if offset == range.end() {
                break;
            }
        }
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.pieces = pieces;
        }
    }

    fn piece_max(&self, command: u16) -> u64 {
        match command {
            CMD_READ | CMD_WRITE => u64::from(self.agreed.sizes.maximum),
            _ => BARE_PIECE,
        }
    }

    /// Sends and receives what can be without waiting.
    fn exchange(&mut self) -> Result<()> {
        self.flush_outbox(Wait::No)?;
        let mut more = true;
        while more && self.slots.len() > 0 {
            more = self.receive(Wait::No)?;
            self.understand()?;
        }
        Ok(())
    }

    fn flush_outbox(&mut self, wait: Wait) -> Result<()> {
        let (sending, slots) = (&mut self.sending, &mut self.slots);
        self.outbox.send_with(self.socket.as_fd(), wait, |data| {
            if let Some(slot) = sending.pop_front() {
                slots.give_back(slot, data);
            }
        })
    }

    /// Whether there may be more than what came.
    fn receive(&mut self, wait: Wait) -> Result<bool> {
        let payload = match &self.incoming {
            Incoming::Data {
                cookie, at, end, ..
            } => match self.slots.get_mut(cookie.slot) {
                Some(slot) => &mut slot.request.buffer[*at..*end],
                None => &mut [],
            },
            Incoming::Header | Incoming::Words { .. } => &mut [],
        };
        let received = self
            .inbox
            .receive(self.socket.as_fd(), payload, self.expect, wait)?;
        match received {
            Received::Nothing => Ok(false),
            Received::End => Err(Error::new(Kind::Gone, "the server hung up")),
            Received::Bytes { payload, rest } => {
                if let Incoming::Data { at, .. } = &mut self.incoming {
                    *at += payload;
                }
                Ok(rest == Rest::Possible)
            }
        }
    }

    /// Handles what is in the inbox.
    fn understand(&mut self) -> Result<()> {
        loop {
            match &mut self.incoming {
                Incoming::Header => {
                    if !self.header()? {
                        return Ok(());
                    }
                }
                Incoming::Data {
                    cookie,
                    at,
                    end,
                    last,
                } => {
                    let slot = self.slots.get_mut(cookie.slot).ok_or_else(stranger)?;
                    *at += self.inbox.drain_to(&mut slot.request.buffer[*at..*end]);
                    if at < end {
                        return Ok(());
                    }
                    let (cookie, last) = (*cookie, *last);
                    self.incoming = Incoming::Header;
                    self.chunk_done(cookie, last)?;
                }
                Incoming::Words {
                    cookie,
                    kind,
                    len,
                    last,
                } => {
                    let Some(words) = self.inbox.bytes().get(..*len) else {
                        return Ok(());
                    };
                    let (code, message) = decode_error(*kind, words)?;
                    let error = error_from_code(code, message);
                    let (cookie, last, len) = (*cookie, *last, *len);
                    self.inbox.consume(len);
                    self.incoming = Incoming::Header;
                    self.slot(cookie)?.error.get_or_insert(error);
                    self.chunk_done(cookie, last)?;
                }
            }
        }
    }

    fn slot(&mut self, cookie: Cookie) -> Result<&mut Slot> {
        self.slots.get_mut(cookie.slot).ok_or_else(stranger)
    }

    /// Reads one header. Whether there was one.
    fn header(&mut self) -> Result<bool> {
        let bytes = self.inbox.bytes();
        let Some((header, used)) = ReplyHeader::decode(self.agreed.replies, bytes)? else {
            return Ok(false);
        };
        match header {
            ReplyHeader::Simple { error, cookie } => {
                self.inbox.consume(used);
                self.simple(Cookie::from_wire(cookie), error)?;
            }
            ReplyHeader::Chunk {
                flags,
                kind,
                cookie,
                len,
            } => {
                let cookie = Cookie::from_wire(cookie);
                let last = if flags & REPLY_FLAG_DONE == 0 {
                    Last::No
                } else {
                    Last::Yes
                };
                return self.chunk(cookie, kind, len, last, used);
            }
        }
        Ok(true)
    }

    fn simple(&mut self, cookie: Cookie, code: u32) -> Result<()> {
        let piece_max = u64::from(self.agreed.sizes.maximum);
        let slot = self.slot(cookie)?;
        if code != 0 {
            slot.error.get_or_insert(error_from_code(code, ""));
        } else if slot.request.operation == Operation::Read {
            let at = u64::from(cookie.piece) * piece_max;
            let whole = slot.request.buffer.len() as u64;
            if at >= whole && whole > 0 {
                return Err(stranger());
            }
            let end = whole.min(at + piece_max);
            slot.received += end - at;
            self.expect_data(cookie, at as usize, end as usize, Last::Yes);
            return Ok(());
        }
        self.chunk_done(cookie, Last::Yes)
    }

    /// One chunk whose header is the first `used` bytes of the inbox. Whether it is all there.
    fn chunk(
        &mut self,
        cookie: Cookie,
        kind: u16,
        len: u64,
        last: Last,
        used: usize,
    ) -> Result<bool> {
        match kind {
            REPLY_TYPE_NONE if len == 0 && last == Last::Yes => {
                self.inbox.consume(used);
                self.chunk_done(cookie, last)?;
            }
            REPLY_TYPE_OFFSET_DATA if len > 8 => {
                let Some(offset) = word(&self.inbox, used) else {
                    return Ok(false);
                };
                self.inbox.consume(used + 8);
                let (at, end) = self.place(cookie, offset, len - 8)?;
                self.expect_data(cookie, at, end, last);
            }
            REPLY_TYPE_OFFSET_HOLE if len == 12 => {
                let (Some(offset), Some(count)) =
                    (word(&self.inbox, used), word(&self.inbox, used + 4))
                else {
                    return Ok(false);
                };
                self.inbox.consume(used + 12);
                let (at, end) = self.place(cookie, offset, count & u64::from(u32::MAX))?;
                self.slot(cookie)?.request.buffer[at..end].fill(0);
                self.chunk_done(cookie, last)?;
            }
            kind if kind & REPLY_TYPE_FLAG_ERROR != 0 && len <= WORDS_MAX => {
                self.inbox.consume(used);
                self.incoming = Incoming::Words {
                    cookie,
                    kind,
                    len: len as usize,
                    last,
                };
            }
            _ => {
                let what = format!("the server sent a chunk of kind {kind} and {len} bytes");
                return Err(Error::new(Kind::Invalid, what));
            }
        }
        Ok(true)
    }

    /// Where in a read's buffer `len` bytes from byte `offset` of the device belong.
    fn place(&mut self, cookie: Cookie, offset: u64, len: u64) -> Result<(usize, usize)> {
        let slot = self.slot(cookie)?;
        let inside = block::Range::checked(offset, len)
            .is_some_and(|range| slot.request.range.contains(range));
        slot.received = slot.received.saturating_add(len);
        if slot.request.operation != Operation::Read
            || !inside
            || slot.received > slot.request.range.len()
        {
            let what = "the server sent data that was not asked for";
            return Err(Error::new(Kind::Invalid, what));
        }
        let at = (offset - slot.request.range.start()) as usize;
        Ok((at, at + len as usize))
    }

    fn expect_data(&mut self, cookie: Cookie, at: usize, end: usize, last: Last) {
        self.expect = if end - at >= LONG_PAYLOAD {
            Expect::Long
        } else {
            Expect::Short
        };
        self.incoming = Incoming::Data {
            cookie,
            at,
            end,
            last,
        };
    }

    /// A chunk has been handled; the last one ends its piece, the last piece its request.
    fn chunk_done(&mut self, cookie: Cookie, last: Last) -> Result<()> {
        if last == Last::No {
            return Ok(());
        }
        let slot = self.slot(cookie)?;
        slot.pieces = slot.pieces.checked_sub(1).ok_or_else(stranger)?;
        if slot.pieces > 0 {
            return Ok(());
        }
        if self.sending.contains(&cookie.slot) {
            let what = "the server answered before it was asked";
            return Err(Error::new(Kind::Invalid, what));
        }
        let slot = self.slot(cookie)?;
        if slot.stage == Stage::ThenFlush && slot.error.is_none() {
            slot.stage = Stage::Last;
            slot.pieces = 1;
            let header = RequestHeader {
                flags: 0,
                command: CMD_FLUSH,
                cookie: Cookie { piece: 0, ..cookie }.to_wire(),
                offset: 0,
                len: 0,
            };
            let head = HeadBytes::request(self.agreed.requests, &header);
            self.outbox.push(head, Buffer::empty());
            self.sending.push_back(cookie.slot);
            return self.flush_outbox(Wait::No);
        }
        let Some(slot) = self.slots.remove(cookie.slot) else {
            return Err(stranger());
        };
        let is_read = slot.request.operation == Operation::Read;
        let result = match slot.error {
            Some(error) => Err(error),
            None if is_read && slot.received < slot.request.range.len() => {
                let what = format!("the server of {} left out part of the data", self.name);
                Err(Error::new(Kind::Io, what))
            }
            None => Ok(()),
        };
        self.answers.push(slot.request.complete(result));
        Ok(())
    }

    /// Why the connection is over, if it is: [`Kind::Invalid`] if the server broke the protocol,
    /// another kind if it went away.
    pub(super) fn loss(&self) -> Option<(Kind, &Error)> {
        let (kind, error) = self.dead.as_ref()?;
        Some((*kind, error))
    }

    /// The connection is over: answers everything.
    pub(super) fn die(&mut self, why: &Error) {
        let what = format!("the connection to {} is lost: {why}", self.name);
        let error = Error::new(Kind::Gone, what);
        self.watch.set(None);
        self.incoming = Incoming::Header;
        self.inbox.clear();
        let (sending, slots) = (&mut self.sending, &mut self.slots);
        self.outbox.clear_with(|data| {
            if let Some(slot) = sending.pop_front() {
                slots.give_back(slot, data);
            }
        });
        while let Some(slot) = self.slots.pop() {
            self.answers.push(slot.request.complete(Err(error.clone())));
        }
        self.dead = Some((why.kind(), error));
    }
}

impl Queue for NbdQueue {
    fn submit(&mut self, request: Request) {
        if let Some((_, error)) = &self.dead {
            return self.answers.push(request.complete(Err(error.clone())));
        }
        match self.command(&request) {
            Err(error) => self.answers.push(request.complete(Err(error))),
            Ok(None) => self.answers.push(request.complete(Ok(()))),
            Ok(Some(_)) if request.range.is_empty() && request.operation != Operation::Flush => {
                self.answers.push(request.complete(Ok(())));
            }
            Ok(Some((command, flags))) => self.send(request, command, flags),
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.dead.is_none() {
            if let Err(error) = self.exchange() {
                self.die(&error);
            } else {
                let readiness = match (self.slots.len() > 0, self.outbox.is_empty()) {
                    (_, false) => Some(Readiness::Both),
                    (true, true) => Some(Readiness::Readable),
                    (false, true) => None,
                };
                self.watch.set(readiness);
            }
        }
        self.answers.drain_into(done);
    }

    fn in_flight(&self) -> usize {
        self.slots.len() + self.answers.len()
    }
}

impl Drop for NbdQueue {
    fn drop(&mut self) {
        let deadline = Instant::now() + FAREWELL_MAX;
        let mut lost = Vec::new();
        while self.dead.is_none() && self.slots.len() > 0 {
            self.poll(&mut lost);
            lost.clear();
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() || self.slots.len() == 0 {
                break;
            }
            if self.driver.wait(&mut [], Some(rest)).is_err() {
                break;
            }
        }
        let header = RequestHeader {
            flags: 0,
            command: CMD_DISC,
            cookie: 0,
            offset: 0,
            len: 0,
        };
        let head = HeadBytes::request(self.agreed.requests, &header);
        self.outbox.push(head, Buffer::empty());
        // A goodbye that does not fit in the socket is none that anybody waits for.
        let _ = self.outbox.send(self.socket.as_fd(), Wait::No);
        // A driver that still watches the socket would keep it open.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }
}

/// Eight bytes of the inbox, as a number.
fn word(inbox: &Inbox, at: usize) -> Option<u64> {
    let bytes = inbox.bytes().get(at..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes))
}

fn stranger() -> Error {
    Error::new(Kind::Invalid, "the server answers what was not asked")
}
