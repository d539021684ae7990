//! The way between one thread that owns something and queues on any other.
//!
//! ```text
//!   queue ──╮                       ╭──▸ outbox ──▸ queue
//!           ├──▸ mailbox ──▸ owner ─┤
//!   queue ──╯   (one)               ╰──▸ outbox ──▸ queue
//! ```
//!
//! A [`Mailbox`] takes messages from many threads for its one owner, an [`Outbox`] answers of the
//! owner for one queue. Both wake who sleeps, and only then: whoever finds work goes on without a
//! system call.
//!
//! Promises: what is sent is received once and in order, or it stays with the sender, when the
//! owner has ended. An owner that is [`Mailbox::may_sleep`] is woken by the next message, also by
//! one that comes before it sleeps.
//!
//! Lock order: each holds its one lock for a few moves in memory and takes no other meanwhile.
//! Does not: bound how much waits. Queues do, which ask for a limited number of things at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::{Completion, Waker};

/// Messages to one owner.
pub struct Mailbox<M> {
    state: Mutex<State<M>>,
    /// Set when the owner has its driver, before anybody sends.
    waker: OnceLock<Waker>,
}

struct State<M> {
    messages: VecDeque<M>,
    asleep: bool,
    closed: bool,
}

/// Answers for one queue.
pub struct Outbox {
    answers: Mutex<Vec<Completion>>,
    arrived: Condvar,
    waker: Waker,
}

impl<M> Default for Mailbox<M> {
    fn default() -> Self {
        let state = State {
            messages: VecDeque::new(),
            asleep: false,
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            waker: OnceLock::new(),
        }
    }
}

impl<M> std::fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mailbox")
    }
}

impl<M> Mailbox<M> {
    /// Wakes the owner with `waker` from now on.
    ///
    /// # Panics
    /// If it has one already: a mailbox has one owner.
    pub fn set_waker(&self, waker: Waker) {
        let first = self.waker.set(waker).is_ok();
        assert!(first, "a mailbox has one owner");
    }

    /// Takes all of `messages`, unless the owner has ended: then they stay.
    pub fn send(&self, messages: &mut Vec<M>) {
        if messages.is_empty() {
            return;
        }
        let mut state = self.state();
        if state.closed {
            return;
        }
        state.messages.extend(messages.drain(..));
        let asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if asleep && let Some(waker) = self.waker.get() {
            waker.wake();
        }
    }

    /// Exchanges what was sent for `messages`, which is empty. For the owner, as all that follows.
    pub fn receive(&self, messages: &mut VecDeque<M>) {
        assert!(messages.is_empty(), "what was received before is done");
        std::mem::swap(&mut self.state().messages, messages);
    }

    /// Whether the owner may sleep; whoever sends next wakes it.
    pub fn may_sleep(&self) -> bool {
        let mut state = self.state();
        state.asleep = state.messages.is_empty();
        state.asleep
    }

    /// Takes nothing from now on; what was sent last.
    pub fn close(&self) -> VecDeque<M> {
        let mut state = self.state();
        state.closed = true;
        std::mem::take(&mut state.messages)
    }

    /// Whether the owner has ended.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    fn state(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbox {
    /// For the queue on the thread that `waker` wakes.
    pub fn new(waker: Waker) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::default(),
            arrived: Condvar::new(),
            waker,
        })
    }

    /// Puts an answer in; whether there was none before, so that [`Outbox::notify`] is due.
    #[must_use]
    pub fn put(&self, answer: Completion) -> bool {
        let mut answers = self.answers();
        answers.push(answer);
        answers.len() == 1
    }

    /// Tells the queue's thread of answers.
    pub fn notify(&self) {
        self.waker.wake();
        self.arrived.notify_all();
    }

    /// Moves all answers to `done`; how many.
    pub fn take(&self, done: &mut Vec<Completion>) -> usize {
        let mut answers = self.answers();
        let count = answers.len();
        done.append(&mut answers);
        count
    }

    /// Waits for `count` more answers, and drops them.
    pub fn wait_for(&self, mut count: usize) {
        let mut answers = self.answers();
        loop {
            assert!(answers.len() <= count, "each request is answered once");
            count -= answers.len();
            // Empty, so that the next answer is the first one, of which the owner tells.
            answers.clear();
            if count == 0 {
                return;
            }
            let waited = self.arrived.wait(answers);
            answers = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn answers(&self) -> MutexGuard<'_, Vec<Completion>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outbox")
    }
}

#[cfg(test)]
mod tests;
