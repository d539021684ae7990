//! Notices that somebody wants the demo to end.
//!
//! A signal only sets a flag. The demo looks at it between pieces of work and then ends as after
//! any other failure, so that all it made is unmade.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::Error;

/// Whether the end was asked for. Clones share the answer.
#[derive(Debug, Clone)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Notices signals from now on.
    pub(super) fn watch() -> Result<Self, Error> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&asked))
                .map_err(|error| Error::failed("Cannot wait for signals").because(error))?;
        }
        Ok(Self(asked))
    }

    /// Fails once the end was asked for.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.0.load(Ordering::Relaxed) {
            Err(Error::failed("It was interrupted"))
        } else {
            Ok(())
        }
    }
}
