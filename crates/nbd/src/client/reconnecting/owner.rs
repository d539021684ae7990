//! The thread that owns the connection, the requests and the journal.
//!
//! ```text
//!          lost                        too long
//!   Up ──────────▶ Lost ──(asked)──▶ fails, and stays Lost
//!    ▲                │ connect, compare, look, replay, flush (`reconnect.rs`)
//!    └────────────────┤
//!                     └─ changed, silent, broke the protocol ─▶ Over
//! ```
//!
//! It may block: nobody else's work is on this thread. Each wait ends with the time limit.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::inbox::{Inbox, Message};
use super::journal::{Content, Journal};
use super::marks::Written;
use crate::client::address::Address;
use crate::client::connect::{Agreed, CONNECT_MAX, Connection};
use crate::client::queue::NbdQueue;
use crate::wire::constants::{
    FLAG_READ_ONLY, FLAG_SEND_FLUSH, FLAG_SEND_FUA, FLAG_SEND_TRIM, FLAG_SEND_WRITE_ZEROES,
};
use block::{
    Buffer, Completion, Driver, Durability, Error, Kind, Operation, Outbox, Queue, Range, Request,
    Result,
};

/// How much the journal holds before a flush is made for its sake, in bytes.
const JOURNAL_FLUSH: usize = 16 << 20;
/// The most that it holds, in bytes; writes then wait for a flush.
const JOURNAL_MAX: usize = 32 << 20;
/// The tag of flushes for the journal's sake. Others count up from 0.
const OWN_FLUSH: u64 = u64::MAX;
/// Writes that are repeated at once.
const REPLAY_DEPTH: usize = 16;
/// How many connections may end while a request is being made; more are its own fault.
const TRIES_MAX: u32 = 16;
/// The pause after a failed attempt to connect; doubled each time up to the second.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// How often a server is asked that has been away for too long.
const PAUSE_WEARY: Duration = Duration::from_secs(5);
/// What a server that comes back must offer as before.
const ABILITIES: u16 =
    FLAG_READ_ONLY | FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_SEND_TRIM | FLAG_SEND_WRITE_ZEROES;

mod reconnect;

/// A request that has not been answered.
struct Pending {
    from: Arc<Outbox>,
    tag: u64,
    operation: Operation,
    range: Range,
    durability: Durability,
    /// The request while it is not with the connection.
    unsent: Option<Request>,
    /// How many connections it was given to.
    tries: u32,
    /// Of a flush: the stamp up to which it settles the journal.
    covers: u64,
}

enum Link {
    Up(Box<NbdQueue>),
    Lost,
    Over(Error),
}

/// Whether more requests may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Senders {
    Open,
    Gone,
}

/// Why an attempt did not lead to a connection.
enum Failure {
    /// It may be tried again.
    Passing(Error),
    /// It may not.
    Final(Error),
}

pub(super) struct Owner {
    driver: Driver,
    inbox: Arc<Inbox>,
    address: Address,
    name: String,
    timeout: Duration,
    agreed: Agreed,
    link: Link,
    messages: VecDeque<Message>,
    senders: Senders,
    /// By the order in which they came.
    pending: BTreeMap<u64, Pending>,
    next: u64,
    /// Those that wait to be submitted, in order.
    unsent: VecDeque<u64>,
    done: Vec<Completion>,
    /// The server says that it is about to end: it is given nothing more.
    leaving: bool,
    /// When something came last, or was first waited for.
    heard: Instant,
    journal: Journal,
    stamp: u64,
    /// What the flush under way for the journal's sake covers.
    own_flush: Option<u64>,
    /// Writes that are done and may only be answered after a flush that covers their stamp.
    held: Vec<(u64, u64)>,
    flush_failed: Option<Error>,
    /// Whether something was acknowledged by a server that knows no flush.
    unprotected: bool,
    outage: Option<Outage>,
}

