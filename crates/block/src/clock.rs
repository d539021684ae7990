//! Time as a parameter: the machine's own, or one that stands still until it is moved.
//!
//! With virtual time a simulated disk that takes hours is done in seconds, and every run is the
//! same to the nanosecond. Virtual time knows the deadlines of all that waits on it, and
//! [`Clock::jump`] moves it to the earliest one, never past it. Clones share the time.
//!
//! Times are integer nanoseconds since the clock began; they end after 584 years.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where the time comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's monotonic clock, since this moment.
    Real(Instant),
    /// A time that only moves when it is told to.
    Virtual(VirtualTime),
}

/// A time that only moves when it is told to, and what waits for it.
#[derive(Debug, Clone, Default)]
pub struct VirtualTime {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    now_ns: u64,
    /// How many wait for each moment.
    deadlines: BTreeMap<u64, usize>,
}

impl Clock {
    /// The machine's clock, which begins now.
    pub fn real() -> Self {
        Self::Real(Instant::now())
    }

    /// A virtual clock at 0.
    pub fn virtual_time() -> Self {
        Self::Virtual(VirtualTime::default())
    }

    /// Nanoseconds since the clock began.
    pub fn now_ns(&self) -> u64 {
        match self {
            Self::Real(origin) => u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX),
            Self::Virtual(time) => time.state().now_ns,
        }
    }

    /// The time since the clock began.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns())
    }

    /// Notes that somebody waits until `at_ns`. Real time does not need to know.
    pub fn expect(&self, at_ns: u64) {
        if let Self::Virtual(time) = self {
            *time.state().deadlines.entry(at_ns).or_default() += 1;
        }
    }

    /// Takes back one [`Clock::expect`] of the same moment.
    pub fn forget(&self, at_ns: u64) {
        let Self::Virtual(time) = self else { return };
        let mut state = time.state();
        let count = state
            .deadlines
            .get_mut(&at_ns)
            .expect("what is forgotten was expected");
        assert!(*count > 0, "what is expected is counted");
        *count -= 1;
        if *count == 0 {
            state.deadlines.remove(&at_ns);
        }
    }

    /// Moves virtual time to the earliest moment that somebody waits for; the time it is then.
    pub fn jump(&self) -> u64 {
        if let Self::Virtual(time) = self {
            let mut state = time.state();
            if let Some(first) = state.deadlines.keys().next().copied() {
                state.now_ns = state.now_ns.max(first);
            }
        }
        self.now_ns()
    }

    /// Moves virtual time to `at_ns`, unless that is past. Real time moves by itself.
    pub fn advance_to(&self, at_ns: u64) {
        if let Self::Virtual(time) = self {
            let mut state = time.state();
            state.now_ns = state.now_ns.max(at_ns);
        }
    }
}

impl VirtualTime {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
