//! Waiting for a lock that somebody else has: tries with pauses between them, up to a limit.
//!
//! ```text
//!   at_most ─▶ tries ─▶ held
//!                ▲ ╲
//!                ╰─ again ─▶ the limit is over
//! ```
//!
//! All of these locks are taken without blocking in the kernel, so that every wait has an end. A
//! simulation that decides which of its threads goes on is asked instead of the clock, at each
//! lock and at each pause (`with_turns`). The locks themselves are the kernel's there, too.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::interrupt::{Interrupt, Waiting};
use crate::{Error, Kind};

/// How long to sleep between two tries.
const RETRY: Duration = Duration::from_millis(20);

thread_local! {
    static TURNS: RefCell<Option<Rc<dyn Turns>>> = const { RefCell::new(None) };
}

/// Who decides when this thread goes on.
pub(crate) trait Turns {
    /// A lock is about to be tried.
    fn tries(&self);

    /// It is held by somebody else. Returns when it may be free; `false` where it never will, as
    /// if the limit was over.
    fn waits(&self) -> bool;
}

/// Does `work` with all waits of this thread, and each lock that it tries, in the hands of `turns`.
#[cfg(any(test, feature = "explore"))]
pub(crate) fn with_turns<R>(turns: Rc<dyn Turns>, work: impl FnOnce() -> R) -> R {
    let before = TURNS.replace(Some(turns));
    let result = work();
    TURNS.set(before);
    result
}

/// A wait that has an end.
#[derive(Debug)]
pub(super) struct Wait {
    limit: Duration,
    end: Instant,
    /// Since the first time that it was not free.
    waiting: OnceCell<Waiting>,
}

impl Wait {
    /// Whether there is one try and no more.
    pub(super) fn is_none(&self) -> bool {
        self.limit.is_zero()
    }

    /// For `limit` from now on.
    pub(super) fn at_most(limit: Duration) -> Self {
        Self {
            limit,
            end: Instant::now() + limit,
            waiting: OnceCell::new(),
        }
    }

    /// To be called where it was not free: pauses. `false` when the limit is over, and when the
    /// process is asked to end.
    pub(super) fn again(&self) -> bool {
        match turns() {
            Some(turns) => turns.waits(),
            None if Instant::now() < self.end => {
                self.waiting.get_or_init(Waiting::begin);
                if Interrupt::of_process().is_asked() {
                    return false;
                }
                sleep(RETRY);
                true
            }
            None => false,
        }
    }

    /// The error of a wait that is over; `why` says who has the lock.
    pub(super) fn over(&self, why: String) -> Error {
        let is_interrupted = self.waiting.get().is_some() && Interrupt::of_process().is_asked();
        let what = if is_interrupted {
            format!("Interrupted while waiting for a lock: {why}")
        } else {
            why
        };
        Error::new(Kind::Locked, what)
    }
}

/// To be called before a lock is tried for the first time.
pub(super) fn tries() {
    if let Some(turns) = turns() {
        turns.tries();
    }
}

fn turns() -> Option<Rc<dyn Turns>> {
    TURNS.with_borrow(Clone::clone)
}