/// A time without a server.
struct Outage {
    began: Instant,
    next_attempt: Instant,
    pause: Duration,
    /// Why requests fail at once: it has lasted too long.
    weary: Option<Error>,
}

impl Owner {
    pub(super) fn new(
        driver: Driver,
        inbox: Arc<Inbox>,
        address: Address,
        name: String,
        connection: Connection,
        timeout: Duration,
    ) -> Self {
        let agreed = connection.agreed.clone();
        let queue = NbdQueue::new(name.clone(), connection, &driver, None);
        Self {
            driver,
            inbox,
            address,
            name,
            timeout,
            agreed,
            link: Link::Up(Box::new(queue)),
            messages: VecDeque::new(),
            senders: Senders::Open,
            pending: BTreeMap::new(),
            next: 0,
            unsent: VecDeque::new(),
            done: Vec::new(),
            leaving: false,
            heard: Instant::now(),
            journal: Journal::default(),
            stamp: 0,
            own_flush: None,
            held: Vec::new(),
            flush_failed: None,
            unprotected: false,
            outage: None,
        }
    }

    /// Works until no queue is left.
    pub(super) fn run(mut self) {
        loop {
            self.inbox.mailbox.receive(&mut self.messages);
            while let Some(message) = self.messages.pop_front() {
                self.take(message);
            }
            if self.senders == Senders::Gone && self.pending.is_empty() {
                return;
            }
            let timeout = match &self.link {
                Link::Up(_) => self.work(),
                Link::Lost => self.recover(),
                Link::Over(error) => {
                    let error = error.clone();
                    self.fail_all(&error);
                    None
                }
            };
            let timeout = if self.inbox.mailbox.may_sleep() {
                timeout
            } else {
                Some(Duration::ZERO)
            };
            // A wait that fails is one that returns at once.
            let _ = self.driver.wait(&mut [], timeout);
        }
    }

    fn take(&mut self, message: Message) {
        let Message::Request { request, from } = message else {
            self.senders = Senders::Gone;
            return;
        };
        let order = self.next;
        self.next += 1;
        let pending = Pending {
            from,
            tag: request.tag,
            operation: request.operation,
            range: request.range,
            durability: request.durability,
            unsent: Some(request),
            tries: 0,
            covers: 0,
        };
        self.pending.insert(order, pending);
        self.unsent.push_back(order);
    }

    /// One turn with a connection. How long to wait then.
    fn work(&mut self) -> Option<Duration> {
        if !self.leaving {
            self.submit_unsent();
        }
        let Link::Up(queue) = &mut self.link else {
            return Some(Duration::ZERO);
        };
        let mut done = std::mem::take(&mut self.done);
        queue.poll(&mut done);
        if !done.is_empty() {
            self.heard = Instant::now();
        }
        let idle = queue.in_flight() == 0;
        let loss = queue.loss().map(|(kind, error)| (kind, error.clone()));
        for completion in done.drain(..) {
            self.answered(completion);
        }
        self.done = done;
        match loss {
            Some((Kind::Invalid, error)) => {
                let what = format!("{error}; it is no longer used: check the server, begin again");
                self.give_up(Error::new(Kind::Gone, what));
                return Some(Duration::ZERO);
            }
            Some(_) => {
                self.lose();
                return Some(Duration::ZERO);
            }
            None if self.leaving && idle => {
                self.lose();
                return Some(Duration::ZERO);
            }
            None => {}
        }
        debug_assert!(
            self.unsent.is_empty() || self.leaving,
            "all is sent at once"
        );
        if self.flush_for_journal() {
            return Some(Duration::ZERO);
        }
        if idle {
            return None;
        }
        let rest = self.timeout.saturating_sub(self.heard.elapsed());
        if rest.is_zero() {
            self.silent();
        }
        Some(rest)
    }

