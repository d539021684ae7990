//! The second phase: requests to the device, answers to the client.
//!
//! ```text
//! socket ─recv─▶ inbox ─check─▶ slots + queue.submit
//! socket ◀─send─ outbox ◀─────  slots + queue.poll
//! ```
//!
//! One thread goes around: it takes the requests out of the inbox, submits them, collects the
//! answers, sends what the socket takes, and receives more. With nothing in flight it waits in the
//! receive itself, which saves a system call per request; else on its driver.
//!
//! A client that is slower than the server has replies in its socket all the time. Were the server
//! to receive each of its requests at once, the client would wake it for each, which costs both of
//! them more than the request. So it does not while the socket is full enough of replies to refuse
//! more (a quarter, on Linux); it wakes up when the client has read them, to many requests. Only
//! where the device answers at once, though: one that takes its time is better given the next
//! requests while the client reads, or each of the two stands idle while the other works.
//!
//! What one connection may hold is bounded: requests, their bytes, and replies that the client
//! does not fetch. At the bound it stops receiving, and the client's own sends wait. So it does
//! where other clients hold the memory that a request needs (see `memory.rs`); one that cannot be
//! given it for a minute, while the connection itself holds none, is answered with ENOMEM. A
//! turn takes in a few requests, so that the first replies leave before the last request is read.
//!
//! Ends when the client says so, or hangs up, or the server shuts its side of the socket for
//! reading; requests that came before are answered first.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::wire::constants::{
    CMD_BLOCK_STATUS, CMD_CACHE, CMD_DISC, CMD_FLAG_FUA, CMD_FLAG_NO_HOLE, CMD_FLAG_PAYLOAD_LEN,
    CMD_FLAG_REQ_ONE, CMD_FLUSH, CMD_READ, CMD_TRIM, CMD_WRITE, ENOMEM, PAYLOAD_LEN_MAX,
};
use crate::wire::{Expect, Inbox, Received, RequestHeader, RequestStyle, Wait};
use block::{
    BLOCK_ALIGN, Buffer, BufferPool, Completion, Driver, Durability, Interest, Operation, Queue,
    Range, Readiness, Request, Unmap,
};

use super::check::{Refusal, check};
use super::memory::{Share, Shared};
use super::replies::Replies;
use super::slots::{Slot, Slots, Stage};
use super::status::{self, StatusWorker, Wanted};
use super::{Agreed, Limits};
use block::{Error, Kind, Result};

/// Bytes of requests that one turn takes in before it sends replies. Little enough that what was
/// read is still in the cache when it is sent.
const TURN_BYTES: usize = 128 << 10;
/// Requests that one turn takes in: few enough that the client seldom waits for the first reply.
const TURN_REQUESTS: usize = 8;
/// How long a client that is behind with its replies may take to read them.
const CATCH_UP_MAX: Duration = Duration::from_micros(200);
/// Memory of replies that wait for the client before its requests have to, in bytes.
const OUTBOX_MAX: usize = 256 << 10;
/// Idle memory that a connection keeps for its next requests.
const POOL_BYTES: usize = 16 << 20;
/// A write of this many bytes or more makes the inbox leave payloads alone.
const LONG_PAYLOAD: u64 = 16 << 10;
/// Payload of a refused request that is read and thrown away; more ends the connection.
const SKIP_MAX: u64 = 4 * PAYLOAD_LEN_MAX as u64;
/// The most that one CACHE reads ahead, in bytes: it is advice.
const CACHE_LEN_MAX: u64 = PAYLOAD_LEN_MAX as u64;
/// Piece of a read-ahead, in bytes.
const CACHE_PIECE: u64 = 1 << 20;
/// How often to ask again for memory that others have.
const SHORT_RETRY: Duration = Duration::from_millis(2);

/// What the next received bytes are.
enum Incoming {
    Header,
    Data(Data),
    /// Payload of a refused request: this many bytes to throw away.
    Skip(u64),
}

/// A write whose data is coming in.
struct Data {
    header: RequestHeader,
    buffer: Buffer,
    filled: usize,
}

/// Why no more requests were taken out of the inbox.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// There is no complete one in it.
    All,
    /// The turn is over; there may be more.
    Turn,
    /// A limit is reached; answers or the client have to come first.
    Limit,
    /// Other clients have the memory that the next one needs.
    Short,
}

