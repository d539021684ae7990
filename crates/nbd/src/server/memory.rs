//! The memory of all clients of a server together.
//!
//! ```text
//!   [ 4 MiB of each client ][ what is shared: taken ██████░░░░░░░░░░░░ left ]
//! ```
//!
//! A client always gets a little, so that nobody keeps it from requests of the usual sizes. What it
//! needs beyond that it takes from what they share, as long as it has at most a quarter of what
//! would be left without it: the first ones get what they ask for, and the more is taken, the less
//! goes to each, also to the first ones. Nobody stands in line, and nobody is thrown out: who is
//! refused asks again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What every client may have, in bytes: the longest request that Linux makes of its own accord.
pub(super) const OWN: usize = 4 << 20;
/// A client has at most this part of what is left without it.
const PART: usize = 4;

/// What clients share.
#[derive(Debug)]
pub(super) struct Shared {
    size: usize,
    left: AtomicUsize,
}

/// What one client has.
#[derive(Debug)]
pub(super) struct Share {
    shared: Arc<Shared>,
    taken: usize,
}

impl Shared {
    /// This many bytes.
    pub(super) fn new(size: usize) -> Arc<Self> {
        Arc::new(Self {
            size,
            left: AtomicUsize::new(size),
        })
    }

    /// Whether so much is taken that nobody should keep what he does not use.
    fn is_scarce(&self) -> bool {
        self.left.load(Ordering::Relaxed) < self.size / 2
    }
}

impl Share {
    /// Nothing yet but what every client has.
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            taken: 0,
        }
    }

    /// How many bytes this client may use.
    pub(super) fn size(&self) -> usize {
        OWN + self.taken
    }

    /// Takes what is missing for `more` bytes beside the `held` ones; whether that is there. Where
    /// it is scarce, gives back what is not used, and refuses the ones that have most: else those
    /// who came first would go on, and who came later would get nothing.
    pub(super) fn ask(&mut self, held: usize, more: usize) -> bool {
        let beyond = |bytes: usize| bytes.saturating_sub(OWN);
        let (used, wanted, mine) = (beyond(held), beyond(held + more), self.taken);
        let is_scarce = self.shared.is_scarce();
        if wanted <= mine && (mine == 0 || !is_scarce) {
            return true;
        }
        let mut is_granted = false;
        let divide = |left: usize| {
            is_granted = wanted == 0 || wanted <= (left + mine) / PART;
            self.taken = match is_granted {
                true => wanted,
                false if is_scarce => used.min(mine),
                false => mine,
            };
            Some(left + mine - self.taken)
        };
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let divided = self.shared.left.fetch_update(success, failure, divide);
        debug_assert!(divided.is_ok(), "it is always divided somehow");
        is_granted
    }

    /// Gives back what is not used beside the `held` bytes, unless nobody else has any.
    pub(super) fn settle(&mut self, held: usize) {
        let used = held.saturating_sub(OWN).min(self.taken);
        let left = self.shared.left.load(Ordering::Relaxed);
        if used < self.taken && left + self.taken < self.shared.size {
            let unused = self.taken - used;
            self.shared.left.fetch_add(unused, Ordering::Relaxed);
            self.taken = used;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let left = self.shared.left.fetch_add(self.taken, Ordering::Relaxed) + self.taken;
        debug_assert!(
            left <= self.shared.size,
            "no more comes back than was there"
        );
    }
}

#[cfg(test)]
mod tests;