    fn submit_unsent(&mut self) {
        let Link::Up(queue) = &mut self.link else {
            return;
        };
        while let Some(order) = self.unsent.pop_front() {
            let pending = self.pending.get_mut(&order).expect("it waits");
            let durable =
                pending.operation == Operation::Flush || pending.durability == Durability::Fua;
            if let Some(error) = self.flush_failed.as_ref().filter(|_| durable) {
                let error = error.clone();
                answer(&mut self.pending, order, Err(error), None);
                continue;
            }
            pending.covers = self.stamp;
            pending.tries += 1;
            let mut request = pending.unsent.take().expect("it was not sent");
            request.tag = order;
            if request.operation == Operation::Flush && self.unprotected {
                // There is nothing to flush; but is it still the server that took the writes?
                let block = self.agreed.sizes.minimum.max(512) as usize;
                request = Request::read(order, 0, Buffer::zeroed(block));
            }
            if queue.in_flight() == 0 {
                self.heard = Instant::now();
            }
            queue.submit(request);
        }
    }

    /// An answer came over the connection, or its end did.
    fn answered(&mut self, completion: Completion) {
        let Completion {
            tag: order,
            result,
            buffer,
        } = completion;
        let is_gone = matches!(&result, Err(error) if error.kind() == Kind::Gone);
        self.leaving |= is_gone;
        if order == OWN_FLUSH {
            let covers = self.own_flush.take();
            match result {
                Ok(()) => self.settle(covers.unwrap_or(0)),
                Err(_) if is_gone => {}
                Err(error) => self.fail_flushes(&error),
            }
            return;
        }
        let pending = self
            .pending
            .get_mut(&order)
            .expect("a request is answered once");
        if is_gone {
            pending.unsent = Some(pending.again(buffer));
            return;
        }
        self.outage = None;
        let (operation, range, durability) = (pending.operation, pending.range, pending.durability);
        let covers = pending.covers;
        if (result.is_err() && operation.is_write()) || operation == Operation::Discard {
            self.inbox.marks().forget(range);
        }
        if result.is_ok() && self.agreed.flags & FLAG_SEND_FLUSH == 0 {
            self.unprotected |= operation.is_write();
        } else if let (Operation::Flush, Err(error)) = (operation, &result) {
            let error = error.clone();
            self.fail_flushes(&error);
        } else if result.is_ok() {
            match (operation, durability) {
                (Operation::Flush, _) => self.settle(covers),
                (Operation::Write | Operation::WriteZeroes(_), Durability::Fua) => {
                    self.journal.forget(range);
                    let written = (range, data_of(operation, &buffer));
                    self.inbox.marks().wrote(written, self.stamp, durability);
                }
                (Operation::Write | Operation::WriteZeroes(_), Durability::Volatile) => {
                    if !self.remember(operation, range, &buffer) {
                        let pending = self.pending.get_mut(&order).expect("it is still there");
                        pending.unsent = Some(pending.again(buffer));
                        self.held.push((order, self.stamp));
                        return;
                    }
                }
                (Operation::Read | Operation::Discard, _) => {}
            }
        }
        let buffer = match operation {
            Operation::Flush => Buffer::empty(),
            _ => buffer,
        };
        answer(&mut self.pending, order, result, Some(buffer));
    }

    /// Keeps an acknowledged write. Whether there was room.
    fn remember(&mut self, operation: Operation, range: Range, data: &[u8]) -> bool {
        self.stamp += 1;
        let written = (range, data_of(operation, data));
        let marks = &mut self.inbox.marks();
        marks.wrote(written, self.stamp, Durability::Volatile);
        if self.flush_failed.is_some() {
            return true;
        }
        let cost = Journal::cost_of(data.len());
        if self.journal.cost() + cost > JOURNAL_MAX {
            return false;
        }
        let content = match operation {
            Operation::WriteZeroes(unmap) => Content::Zeros(unmap),
            _ => Content::Data(data.into()),
        };
        self.journal.record(range, content, self.stamp);
        true
    }

