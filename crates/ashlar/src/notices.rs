//! What devices tell by themselves, while nobody waits for them: an array loses a leg.
//!
//! An array of md's lies below groups, and may be below several: no group's owner is the one to be
//! told. So a process has one listener, [`hear`]; what came before it is kept for it, the newest
//! lines, and without one nobody is told. The library prints nothing.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Who is told: a sentence for people. It is called on the thread of a device, and must not wait.
pub type Listener = Box<dyn FnMut(&str) + Send>;

/// Lines that are kept until somebody listens.
const KEPT_MAX: usize = 64;

static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

static STATE: Mutex<State> = Mutex::new(State {
    listener: None,
    kept: VecDeque::new(),
});

struct State {
    listener: Option<Listener>,
    kept: VecDeque<String>,
}

/// Gives `listener` what devices tell from now on, and what was told before.
pub fn hear(mut listener: Listener) {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    for line in state.kept.drain(..) {
        listener(&line);
    }
    state.listener = Some(listener);
}

/// Tells whoever listens.
pub(crate) fn tell(line: &str) {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(listener) = &mut state.listener {
        listener(line);
        return;
    }
    if state.kept.len() == KEPT_MAX {
        state.kept.pop_front();
    }
    state.kept.push_back(line.to_owned());
    assert!(state.kept.len() <= KEPT_MAX, "the newest are kept");
}

/// Tells what holds as long as the process runs, and is seen again and again.
pub(crate) fn tell_once(line: &str) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert(line.to_owned()) {
        tell(line);
    }
}

#[cfg(test)]
mod tests;