/// Whether there is memory for a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Made,
    /// Others have it.
    Awaited,
    /// Others have had it for too long.
    Refused,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Intake {
    Open,
    Ended,
}

/// One connection in its second phase.
pub(super) struct Session<'a> {
    // Dropped first: it waits for what is in flight.
    queue: Box<dyn Queue>,
    status: Option<StatusWorker>,
    status_done: Vec<status::Answer>,
    driver: Driver,
    socket: BorrowedFd<'a>,
    limits: Limits,
    agreed: Agreed,
    /// The device may grow; this is checked again before a request is refused for it.
    size: u64,
    share: Share,
    /// Since when the next request waits for memory.
    short_since: Option<Instant>,
    pool: BufferPool,
    inbox: Inbox,
    incoming: Incoming,
    expect: Expect,
    intake: Intake,
    slots: Slots,
    done: Vec<Completion>,
    replies: Replies,
    /// Whether a request had to wait for the device since the client was last waited for.
    device_took_time: bool,
    patience: Duration,
}

impl<'a> Session<'a> {
    /// Opens the device's queue. `inbox` may hold requests already.
    pub(super) fn new(
        socket: BorrowedFd<'a>,
        inbox: Inbox,
        agreed: Agreed,
        limits: Limits,
        memory: &Arc<Shared>,
    ) -> Result<Self> {
        let pool = BufferPool::new(POOL_BYTES);
        let share = Share::of(memory);
        pool.limit(share.size());
        let driver = Driver::new()?;
        let queue = agreed.export.device.open_queue(&driver)?;
        Ok(Self {
            queue,
            status: None,
            status_done: Vec::new(),
            driver,
            socket,
            limits,
            size: agreed.info.size,
            replies: Replies::new(agreed.replies),
            agreed,
            share,
            short_since: None,
            pool,
            inbox,
            incoming: Incoming::Header,
            expect: Expect::Short,
            intake: Intake::Open,
            slots: Slots::default(),
            done: Vec::new(),
            device_took_time: false,
            patience: Duration::ZERO,
        })
    }

    /// Serves until the end. An error means that the client broke the rules or is gone.
    pub(super) fn run(mut self) -> Result<()> {
        loop {
            let taken = self.take_requests()?;
            self.collect()?;
            self.replies.send(self.socket)?;
            self.device_took_time |= self.slots.len() > 0;
            if taken == Taken::Turn || (taken == Taken::Limit && !self.is_full()) {
                continue;
            }
            let idle = self.slots.len() == 0 && self.replies.is_empty();
            if idle && taken == Taken::All {
                if self.intake == Intake::Ended {
                    return Ok(());
                }
                let device_took_time = std::mem::take(&mut self.device_took_time);
                if !device_took_time {
                    self.let_catch_up()?;
                }
                let before = self.share.size();
                self.share.settle(self.held());
                if self.share.size() != before {
                    self.pool.limit(self.share.size());
                }
                self.receive_idle()?;
            } else {
                self.receive_or_wait(taken)?;
            }
        }
    }

    fn take_requests(&mut self) -> Result<Taken> {
        let mut budget = TURN_BYTES;
        loop {
            match &mut self.incoming {
                Incoming::Header => {
                    if self.inbox.bytes().is_empty() {
                        return Ok(Taken::All);
                    }
                    if budget == 0 {
                        return Ok(Taken::Turn);
                    }
                    if self.is_full() {
                        return Ok(Taken::Limit);
                    }
                    let style = self.agreed.requests;
                    let Some(header) = RequestHeader::decode(style, self.inbox.bytes())? else {
                        return Ok(Taken::All);
                    };
                    let room = self.room_for(&header);
                    if room == Room::Awaited {
                        return Ok(Taken::Short);
                    }
                    self.inbox.consume(style.header_len());
                    let cost = header.len.min(u64::from(PAYLOAD_LEN_MAX)) as usize;
                    budget = budget.saturating_sub(cost.max(TURN_BYTES / TURN_REQUESTS));
                    self.begin(header, room)?;
                }
                Incoming::Data(data) => {
                    data.filled += self.inbox.drain_to(&mut data.buffer[data.filled..]);
                    if data.filled < data.buffer.len() {
                        return Ok(Taken::All);
                    }
                    let data = std::mem::replace(&mut self.incoming, Incoming::Header);
                    if let Incoming::Data(data) = data {
                        self.submit_write(data);
                    }
                }
                Incoming::Skip(rest) => {
                    let len = (self.inbox.bytes().len() as u64).min(*rest);
                    self.inbox.consume(len as usize);
                    *rest -= len;
                    if *rest > 0 {
                        return Ok(Taken::All);
                    }
                    self.incoming = Incoming::Header;
                }
            }
        }
    }