    /// A flush that covers writes up to `stamp` succeeded.
    fn settle(&mut self, stamp: u64) {
        self.journal.settle(stamp);
        self.inbox.marks().settle(stamp);
        let (covered, rest) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|(_, held)| *held <= stamp);
        self.held = rest;
        let covered: Vec<(u64, u64)> = covered;
        for (order, _) in covered {
            answer(&mut self.pending, order, Ok(()), None);
        }
    }

    /// Makes a flush where the journal is full. Whether one was submitted.
    fn flush_for_journal(&mut self) -> bool {
        let Link::Up(queue) = &mut self.link else {
            return false;
        };
        let full = self.journal.cost() > JOURNAL_FLUSH || !self.held.is_empty();
        if !full || self.own_flush.is_some() || self.leaving || self.flush_failed.is_some() {
            return false;
        }
        self.own_flush = Some(self.stamp);
        if queue.in_flight() == 0 {
            self.heard = Instant::now();
        }
        queue.submit(Request::flush(OWN_FLUSH));
        true
    }

    /// A flush failed: nothing is durable from now on.
    fn fail_flushes(&mut self, error: &Error) {
        let what = format!(
            "{}: a flush failed, so what was written before may be lost ({error}); check the \
             server and begin again",
            self.name
        );
        let error = Error::new(Kind::FlushFailed, what);
        for (order, _) in std::mem::take(&mut self.held) {
            answer(&mut self.pending, order, Err(error.clone()), None);
        }
        self.journal = Journal::default();
        self.flush_failed.get_or_insert(error);
    }

    /// The connection has ended: everything is to be sent again.
    fn lose(&mut self) {
        self.inbox.count_loss();
        self.link = Link::Lost;
        self.leaving = false;
        self.own_flush = None;
        self.held.clear();
        self.fail_the_unlucky();
        self.unsent = self.pending.keys().copied().collect();
        if let Some(error) = &self.flush_failed {
            let error = error.clone();
            self.give_up(error);
        } else if self.unprotected {
            let what = format!(
                "the server of {} went away and knows no flush, so what it acknowledged may be \
                 lost; check the server and begin again",
                self.name
            );
            self.give_up(Error::new(Kind::Gone, what));
        }
    }

    /// Fails requests during which one connection after the other ended.
    fn fail_the_unlucky(&mut self) {
        let unlucky =
            |(order, pending): (&u64, &Pending)| (pending.tries >= TRIES_MAX).then_some(*order);
        let unlucky: Vec<u64> = self.pending.iter().filter_map(unlucky).collect();
        for order in unlucky {
            let what = format!(
                "the server of {} hung up {TRIES_MAX} times during this request; check its log",
                self.name
            );
            let error = Error::new(Kind::Gone, what);
            if let Some((range, _)) = self.pending.get(&order).and_then(Pending::written) {
                self.inbox.marks().forget(range);
            }
            answer(&mut self.pending, order, Err(error), None);
        }
    }

    /// The server kept silent for too long, with requests in hand that it may still carry out.
    fn silent(&mut self) {
        let error = silence(&self.name, self.timeout);
        let mut done = Vec::new();
        if let Link::Up(queue) = &mut self.link {
            queue.die(&error);
            queue.poll(&mut done);
        }
        for completion in done {
            self.answered(completion);
        }
        self.give_up(error);
    }

    fn give_up(&mut self, error: Error) {
        self.link = Link::Over(error);
        self.journal = Journal::default();
        self.inbox.count_loss();
        self.inbox.set_over();
    }

    fn fail_all(&mut self, error: &Error) {
        self.unsent.clear();
        self.held.clear();
        let sent = self.pending.values().filter(|pending| pending.tries > 0);
        for (range, _) in sent.filter_map(Pending::written) {
            self.inbox.marks().forget(range);
        }
        while let Some((&order, _)) = self.pending.first_key_value() {
            answer(&mut self.pending, order, Err(error.clone()), None);
        }
    }

    /// One turn without a connection. How long to wait then.
    fn recover(&mut self) -> Option<Duration> {
        if self.pending.is_empty() {
            // Nobody misses the server. The time begins when somebody does.
            self.outage = self.outage.take().filter(|outage| outage.weary.is_some());
            return None;
        }
        let now = Instant::now();
        let outage = self.outage.get_or_insert(Outage {
            began: now,
            next_attempt: now,
            pause: PAUSE_MIN,
            weary: None,
        });
        if let Some(wait) = outage.next_attempt.checked_duration_since(now)
            && !wait.is_zero()
        {
            let Some(error) = outage.weary.clone() else {
                return Some(wait);
            };
            self.fail_all(&error);
            return None;
        }
        let limit = match outage.weary {
            Some(_) => CONNECT_MAX,
            None => self.timeout.saturating_sub(outage.began.elapsed()),
        };
        match self.attempt(limit) {
            Ok(queue) => {
                self.link = Link::Up(Box::new(queue));
                self.heard = Instant::now();
                // It is over with the first answer, not before: servers may hang up at once.
                let outage = self.outage.as_mut().expect("this is one");
                if outage.weary.take().is_some() {
                    outage.began = self.heard;
                }
                outage.next_attempt = self.heard + outage.pause;
                outage.pause = PAUSE_MAX.min(outage.pause * 2);
            }
            Err(Failure::Final(error)) => self.give_up(error),
            Err(Failure::Passing(error)) => self.attempt_failed(&error),
        }
        Some(Duration::ZERO)
    }

    fn attempt_failed(&mut self, error: &Error) {
        let outage = self
            .outage
            .as_mut()
            .expect("an attempt is made in an outage");
        let now = Instant::now();
        let is_over = now.duration_since(outage.began) >= self.timeout;
        if outage.weary.is_none() && !is_over {
            outage.next_attempt = now + outage.pause;
            let end = outage.began + self.timeout;
            outage.next_attempt = outage.next_attempt.min(end);
            outage.pause = PAUSE_MAX.min(outage.pause * 2);
            return;
        }
        let what = format!(
            "the server of {} has been away for {} s ({error}): start it again, or wait longer \
             for it with --pv-timeout",
            self.name,
            now.duration_since(outage.began).as_secs()
        );
        let error = Error::new(Kind::Gone, what);
        outage.weary = Some(error.clone());
        outage.next_attempt = now + PAUSE_WEARY;
        self.fail_all(&error);
    }
}

