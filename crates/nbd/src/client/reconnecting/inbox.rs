//! The way between queues on any thread and the owner: requests one way, answers the other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::marks::Marks;
use block::{Completion, Driver, Mailbox, Outbox, Queue, Request, Waker};

/// What the owner is told.
pub(super) enum Message {
    /// A request, and where the answer goes.
    Request { request: Request, from: Arc<Outbox> },
    /// No queue is left, and none will be opened.
    End,
}

/// What queues and the owner share.
pub(super) struct Inbox {
    pub(super) mailbox: Mailbox<Message>,
    /// How many times a connection was lost.
    losses: AtomicU64,
    /// Nothing will come of requests any more.
    over: AtomicBool,
    marks: Mutex<Marks>,
}

impl Inbox {
    /// For the owner whose driver `owner` wakes.
    pub(super) fn new(owner: Waker) -> Self {
        let mailbox = Mailbox::default();
        mailbox.set_waker(owner);
        Self {
            mailbox,
            losses: AtomicU64::new(0),
            over: AtomicBool::new(false),
            marks: Mutex::default(),
        }
    }

    /// What the export is known by. Held for moments, and never while anything waits.
    pub(super) fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn losses(&self) -> u64 {
        self.losses.load(Ordering::SeqCst)
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    pub(super) fn set_over(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    pub(super) fn count_loss(&self) {
        self.losses.fetch_add(1, Ordering::SeqCst);
    }
}

/// A queue whose requests the owner makes.
pub(super) struct ReconnectingQueue {
    inbox: Arc<Inbox>,
    outbox: Arc<Outbox>,
    /// Requests that leave with the next poll.
    outgoing: Vec<Message>,
    in_flight: usize,
    /// The device, which must not end before its queues.
    _handle: Arc<super::device::Handle>,
}

impl ReconnectingQueue {
    pub(super) fn new(driver: &Driver, handle: &Arc<super::device::Handle>) -> Self {
        Self {
            inbox: Arc::clone(handle.inbox()),
            outbox: Outbox::new(driver.waker()),
            outgoing: Vec::new(),
            in_flight: 0,
            _handle: Arc::clone(handle),
        }
    }
}

impl Queue for ReconnectingQueue {
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        self.outgoing.push(Message::Request {
            request,
            from: Arc::clone(&self.outbox),
        });
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.inbox.mailbox.send(&mut self.outgoing);
        self.in_flight -= self.outbox.take(done);
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

impl Drop for ReconnectingQueue {
    /// Waits for what is in flight, which the owner answers in limited time.
    fn drop(&mut self) {
        self.poll(&mut Vec::new());
        self.outbox.wait_for(self.in_flight);
    }
}
