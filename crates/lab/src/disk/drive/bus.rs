//! The bus: one transfer at a time, of one disk or of several that share it.
//!
//! A drive knows when a transfer could begin as soon as it takes a command up, which may be long
//! before: the head has to get there first. So the bus is a calendar. A transfer takes the first
//! gap that is long enough, not before its time, and the others keep theirs. Among disks that want
//! the bus at the same time the one that took its command up first has it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// A bus that several drives share; clones are the same bus.
///
/// The drives must be driven by one loop in the order of their times, or the result depends on
/// which of them asks first.
#[derive(Debug, Clone, Default)]
pub struct SharedBus(Arc<Mutex<Calendar>>);

/// The bus of a drive.
#[derive(Debug, Clone)]
pub(super) enum Link {
    Own(Calendar),
    Shared(SharedBus),
}

/// When the bus is taken: disjoint, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Calendar {
    taken: VecDeque<(u64, u64)>,
}

impl SharedBus {
    /// A bus that nobody uses yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Link {
    /// Takes the bus for `length_ns`, not before `earliest_ns`; when it begins. What ended before
    /// `now_ns` is forgotten.
    pub(super) fn take(&mut self, now_ns: u64, earliest_ns: u64, length_ns: u64) -> u64 {
        match self {
            Self::Own(calendar) => calendar.take(now_ns, earliest_ns, length_ns),
            Self::Shared(bus) => {
                let mut calendar = bus.0.lock().unwrap_or_else(PoisonError::into_inner);
                calendar.take(now_ns, earliest_ns, length_ns)
            }
        }
    }
}

impl Calendar {
    fn take(&mut self, now_ns: u64, earliest_ns: u64, length_ns: u64) -> u64 {
        while self.taken.front().is_some_and(|&(_, end)| end <= now_ns) {
            self.taken.pop_front();
        }
        if length_ns == 0 {
            return earliest_ns;
        }
        let mut start = earliest_ns;
        let mut at = 0;
        for &(begin, end) in &self.taken {
            if begin >= start + length_ns {
                break;
            }
            start = start.max(end);
            at += 1;
        }
        self.taken.insert(at, (start, start + length_ns));
        start
    }
}

#[cfg(test)]
mod tests;
