//! Exchanging the table of a volume in use.
//!
//! Queues do not take a lock per request. Each has a slot that says whether it has requests at the
//! devices; it sets `busy` when it gets its first one and then looks at `hold`, while whoever
//! suspends sets `hold` and then looks at each `busy` (both sequentially consistent, so one of the
//! two sees the other). A queue that sees `hold` keeps its requests until it is released.
//!
//! ```text
//!   suspend()    hold = true; new requests wait in their queues
//!   drained      every busy is false: the devices have nothing of this volume
//!   (the caller makes its metadata durable)
//!   publish(t)   the new generation is current; hold = false; all queues are woken
//! ```
//!
//! A queue that was seen idle after `hold` was set gives the devices nothing any more: it may set
//! `busy` for a moment, sees `hold`, and takes it back. So drained once is drained until the
//! release, whatever `busy` says meanwhile.
//!
//! Lock order: `state` is the only lock, and nothing is called under it but wakers.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use block::Waker;

use super::generation::Generation;
use super::volume_device::Access;
use crate::table::Table;
use crate::{Error, Kind, Result};

/// What the queues of a volume share.
pub(super) struct Shared {
    pub(super) name: String,
    access: Access,
    /// The number of the current generation.
    number: AtomicU64,
    /// Whether requests are held.
    hold: AtomicBool,
    state: Mutex<State>,
    /// Signalled when a queue's last request is answered while requests are held.
    drained: Condvar,
    kept: Option<Arc<dyn Any + Send + Sync>>,
}

struct State {
    current: Arc<Generation>,
    queues: Vec<Arc<Slot>>,
}

/// What a queue shows to whoever suspends.
struct Slot {
    busy: AtomicBool,
    waker: Waker,
}

/// A queue's own end of its slot.
pub(super) struct Gate {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
    busy: bool,
}

/// What a queue finds at its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Go on with the generation you have.
    Open,
    /// Go on, with a newer generation.
    Newer,
    /// Hold the request.
    Held,
}

impl Shared {
    pub(super) fn new(name: String, access: Access, first: Generation) -> Self {
        Self {
            name,
            access,
            number: AtomicU64::new(first.number),
            hold: AtomicBool::new(false),
            state: Mutex::new(State {
                current: Arc::new(first),
                queues: Vec::new(),
            }),
            drained: Condvar::new(),
            kept: None,
        }
    }

    pub(super) fn keep(&mut self, kept: Arc<dyn Any + Send + Sync>) {
        assert!(self.kept.is_none(), "one thing is kept");
        self.kept = Some(kept);
    }

    pub(super) fn current(&self) -> Arc<Generation> {
        Arc::clone(&self.state().current)
    }

    /// Makes `table` the current one if `admit` lets it follow the one before.
    pub(super) fn publish(
        &self,
        table: Table,
        admit: impl FnOnce(&Generation, &Table) -> Result<()>,
    ) -> Result<()> {
        let mut state = self.state();
        let before = &state.current;
        admit(before, &table)?;
        let number = before.number + 1;
        let next = Generation::new(number, &self.name, self.access, table, &before.legs);
        state.current = Arc::new(next);
        self.number.store(number, Ordering::SeqCst);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_drained(&self) -> bool {
        let busy = |slot: &Arc<Slot>| slot.busy.load(Ordering::SeqCst);
        !self.queues.iter().any(busy)
    }
}

impl Gate {
    pub(super) fn open(shared: &Arc<Shared>, waker: Waker) -> Self {
        let slot = Arc::new(Slot {
            busy: AtomicBool::new(false),
            waker,
        });
        shared.state().queues.push(Arc::clone(&slot));
        Self {
            shared: Arc::clone(shared),
            slot,
            busy: false,
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Asks to give a request to the devices, for a queue whose generation is `number`.
    #[inline]
    pub(super) fn pass(&mut self, number: u64) -> Pass {
        let held = if self.busy {
            self.shared.hold.load(Ordering::Relaxed)
        } else {
            self.enter()
        };
        if held {
            Pass::Held
        } else if self.shared.number.load(Ordering::Acquire) == number {
            Pass::Open
        } else {
            Pass::Newer
        }
    }

    /// Shows that the devices are about to have something of this queue. Whether it is held.
    fn enter(&mut self) -> bool {
        self.busy = true;
        self.slot.busy.store(true, Ordering::SeqCst);
        let held = self.shared.hold.load(Ordering::SeqCst);
        if held {
            self.idle();
        }
        held
    }

    /// The devices have nothing of this queue any more.
    #[inline]
    pub(super) fn idle(&mut self) {
        if self.busy {
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.busy = false;
        self.slot.busy.store(false, Ordering::SeqCst);
        if self.shared.hold.load(Ordering::SeqCst) {
            // Under the lock, so that it is not missed between a look and a wait.
            let _state = self.shared.state();
            self.shared.drained.notify_all();
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.idle();
        let mut state = self.shared.state();
        state.queues.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
        self.shared.drained.notify_all();
    }
}

/// A volume that gives no new requests to its devices. Dropping it resumes with the table as it
/// is; [`Suspension::publish`] resumes with a new one.
///
/// Each thread with a queue must go on polling it for its requests to drain; a thread that has
/// queues of the volume itself polls [`Suspension::is_drained`] rather than waiting.
#[must_use = "dropping a suspension resumes the volume"]
pub struct Suspension {
    shared: Arc<Shared>,
    /// Whether every queue was seen idle.
    drained: AtomicBool,
}

impl Suspension {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self> {
        if shared.hold.swap(true, Ordering::SeqCst) {
            let what = format!("{} is being suspended by somebody else", shared.name);
            return Err(Error::new(Kind::Busy, what));
        }
        Ok(Self {
            shared: Arc::clone(shared),
            drained: AtomicBool::new(false),
        })
    }

    /// Whether the devices have nothing of this volume any more.
    pub fn is_drained(&self) -> bool {
        self.saw_drained(&self.shared.state())
    }

    fn saw_drained(&self, state: &State) -> bool {
        let drained = self.drained.load(Ordering::Relaxed) || state.is_drained();
        self.drained.store(drained, Ordering::Relaxed);
        drained
    }

    /// Waits until the devices have nothing of this volume any more, at most for `limit`.
    pub fn wait(&self, limit: Duration) -> Result<()> {
        let until = Instant::now() + limit;
        let mut state = self.shared.state();
        while !self.saw_drained(&state) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let what = format!(
                    "requests of {} were not answered within {limit:?}; it goes on as it was",
                    self.shared.name
                );
                return Err(Error::new(Kind::TimedOut, what));
            }
            let waited = self.shared.drained.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Resumes with `table`, which may say anything. Refused while requests are in flight.
    pub fn publish(self, table: Table) -> Result<()> {
        if !self.is_drained() {
            let what = format!("{} still has requests in flight", self.shared.name);
            return Err(Error::new(Kind::Busy, what));
        }
        self.shared.publish(table, |_, _| Ok(()))
    }
}

impl Drop for Suspension {
    fn drop(&mut self) {
        self.shared.hold.store(false, Ordering::SeqCst);
        for slot in &self.shared.state().queues {
            slot.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests;
