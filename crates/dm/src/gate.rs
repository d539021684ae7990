//! A gate before the legs of many queues, which somebody may close to exchange what stands behind.
//!
//! Queues do not take a lock per request. Each has a slot that says whether it has requests at the
//! legs; it sets `busy` when it gets its first one and then looks at `closed`, while whoever closes
//! sets `closed` and then looks at each `busy` (both sequentially consistent, so one of the two
//! sees the other). A queue that finds the gate closed asks its legs for nothing.
//!
//! ```text
//!   close()     closed = true; queues get no further
//!   drained     every busy is false: the legs have nothing of these queues
//!   publish(t)  what is behind the gate is another one
//!   open        closed = false; all queues are woken
//! ```
//!
//! Who is woken polls its queues, and an idle one that is polled lets go of what is not behind the
//! gate any more: nobody waits for the next request of somebody who may never ask again.
//!
//! A queue that was seen idle after `closed` was set gives the legs nothing any more: it may set
//! `busy` for a moment, sees `closed`, and takes it back. So drained once is drained until the gate
//! opens, whatever `busy` says meanwhile.
//!
//! Lock order: `state` is the only lock, and nothing is called under it but wakers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use block::Waker;

/// What queues share: what is behind the gate, and who is there.
pub(crate) struct Gateway<T> {
    /// Counts what was published.
    number: AtomicU64,
    closed: AtomicBool,
    state: Mutex<State<T>>,
    /// Signalled when a queue's last request is answered while the gate is closed.
    drained: Condvar,
    /// Is woken then, too.
    keeper: OnceLock<Waker>,
}

struct State<T> {
    current: Arc<T>,
    queues: Vec<Arc<Slot>>,
}

/// What a queue shows to whoever closes the gate.
struct Slot {
    busy: AtomicBool,
    waker: Waker,
}

/// A queue's own end of its slot.
pub(crate) struct Gate<T> {
    gateway: Arc<Gateway<T>>,
    slot: Arc<Slot>,
    busy: bool,
}

/// What a queue finds at its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Go on with what you know.
    Open,
    /// Go on, with what is newer.
    Newer,
    /// Ask nothing.
    Closed,
}

impl<T> Gateway<T> {
    /// An open gate before `first`, which has this number.
    pub(crate) fn new(number: u64, first: T) -> Self {
        Self {
            number: AtomicU64::new(number),
            closed: AtomicBool::new(false),
            state: Mutex::new(State {
                current: Arc::new(first),
                queues: Vec::new(),
            }),
            drained: Condvar::new(),
            keeper: OnceLock::new(),
        }
    }

    /// Whose thread is woken when the last queue is idle behind a closed gate.
    pub(crate) fn keep(&self, keeper: Waker) {
        let first = self.keeper.set(keeper).is_ok();
        assert!(first, "a gate has one keeper");
    }

    /// What is behind the gate now, and its number.
    pub(crate) fn current(&self) -> (u64, Arc<T>) {
        let state = self.state();
        // Only changes under the lock.
        let number = self.number.load(Ordering::Relaxed);
        (number, Arc::clone(&state.current))
    }

    /// Puts what `next` makes of the present number and what has it behind the gate.
    pub(crate) fn publish<E>(&self, next: impl FnOnce(u64, &T) -> Result<T, E>) -> Result<(), E> {
        let mut state = self.state();
        let number = self.number.load(Ordering::Relaxed);
        state.current = Arc::new(next(number, &state.current)?);
        self.number.store(number + 1, Ordering::SeqCst);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_drained(&self) {
        self.drained.notify_all();
        if let Some(keeper) = self.keeper.get() {
            keeper.wake();
        }
    }
}

impl<T> State<T> {
    fn is_drained(&self) -> bool {
        let busy = |slot: &Arc<Slot>| slot.busy.load(Ordering::SeqCst);
        !self.queues.iter().any(busy)
    }
}

impl<T> Gate<T> {
    /// A queue's end, which is woken when a closed gate opens.
    pub(crate) fn new(gateway: &Arc<Gateway<T>>, waker: Waker) -> Self {
        let slot = Arc::new(Slot {
            busy: AtomicBool::new(false),
            waker,
        });
        gateway.state().queues.push(Arc::clone(&slot));
        Self {
            gateway: Arc::clone(gateway),
            slot,
            busy: false,
        }
    }

