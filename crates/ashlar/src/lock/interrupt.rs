//! Being told to end while a lock is waited for.
//!
//! Who waits holds nothing yet that has to be put in order, so that it can end at once, and say
//! what it waited for. This crate handles no signals: who does sets [`Interrupt::asked`] from a
//! handler. A command that is not waiting ends by the signal itself, as it always did, for which
//! [`Interrupt::may_die`] tells the two cases apart.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

static INTERRUPT: LazyLock<Interrupt> = LazyLock::new(|| Interrupt {
    asked: Arc::default(),
    may_die: Arc::new(AtomicBool::new(true)),
    waiting: AtomicUsize::new(0),
});

/// What a process knows of signals that ask it to end.
#[derive(Debug)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    may_die: Arc<AtomicBool>,
    waiting: AtomicUsize,
}

impl Interrupt {
    /// That of this process.
    pub fn of_process() -> &'static Self {
        &INTERRUPT
    }

    /// To be set when somebody asks for the end: whoever waits for a lock fails then, and whoever
    /// would have to wait, until it is reset.
    pub fn asked(&self) -> &Arc<AtomicBool> {
        &self.asked
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Whether nobody waits for a lock: then a signal may do what it does by default.
    pub fn may_die(&self) -> &Arc<AtomicBool> {
        &self.may_die
    }
}

/// A wait for a lock, from the first time it was not to be had.
#[derive(Debug)]
#[must_use = "it is over when this is dropped"]
pub(super) struct Waiting(&'static Interrupt);

impl Waiting {
    pub(super) fn begin() -> Self {
        let interrupt = Interrupt::of_process();
        interrupt.waiting.fetch_add(1, Ordering::SeqCst);
        interrupt.may_die.store(false, Ordering::SeqCst);
        Self(interrupt)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let before = self.0.waiting.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "who stops waiting has waited");
        if before == 1 {
            self.0.may_die.store(true, Ordering::SeqCst);
        }
    }
}
