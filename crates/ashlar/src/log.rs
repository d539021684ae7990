//! The log of decisions: what a command looked at, left out, chose, locked and wrote, and why.
//!
//! A log belongs to a thread. Whoever runs a command there [`start`]s it, and gets every line until
//! the [`Log`] is dropped: `-v` is [`Level::Verbose`], short; `-d` is [`Level::Debug`], each
//! device, metadata area, write and flush. The threads that a command starts itself say nothing:
//! what they found is said where it is put together. Without a log nothing is formatted, and it
//! costs a look at a variable of the thread.
//!
//! A line is for people; scripts read reports.

use std::cell::RefCell;
use std::collections::HashSet;
use std::marker::PhantomData;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What was decided.
    Verbose,
    /// Each thing that was read, written and flushed, too.
    Debug,
}

/// Where lines go, and of which level each is. It must not log.
pub type Sink = Box<dyn FnMut(Level, &str)>;

struct Active {
    level: Level,
    sink: Sink,
    /// Lines of the scans of one command, which says the same each time that it looks.
    said: HashSet<String>,
}

thread_local! {
    static ACTIVE: RefCell<Option<Active>> = const { RefCell::new(None) };
}

/// A log that is kept; the one before it goes on when this is dropped.
#[must_use = "the log ends when this is dropped"]
pub struct Log {
    before: Option<Active>,
    // It is of the thread that started it.
    _thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Log")
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        ACTIVE.set(self.before.take());
    }
}

/// Gives `sink` the lines of this thread up to `level`.
pub fn start(level: Level, sink: Sink) -> Log {
    let active = Active {
        level,
        sink,
        said: HashSet::new(),
    };
    Log {
        before: ACTIVE.replace(Some(active)),
        _thread: PhantomData,
    }
}

/// Says a decision.
pub fn verbose(line: impl FnOnce() -> String) {
    write(Level::Verbose, false, line);
}

/// Says a detail.
pub fn debug(line: impl FnOnce() -> String) {
    write(Level::Debug, false, line);
}

/// Says a line that this log has not had yet.
pub(crate) fn once(level: Level, line: impl FnOnce() -> String) {
    write(level, true, line);
}

fn write(level: Level, is_once: bool, line: impl FnOnce() -> String) {
    ACTIVE.with_borrow_mut(|active| {
        let Some(active) = active.as_mut().filter(|active| level <= active.level) else {
            return;
        };
        let line = line();
        if is_once && !active.said.insert(line.clone()) {
            return;
        }
        (active.sink)(level, &line);
    });
}

#[cfg(test)]
mod tests;