    /// The memory that the connection uses, in bytes.
    fn held(&self) -> usize {
        let incoming = match &self.incoming {
            Incoming::Data(data) => data.buffer.footprint(),
            Incoming::Header | Incoming::Skip(_) => 0,
        };
        self.slots.charged() + self.replies.memory() + incoming
    }

    /// Whether there is memory for a request beside that.
    fn room_for(&mut self, header: &RequestHeader) -> Room {
        let held = self.held();
        if self.make_room_for(held, self.cost(header)) {
            self.short_since = None;
            return Room::Made;
        }
        if held > 0 {
            return Room::Awaited;
        }
        let since = *self.short_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.limits.memory_wait {
            self.short_since = None;
            return Room::Refused;
        }
        Room::Awaited
    }

    /// Whether the connection, which holds `held` bytes, may hold as many `more`.
    fn make_room_for(&mut self, held: usize, more: usize) -> bool {
        let before = self.share.size();
        let is_there = self.share.ask(held, more);
        if self.share.size() != before {
            self.pool.limit(self.share.size());
        }
        is_there
    }

    /// The memory that a request takes until its reply has left, in bytes.
    fn cost(&self, header: &RequestHeader) -> usize {
        // More is refused.
        let len = header.len.min(u64::from(PAYLOAD_LEN_MAX));
        match header.command {
            CMD_READ => BufferPool::footprint(self.whole_blocks(header.offset, len).1),
            CMD_WRITE => BufferPool::footprint(len as usize),
            CMD_CACHE => CACHE_PIECE as usize,
            CMD_BLOCK_STATUS => status::ANSWER_MAX * self.agreed.contexts.len(),
            _ => BLOCK_ALIGN,
        }
    }

    fn is_full(&self) -> bool {
        self.slots.len() >= self.limits.requests
            || self.slots.charged() >= self.limits.bytes
            || self.replies.memory() >= OUTBOX_MAX
    }

    /// Starts a request whose header has been read.
    fn begin(&mut self, header: RequestHeader, room: Room) -> Result<()> {
        if header.command == CMD_DISC {
            self.intake = Intake::Ended;
            self.inbox.clear();
            return Ok(());
        }
        let extended = self.agreed.requests == RequestStyle::Extended;
        let has_payload =
            header.command == CMD_WRITE || (extended && header.flags & CMD_FLAG_PAYLOAD_LEN != 0);
        let checked = match room {
            Room::Refused => Err((
                ENOMEM,
                "other clients have the server's memory; try it again",
            )),
            Room::Made | Room::Awaited => self.check(&header),
        };
        match checked {
            Err((code, words)) => {
                if has_payload {
                    if header.len > SKIP_MAX {
                        let what = format!("NBD: a client sent a payload of {} bytes", header.len);
                        return Err(Error::new(Kind::Invalid, what));
                    }
                    self.incoming = Incoming::Skip(header.len);
                }
                self.replies.refuse(&header, code, words);
            }
            Ok(_) if header.len == 0 && header.command != CMD_FLUSH => {
                self.replies.succeed(&header, Buffer::empty());
            }
            Ok(range) => self.submit(header, range)?,
        }
        Ok(())
    }

    fn check(&mut self, header: &RequestHeader) -> std::result::Result<Range, Refusal> {
        let end = header.offset.saturating_add(header.len);
        if end > self.size {
            self.size = self.agreed.export.device.info().size;
        }
        check(&self.agreed, self.size, header)
    }

