//! What passes between a home and its queues.
//!
//! Lock order: no lock is taken while another is held.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use block::{Completion, Device, Request, Waker};

use super::direct::HoldOf;
use crate::Result;
use crate::machine::{Face, Machine};
use crate::map::Returned;

/// Something asked of a home.
pub(super) enum Message<M: Machine> {
    /// A request to a face, and where the answer goes.
    Request {
        from: Arc<Outbox>,
        face: usize,
        request: Request,
    },
    /// A request that went to legs without the machine, and was not done.
    Returned {
        from: Arc<Outbox>,
        face: usize,
        returned: Returned<HoldOf<M>>,
    },
    /// The machine may wait for holds that have ended.
    Freed,
    /// The queue with this outbox goes away: what is held for it is answered.
    Abandon(Arc<Outbox>),
    /// Let nothing through, and say when all has ended.
    Suspend(SyncSender<Result<()>>),
    /// Get ready to be made of something else, and say what the faces are then.
    Prepare {
        number: u64,
        config: M::Config,
        legs: Vec<Arc<dyn Device>>,
        reply: SyncSender<Result<Vec<Option<Face>>>>,
    },
    /// Do not become what this number was given for.
    Forget(u64),
    /// Become what this number was given for.
    Reload(u64, SyncSender<Result<()>>),
    /// Let requests through again.
    Resume,
    /// An order, and who waits until it is obeyed.
    Control {
        control: M::Control,
        obeyed: SyncSender<Result<()>>,
    },
    /// How is it?
    Status(SyncSender<Result<M::Status>>),
    /// End.
    Stop,
}

/// What was asked and has not been seen by the home.
pub(super) struct Inbox<M: Machine> {
    state: Mutex<InboxState<M>>,
    /// Set when the home's thread has its driver, before anybody sends.
    waker: OnceLock<Waker>,
}

struct InboxState<M: Machine> {
    messages: VecDeque<Message<M>>,
    asleep: bool,
    closed: bool,
}

/// Answers for one queue.
pub(super) struct Outbox {
    answers: Mutex<Vec<Completion>>,
    arrived: Condvar,
    waker: Waker,
}

impl<M: Machine> Inbox<M> {
    pub(super) fn new() -> Self {
        let state = InboxState {
            messages: VecDeque::new(),
            asleep: false,
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            waker: OnceLock::new(),
        }
    }

    pub(super) fn set_waker(&self, waker: Waker) {
        let first = self.waker.set(waker).is_ok();
        assert!(first, "a home has one thread");
    }

    /// Takes all of `messages`, unless the home has ended: then they stay.
    pub(super) fn send(&self, messages: &mut Vec<Message<M>>) {
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

    /// Exchanges what was asked for `messages`, which is empty.
    pub(super) fn receive(&self, messages: &mut VecDeque<Message<M>>) {
        assert!(messages.is_empty(), "what was received before is done");
        std::mem::swap(&mut self.state().messages, messages);
    }

    /// Whether the home may sleep; whoever sends next wakes it.
    pub(super) fn fall_asleep(&self) -> bool {
        let mut state = self.state();
        state.asleep = state.messages.is_empty();
        state.asleep
    }

    /// Takes nothing from now on; what was asked last.
    pub(super) fn close(&self) -> VecDeque<Message<M>> {
        let mut state = self.state();
        state.closed = true;
        std::mem::take(&mut state.messages)
    }

    /// Whether the home has ended, and asks nothing of its legs any more.
    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    fn state(&self) -> MutexGuard<'_, InboxState<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbox {
    pub(super) fn new(waker: Waker) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::default(),
            arrived: Condvar::new(),
            waker,
        })
    }

    /// Puts an answer in; whether there was none before.
    pub(super) fn put(&self, answer: Completion) -> bool {
        let mut answers = self.answers();
        answers.push(answer);
        answers.len() == 1
    }

    /// Tells the queue's thread of answers.
    pub(super) fn notify(&self) {
        self.waker.wake();
        self.arrived.notify_all();
    }

    /// Moves all answers to `done`; how many.
    pub(super) fn take(&self, done: &mut Vec<Completion>) -> usize {
        let mut answers = self.answers();
        let count = answers.len();
        done.append(&mut answers);
        count
    }

    /// Waits for `count` more answers, and drops them.
    pub(super) fn wait_for(&self, mut count: usize) {
        let mut answers = self.answers();
        loop {
            count -= answers.len();
            // Empty, so that the next answer is the first one, of which the home tells.
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
