//! Signals that end a copy between two pieces, so that what is there can be gone on with.
//!
//! The first signal is noticed, the second one ends the program as if nobody noticed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::args::Error;

/// What a shell adds to the number of a signal that ended a program.
const ENDED_BY: u8 = 128;

/// Signals that are noticed until this is dropped.
pub(in crate::commands) struct Signals {
    is_asked: Arc<AtomicBool>,
    which: Arc<AtomicUsize>,
}

impl Signals {
    /// Notices signals from now on.
    pub(in crate::commands) fn watch() -> Result<Self, Error> {
        let signals = Self {
            is_asked: Arc::default(),
            which: Arc::default(),
        };
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            // In this order: the first signal finds that nothing was asked yet.
            let (asked, which) = (&signals.is_asked, &signals.which);
            flag::register_conditional_default(signal, Arc::clone(asked))
                .and_then(|_| flag::register_usize(signal, Arc::clone(which), signal as usize))
                .and_then(|_| flag::register(signal, Arc::clone(asked)))
                .map_err(|error| Error::failed("Cannot wait for signals").because(error))?;
        }
        Ok(signals)
    }

    /// Ends what is done if a signal came.
    pub(in crate::commands) fn check(&self) -> Result<(), Error> {
        if !self.is_asked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let signal = u8::try_from(self.which.load(Ordering::Relaxed)).unwrap_or_default();
        Err(Error::ended(ENDED_BY + signal))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // From now on they end the program again.
        self.is_asked.store(true, Ordering::Relaxed);
    }
}