    fn submit(&mut self, header: RequestHeader, range: Range) -> Result<()> {
        let durability = durability(&header);
        match header.command {
            CMD_READ => self.submit_read(header, range),
            CMD_WRITE => {
                self.expect = if header.len >= LONG_PAYLOAD {
                    Expect::Long
                } else {
                    Expect::Short
                };
                let buffer = self.pool.get(header.len as usize);
                self.incoming = Incoming::Data(Data {
                    header,
                    buffer,
                    filled: 0,
                });
            }
            CMD_FLUSH if self.agreed.info.read_only => {
                self.replies.succeed(&header, Buffer::empty());
            }
            CMD_FLUSH => {
                let tag = self.keep(header, 0, Stage::Last);
                self.queue.submit(Request::flush(tag));
            }
            CMD_TRIM => {
                let stage = match durability {
                    Durability::Fua => Stage::ThenFlush,
                    Durability::Volatile => Stage::Last,
                };
                let tag = self.keep(header, 0, stage);
                self.queue
                    .submit(Request::bare(tag, Operation::Discard, range));
            }
            CMD_CACHE => {
                let tag = self.keep(header, CACHE_PIECE as usize, Stage::Last);
                self.submit_cache(tag, range.start());
            }
            CMD_BLOCK_STATUS => return self.ask_status(header, range),
            _ => {
                let unmap = if header.flags & CMD_FLAG_NO_HOLE == 0 {
                    Unmap::Allowed
                } else {
                    Unmap::Forbidden
                };
                let tag = self.keep(header, 0, Stage::Last);
                let mut request = Request::bare(tag, Operation::WriteZeroes(unmap), range);
                request.durability = durability;
                self.queue.submit(request);
            }
        }
        Ok(())
    }

    /// The whole blocks of a range: the first byte, and how many bytes.
    fn whole_blocks(&self, offset: u64, len: u64) -> (u64, usize) {
        let block = u64::from(self.agreed.info.logical_block);
        let cut = offset % block;
        (offset - cut, (cut + len).next_multiple_of(block) as usize)
    }

    fn submit_read(&mut self, header: RequestHeader, range: Range) {
        let (start, len) = self.whole_blocks(range.start(), range.len());
        let cut = (range.start() - start) as u32;
        let stage = if cut == 0 {
            Stage::Last
        } else {
            Stage::Cut(cut)
        };
        let buffer = self.pool.get(len);
        let tag = self.keep(header, buffer.footprint(), stage);
        self.queue.submit(Request::read(tag, start, buffer));
    }

    fn submit_write(&mut self, data: Data) {
        let Data { header, buffer, .. } = data;
        let tag = self.keep(header, buffer.footprint(), Stage::Last);
        let durability = durability(&header);
        self.queue
            .submit(Request::write(tag, header.offset, durability, buffer));
    }

    /// Reads the next piece of a read-ahead, from `start`, or answers it.
    fn submit_cache(&mut self, tag: u64, start: u64) {
        let block = u64::from(self.agreed.info.logical_block);
        let slot = self.slots.get_mut(tag);
        let wanted = Range::new(slot.header.offset, slot.header.len.min(CACHE_LEN_MAX));
        if start >= wanted.end() {
            let header = self.slots.remove(tag).header;
            return self.replies.succeed(&header, Buffer::empty());
        }
        let start = start / block * block;
        let end = (start + CACHE_PIECE).min(wanted.end().next_multiple_of(block));
        slot.stage = Stage::Cache(end);
        let buffer = self.pool.get((end - start) as usize);
        self.queue.submit(Request::read(tag, start, buffer));
    }

    fn ask_status(&mut self, header: RequestHeader, range: Range) -> Result<()> {
        let (wanted, charge) = if header.flags & CMD_FLAG_REQ_ONE == 0 {
            let charge = status::ANSWER_MAX * self.agreed.contexts.len();
            (Wanted::Many, charge)
        } else {
            (Wanted::One, 0)
        };
        let tag = self.keep(header, charge, Stage::Last);
        if self.status.is_none() {
            let device = self.agreed.export.device.clone();
            let (contexts, waker) = (self.agreed.contexts.clone(), self.driver.waker());
            self.status = Some(StatusWorker::start(device, contexts, waker)?);
        }
        if let Some(status) = &mut self.status {
            status.ask(tag, range, wanted);
        }
        Ok(())
    }

    fn keep(&mut self, header: RequestHeader, charge: usize, stage: Stage) -> u64 {
        self.slots.insert(Slot {
            header,
            charge,
            stage,
        })
    }