    pub(crate) fn gateway(&self) -> &Arc<Gateway<T>> {
        &self.gateway
    }

    /// Asks to give a request to the legs, for a queue that knows what has this number.
    #[inline]
    pub(crate) fn pass(&mut self, number: u64) -> Pass {
        let closed = if self.busy {
            self.gateway.closed.load(Ordering::Relaxed)
        } else {
            self.enter()
        };
        if closed {
            Pass::Closed
        } else if self.is_newer(number) {
            Pass::Newer
        } else {
            Pass::Open
        }
    }

    /// Whether what is behind the gate is newer than what has this number.
    #[inline]
    pub(crate) fn is_newer(&self, number: u64) -> bool {
        self.gateway.number.load(Ordering::Acquire) != number
    }

    /// Shows that the legs are about to have something of this queue. Whether the gate is closed.
    fn enter(&mut self) -> bool {
        self.busy = true;
        self.slot.busy.store(true, Ordering::SeqCst);
        let closed = self.gateway.closed.load(Ordering::SeqCst);
        if closed {
            self.idle();
        }
        closed
    }

    /// The legs have nothing of this queue any more.
    #[inline]
    pub(crate) fn idle(&mut self) {
        if self.busy {
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.busy = false;
        self.slot.busy.store(false, Ordering::SeqCst);
        if self.gateway.closed.load(Ordering::SeqCst) {
            // Under the lock, so that it is not missed between a look and a wait.
            let _state = self.gateway.state();
            self.gateway.tell_drained();
        }
    }

    /// Looks busy, as in [`Gate::enter`] on a thread that has not finished it.
    #[cfg(test)]
    pub(crate) fn look_busy(&self, busy: bool) {
        self.slot.busy.store(busy, Ordering::SeqCst);
    }
}

impl<T> Drop for Gate<T> {
    fn drop(&mut self) {
        self.idle();
        let mut state = self.gateway.state();
        state.queues.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
        self.gateway.tell_drained();
    }
}

/// A closed gate. Dropping it opens the gate.
///
/// Each thread with a queue must go on polling it for its requests to drain; a thread that has
/// such queues itself asks [`Closed::is_drained`] rather than waiting.
#[must_use = "dropping it opens the gate"]
pub(crate) struct Closed<T> {
    gateway: Arc<Gateway<T>>,
    /// Whether every queue was seen idle.
    drained: AtomicBool,
}

impl<T> Closed<T> {
    /// Closes a gate; `None`: somebody else has.
    pub(crate) fn begin(gateway: &Arc<Gateway<T>>) -> Option<Self> {
        if gateway.closed.swap(true, Ordering::SeqCst) {
            return None;
        }
        Some(Self {
            gateway: Arc::clone(gateway),
            drained: AtomicBool::new(false),
        })
    }

    /// Whether the legs have nothing of any queue any more.
    pub(crate) fn is_drained(&self) -> bool {
        self.saw_drained(&self.gateway.state())
    }

    fn saw_drained(&self, state: &State<T>) -> bool {
        let drained = self.drained.load(Ordering::Relaxed) || state.is_drained();
        self.drained.store(drained, Ordering::Relaxed);
        drained
    }

    /// Waits until that is so, at most for `limit`; whether it is.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.gateway.state();
        while !self.saw_drained(&state) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.gateway.drained.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl<T> Drop for Closed<T> {
    fn drop(&mut self) {
        self.gateway.closed.store(false, Ordering::SeqCst);
        for slot in &self.gateway.state().queues {
            slot.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests;