impl Pending {
    /// What it writes, if it does and the connection does not have it.
    fn written(&self) -> Option<Written<'_>> {
        let buffer = self.unsent.as_ref().map(|request| &*request.buffer);
        let data = data_of(self.operation, buffer?);
        self.operation.is_write().then_some((self.range, data))
    }

    /// The request once more, with its buffer.
    fn again(&self, buffer: Buffer) -> Request {
        Request {
            tag: self.tag,
            operation: self.operation,
            range: self.range,
            durability: self.durability,
            buffer,
        }
    }
}

/// What an operation that writes stores: the data that came with it, or zeros.
fn data_of(operation: Operation, data: &[u8]) -> Option<&[u8]> {
    (operation == Operation::Write).then_some(data)
}

/// Answers a request; the buffer is the one that came back, or that of the unsent request.
fn answer(
    pending: &mut BTreeMap<u64, Pending>,
    order: u64,
    result: Result<()>,
    buffer: Option<Buffer>,
) {
    let pending = pending.remove(&order).expect("a request is answered once");
    let unsent = pending.unsent.map(|request| request.buffer);
    let first = pending.from.put(Completion {
        tag: pending.tag,
        result,
        buffer: buffer.or(unsent).unwrap_or_else(Buffer::empty),
    });
    if first {
        pending.from.notify();
    }
}

/// The server kept silent for too long.
fn silence(name: &str, timeout: Duration) -> Error {
    let what = format!(
        "the server of {name} has not answered for {} s; what it was asked to write may still be \
         written, so it is no longer used: check it and begin again, with a longer --pv-timeout \
         if it is slow",
        timeout.as_secs_f32()
    );
    Error::new(Kind::TimedOut, what)
}