    /// Turns the device's answers into replies.
    fn collect(&mut self) -> Result<()> {
        loop {
            self.queue.poll(&mut self.done);
            let mut done = std::mem::take(&mut self.done);
            let mut again = false;
            for completion in done.drain(..) {
                again |= self.complete(completion);
            }
            self.done = done;
            // What was just submitted may be done already: no wait would tell.
            if !again {
                break;
            }
        }
        if let Some(status) = self.status.as_mut().filter(|status| status.waiting() > 0) {
            status.take(&mut self.status_done)?;
            let mut answers = std::mem::take(&mut self.status_done);
            for answer in answers.drain(..) {
                self.complete_status(answer);
            }
            self.status_done = answers;
        }
        Ok(())
    }

    /// Whether the request goes on.
    fn complete(&mut self, completion: Completion) -> bool {
        let Completion {
            tag,
            result,
            mut buffer,
        } = completion;
        let slot = self.slots.get_mut(tag);
        if let Err(error) = result {
            let header = slot.header;
            self.slots.remove(tag);
            self.replies.fail(&header, &error);
            return false;
        }
        match slot.stage {
            Stage::Last => {}
            Stage::Cut(cut) => buffer = buffer.split_off(cut as usize),
            Stage::ThenFlush => {
                slot.stage = Stage::Last;
                self.queue.submit(Request::flush(tag));
                return true;
            }
            Stage::Cache(next) => {
                self.submit_cache(tag, next);
                return true;
            }
        }
        let header = self.slots.remove(tag).header;
        if header.command == CMD_READ {
            buffer.truncate(header.len as usize);
        } else {
            buffer = Buffer::empty();
        }
        self.replies.succeed(&header, buffer);
        false
    }

    fn complete_status(&mut self, (tag, answer): status::Answer) {
        let header = self.slots.remove(tag).header;
        match answer {
            Ok(told) => self.replies.describe(&header, &told),
            Err(error) => self.replies.fail(&header, &error),
        }
    }

    /// Lets a client that is behind read replies, until the socket takes more of them, while its
    /// requests gather. A client that sends on and reads nothing is received from as ever after
    /// a moment: it may have to send everything before it reads.
    fn let_catch_up(&mut self) -> Result<()> {
        if !self.replies.may_be_too_many() {
            return Ok(());
        }
        let room = Interest::new(self.socket, Readiness::Writable);
        self.driver.wait(&mut [room], Some(CATCH_UP_MAX))
    }

    /// Nothing is in flight: waits for the client, awake for a moment if that paid off lately.
    fn receive_idle(&mut self) -> Result<()> {
        let start = Instant::now();
        while self.patience > Duration::ZERO && start.elapsed() < self.patience {
            if self.receive(Wait::No)? {
                return Ok(());
            }
        }
        self.receive(Wait::Yes)?;
        let lately = start.elapsed() < self.limits.spin_max;
        self.patience = if lately {
            self.limits.spin_max
        } else {
            Duration::ZERO
        };
        Ok(())
    }

    fn receive_or_wait(&mut self, taken: Taken) -> Result<()> {
        let limit = (taken == Taken::Short).then_some(SHORT_RETRY);
        let may_receive = self.intake == Intake::Open && taken == Taken::All;
        if may_receive && self.receive(Wait::No)? {
            return Ok(());
        }
        let may_receive = may_receive && self.intake == Intake::Open;
        let readiness = match (may_receive, !self.replies.is_empty()) {
            (true, true) => Readiness::Both,
            (true, false) => Readiness::Readable,
            (false, true) => Readiness::Writable,
            (false, false) => return self.driver.wait(&mut [], limit),
        };
        let interest = Interest::new(self.socket, readiness);
        self.driver.wait(&mut [interest], limit)
    }

    /// Whether something came, or the end.
    fn receive(&mut self, wait: Wait) -> Result<bool> {
        let payload = match &mut self.incoming {
            Incoming::Data(data) => &mut data.buffer[data.filled..],
            Incoming::Header | Incoming::Skip(_) => &mut [],
        };
        match self
            .inbox
            .receive(self.socket, payload, self.expect, wait)?
        {
            Received::Nothing => Ok(false),
            Received::End => {
                self.intake = Intake::Ended;
                Ok(true)
            }
            Received::Bytes { payload, .. } => {
                if let Incoming::Data(data) = &mut self.incoming {
                    data.filled += payload;
                }
                Ok(true)
            }
        }
    }
}

fn durability(header: &RequestHeader) -> Durability {
    if header.flags & CMD_FLAG_FUA == 0 {
        Durability::Volatile
    } else {
        Durability::Fua
    }
}

#[cfg(test)]
mod tests;
