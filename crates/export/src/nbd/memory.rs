//! The memory of all clients of a server together.
//!
//! ```text
//!   [ 2 MiB of each client ][ what is shared: taken ██████░░░░░░░░░░░░ left ]
//! ```
//!
//! A client always gets a little, so that nobody keeps it from requests of the usual sizes. What it
//! needs beyond that it takes from what they share, as long as it has at most a quarter of what
//! would be left without it: the first ones get what they ask for, and the more is taken, the less
//! goes to each. Nobody stands in line, and nobody is thrown out: who is refused asks again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What every client may have, in bytes. Linux's client sends requests of 1.25 MiB at most, unless
/// it is told otherwise.
pub(super) const OWN: usize = 2 << 20;
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

    /// Takes what is missing for a use of `bytes` in all; whether that was there. Gives back what
    /// is more than that, where others may need it.
    pub(super) fn ask(&mut self, bytes: usize) -> bool {
        let wanted = bytes.saturating_sub(OWN);
        if wanted <= self.taken {
            if wanted < self.taken && self.shared.is_scarce() {
                self.give_back(self.taken - wanted);
            }
            return true;
        }
        let more = wanted - self.taken;
        let take = |left: usize| (wanted <= (left + self.taken) / PART).then(|| left - more);
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = self.shared.left.fetch_update(success, failure, take);
        if taken.is_ok() {
            self.taken = wanted;
        }
        taken.is_ok()
    }

    fn give_back(&mut self, bytes: usize) {
        self.taken -= bytes;
        let left = self.shared.left.fetch_add(bytes, Ordering::Relaxed) + bytes;
        debug_assert!(
            left <= self.shared.size,
            "no more comes back than was there"
        );
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests;
