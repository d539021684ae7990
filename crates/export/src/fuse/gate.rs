//! Keeps writes that are cut to whole blocks apart from their neighbours.
//!
//! A write that does not begin and end on a block reads the block, changes a part, and writes it
//! back. A second write to the same block in between would be lost. So every write announces the
//! blocks it touches, and a partial write shares its blocks with nobody. Whole-block writes may
//! overlap each other: nobody promises their order.
//!
//! The list is short (as long as the writes in flight), and the lock is held for one walk over
//! it. Who has to wait keeps its own request and tries again when it is woken.

use std::sync::{Mutex, PoisonError};

use block::{Range, Waker};

/// How a write treats the blocks it touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Overwrites whole blocks.
    Whole,
    /// Changes a part of its first or last block.
    Partial,
}

#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Writes under way, with ranges of whole blocks.
    held: Vec<(Range, Claim)>,
    /// Threads that were sent away since the last release.
    waiting: Vec<Waker>,
}

impl Gate {
    /// Claims `range` (whole blocks). If it has to wait, `waker` is woken after a release.
    pub(crate) fn enter(&self, range: Range, claim: Claim, waker: &Waker) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let blocked = state.held.iter().any(|&(held, other)| {
            (claim == Claim::Partial || other == Claim::Partial)
                && held.intersection(range).is_some()
        });
        if blocked {
            state.waiting.push(waker.clone());
        } else {
            state.held.push((range, claim));
        }
        if cfg!(debug_assertions) {
            state.check();
        }
        !blocked
    }

    /// Gives up what [`Gate::enter`] granted.
    pub(crate) fn leave(&self, range: Range, claim: Claim) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let held = state.held.iter().position(|&entry| entry == (range, claim));
        state
            .held
            .swap_remove(held.expect("only a granted claim is given up"));
        for waker in state.waiting.drain(..) {
            waker.wake();
        }
        if cfg!(debug_assertions) {
            state.check();
        }
    }
}

impl State {
    /// Panics unless every partial write has its blocks to itself.
    fn check(&self) {
        for (at, &(range, claim)) in self.held.iter().enumerate() {
            for &(other, others) in &self.held[..at] {
                let shared = range.intersection(other).is_some();
                let alone = claim == Claim::Partial || others == Claim::Partial;
                assert!(!(shared && alone), "a partial write shares no block");
            }
        }
        if self.held.is_empty() {
            assert!(self.waiting.is_empty(), "nobody waits at an open gate");
        }
    }
}

#[cfg(test)]
mod tests;
