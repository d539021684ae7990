//! The way between queues on any thread and the owner: requests one way, answers the other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::marks::Marks;
use crate::driver::Waker;
use crate::{Completion, Driver, Queue, Request};

/// How long a wait of a queue that is dropped lasts before it looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A request and who asked.
pub(super) struct Letter {
    pub(super) request: Request,
    pub(super) from: Arc<Mailbox>,
}

/// What queues and the owner share.
pub(super) struct Post {
    letters: Mutex<Letters>,
    owner: Waker,
    /// How many times a connection was lost.
    losses: AtomicU64,
    /// Nothing will come of requests any more.
    over: AtomicBool,
    marks: Mutex<Marks>,
}

#[derive(Default)]
struct Letters {
    waiting: VecDeque<Letter>,
    closed: bool,
}

/// Whether more letters may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mail {
    Open,
    Closed,
}

impl Post {
    /// For the owner whose driver `owner` wakes.
    pub(super) fn new(owner: Waker) -> Self {
        Self {
            letters: Mutex::default(),
            owner,
            losses: AtomicU64::new(0),
            over: AtomicBool::new(false),
            marks: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands the owner all that came.
    pub(super) fn collect(&self, into: &mut VecDeque<Letter>) -> Mail {
        let mut letters = self.lock();
        into.append(&mut letters.waiting);
        if letters.closed {
            Mail::Closed
        } else {
            Mail::Open
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
pub(super) struct Mailbox {
    answers: Mutex<Vec<Completion>>,
    waker: Waker,
}

impl Mailbox {
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
pub(super) struct PostQueue {
    post: Arc<Post>,
    driver: Driver,
    mailbox: Arc<Mailbox>,
    /// Requests that leave with the next poll.
    outgoing: Vec<Letter>,
    in_flight: usize,
    /// The device, which must not end before its queues.
    _door: Arc<super::device::Door>,
}

impl PostQueue {
    pub(super) fn new(driver: &Driver, door: &Arc<super::device::Door>) -> Self {
        Self {
            post: Arc::clone(door.post()),
            driver: driver.clone(),
            mailbox: Arc::new(Mailbox {
                answers: Mutex::default(),
                waker: driver.waker(),
            }),
            outgoing: Vec::new(),
            in_flight: 0,
            _door: Arc::clone(door),
        }
    }
}

impl Queue for PostQueue {
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        self.outgoing.push(Letter {
            request,
            from: Arc::clone(&self.mailbox),
        });
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if !self.outgoing.is_empty() {
            self.post.lock().waiting.extend(self.outgoing.drain(..));
            self.post.owner.wake();
        }
        let answers = &self.mailbox.answers;
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        self.in_flight -= answers.len();
        done.append(&mut answers);
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

impl Drop for PostQueue {
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
