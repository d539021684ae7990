//! The rules of the contract, enforced once around any queue.
//!
//! What reaches the queue inside lies within the device, is aligned to its logical block, has a
//! buffer as long as its range, and writes only where that is allowed. What comes out answers a
//! request that is in flight, exactly once: the queue inside sees tags of this layer, and a tag
//! that is not in flight is a defect of that queue, so it panics.
//!
//! **Latched failure.** When a flush fails, the kernel may have dropped the data that it could
//! not write, and the next flush would succeed without it. So from then on every flush and every
//! write with FUA on the device fails with [`Kind::FlushFailed`], on all its queues, until it is
//! opened again. Plain reads and writes go on. A failed FUA write latches too, unless it was
//! refused before it touched the medium. What was in flight then fails as well: of several flushes
//! of a file at the same time the kernel tells only one that data was lost.
//!
//! Empty reads and writes are done at once. Costs: one slab entry per request in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    Answers, Completion, Driver, Durability, Error, Info, Kind, Operation, Queue, Request,
};

/// Whether a flush of a device has failed; its queues share it.
#[derive(Debug, Clone, Default)]
pub struct FlushLatch(Arc<AtomicBool>);

impl FlushLatch {
    /// Whether a flush has failed.
    pub fn has_failed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn fail(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A queue inside which only proper requests arrive.
#[derive(Debug)]
pub struct Checked<Q: Queue> {
    inner: Q,
    info: Info,
    latch: FlushLatch,
    slots: Vec<Option<Asked>>,
    free: Vec<usize>,
    in_flight: usize,
    refused: Answers,
}

/// What is remembered of a request in flight.
#[derive(Debug, Clone, Copy)]
struct Asked {
    tag: u64,
    durable: bool,
}

impl<Q: Queue> Checked<Q> {
    /// Wraps `inner`, a queue on `driver` of a device that says `info` and shares `latch` among
    /// its queues.
    pub fn new(inner: Q, driver: &Driver, info: Info, latch: FlushLatch) -> Self {
        Self {
            inner,
            info,
            latch,
            slots: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            refused: Answers::new(driver),
        }
    }

    /// From now on the device has `size` bytes.
    pub fn resize(&mut self, size: u64) {
        self.info.size = size;
    }

    /// Whether the queue inside may be asked this; if not, [`Checked::refusal`] says why.
    #[inline]
    fn is_proper(&self, request: &Request) -> bool {
        self.info.is_proper(request) && !(is_durable(request) && self.latch.has_failed())
    }

    #[cold]
    fn refusal(&self, request: &Request) -> Error {
        if is_durable(request) && self.latch.has_failed() {
            return self.flush_failed();
        }
        let admitted = self.info.admit(request);
        admitted.expect_err("what is proper is not refused")
    }

    #[cold]
    fn flush_failed(&self) -> Error {
        let what = format!(
            "{}: an earlier flush failed, so nothing can be promised to be durable; close and \
             open it again, and check what was written last",
            self.info.name
        );
        Error::new(Kind::FlushFailed, what)
    }

    /// Whether an answer of the queue inside says that data may be lost.
    fn tells_of_loss(&self, completion: &Completion) -> bool {
        let asked = || self.slots.get(completion.tag as usize).copied().flatten();
        completion.result.as_ref().is_err_and(loses_data) && asked().is_some_and(|one| one.durable)
    }

    fn remember(&mut self, request: &Request) -> u64 {
        let asked = Asked {
            tag: request.tag,
            durable: is_durable(request),
        };
        self.in_flight += 1;
        if let Some(slot) = self.free.pop() {
            debug_assert!(self.slots[slot].is_none(), "a free number names nothing");
            self.slots[slot] = Some(asked);
            return slot as u64;
        }
        self.slots.push(Some(asked));
        self.free.reserve(self.slots.len());
        (self.slots.len() - 1) as u64
    }

    /// Undoes `remember` for an answer of the queue inside.
    /// The invariants: each number is used or free, and what the device below took in and has not
    /// answered it still has. A request that was dropped without an answer is found here.
    fn check(&self) {
        let used = self.slots.len() - self.free.len();
        assert_eq!(used, self.in_flight, "each number is used or free");
        let below = self.inner.in_flight();
        assert_eq!(below, self.in_flight, "no request is dropped unanswered");
    }

    fn settle(&mut self, completion: &mut Completion) {
        let slot = completion.tag as usize;
        let asked = self.slots.get_mut(slot).and_then(Option::take);
        let asked = asked.expect("a queue answers each request exactly once");
        debug_assert!(self.in_flight > 0, "what is answered was in flight");
        self.free.push(slot);
        self.in_flight -= 1;
        completion.tag = asked.tag;
        if asked.durable && completion.result.is_ok() && self.latch.has_failed() {
            completion.result = Err(self.flush_failed());
        }
    }
}

/// Whether the answer promises that something is durable.
fn is_durable(request: &Request) -> bool {
    request.operation == Operation::Flush || request.durability == Durability::Fua
}

/// Whether data that was taken earlier may be lost after this error.
fn loses_data(error: &Error) -> bool {
    !matches!(
        error.kind(),
        Kind::InvalidRequest | Kind::Unsupported | Kind::ReadOnly
    )
}

impl<Q: Queue> Queue for Checked<Q> {
    fn submit(&mut self, mut request: Request) {
        if !self.is_proper(&request) {
            let error = self.refusal(&request);
            self.refused.push(request.complete(Err(error)));
            return;
        }
        if request.range.is_empty() && request.operation != Operation::Flush {
            self.refused.push(request.complete(Ok(())));
            return;
        }
        request.tag = self.remember(&request);
        self.inner.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.refused.drain_into(done);
        let before = done.len();
        self.inner.poll(done);
        if done[before..].iter().any(|one| self.tells_of_loss(one)) {
            self.latch.fail();
        }
        for completion in &mut done[before..] {
            self.settle(completion);
        }
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight + self.refused.len()
    }
}

impl<Q: Queue + ?Sized> Queue for Box<Q> {
    fn submit(&mut self, request: Request) {
        (**self).submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        (**self).poll(done);
    }

    fn in_flight(&self) -> usize {
        (**self).in_flight()
    }
}

#[cfg(test)]
mod tests;
