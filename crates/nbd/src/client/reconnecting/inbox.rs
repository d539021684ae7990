//! The way between queues on any thread and the owner: requests one way, answers the other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::marks::Marks;
use block::Waker;
use block::{Completion, Driver, Queue, Request};

/// How long a wait of a queue that is dropped lasts before it looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A request and who asked.
pub(super) struct Message {
    pub(super) request: Request,
    pub(super) from: Arc<Outbox>,
}

/// What queues and the owner share.
pub(super) struct Inbox {
    messages: Mutex<Waiting>,
    owner: Waker,
    /// How many times a connection was lost.
    losses: AtomicU64,
    /// Nothing will come of requests any more.
    over: AtomicBool,
    marks: Mutex<Marks>,
}

#[derive(Default)]
struct Waiting {
    waiting: VecDeque<Message>,
    closed: bool,
}

/// Whether more messages may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Senders {
    Open,
    Closed,
}

impl Inbox {
    /// For the owner whose driver `owner` wakes.
    pub(super) fn new(owner: Waker) -> Self {
        Self {
            messages: Mutex::default(),
            owner,
            losses: AtomicU64::new(0),
            over: AtomicBool::new(false),
            marks: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands the owner all that came.
    pub(super) fn collect(&self, into: &mut VecDeque<Message>) -> Senders {
        let mut messages = self.lock();
        into.append(&mut messages.waiting);
        if messages.closed {
            Senders::Closed
        } else {
            Senders::Open
        }
    }

    /// No queue is left, and none will be opened.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.owner.wake();
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

/// Where the answers for one queue wait.
pub(super) struct Outbox {
    answers: Mutex<Vec<Completion>>,
    waker: Waker,
}

impl Outbox {
    /// Leaves an answer. The queue's thread is woken by the first one.
    pub(super) fn put(&self, answer: Completion) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push(answer);
        if answers.len() == 1 {
            self.waker.wake();
        }
    }
}

/// A queue whose requests the owner makes.
pub(super) struct ReconnectingQueue {
    inbox: Arc<Inbox>,
    driver: Driver,
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
            driver: driver.clone(),
            outbox: Arc::new(Outbox {
                answers: Mutex::default(),
                waker: driver.waker(),
            }),
            outgoing: Vec::new(),
            in_flight: 0,
            _handle: Arc::clone(handle),
        }
    }
}

impl Queue for ReconnectingQueue {
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        self.outgoing.push(Message {
            request,
            from: Arc::clone(&self.outbox),
        });
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if !self.outgoing.is_empty() {
            self.inbox.lock().waiting.extend(self.outgoing.drain(..));
            self.inbox.owner.wake();
        }
        let answers = &self.outbox.answers;
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        self.in_flight -= answers.len();
        done.append(&mut answers);
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

impl Drop for ReconnectingQueue {
    /// Waits for what is in flight, which the owner answers in limited time.
    fn drop(&mut self) {
        let mut lost = Vec::new();
        loop {
            self.poll(&mut lost);
            lost.clear();
            if self.in_flight == 0 || self.driver.wait(&mut [], Some(LOOK_AGAIN)).is_err() {
                return;
            }
        }
    }
}
