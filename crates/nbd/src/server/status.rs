//! Block status, asked beside the connection's thread: looking up extents may block for as long
//! as the file system needs, and reads and writes of the same connection should not wait for it.
//!
//! The thread is started by the first question and ends with the connection. Questions are
//! answered in order; how many wait is bounded by the connection's limit of requests.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::wire::StatusExtent;
use block::{Device, Range, Waker};

use super::contexts::Chosen;
use block::{Error, Kind, Result};

/// Extents in one reply: 64 KiB of them in extended form.
const EXTENT_COUNT_MAX: usize = 4096;

/// What the longest answer of one context takes in memory, in bytes.
pub(super) const ANSWER_MAX: usize = EXTENT_COUNT_MAX * size_of::<StatusExtent>();

/// How many extents a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Just the first.
    One,
    /// As many as fit.
    Many,
}

/// What a context says: its number, and the extents from the start of the range.
pub(super) type Told = (u32, Vec<StatusExtent>);

/// An answer: the request's tag, and what each context says.
pub(super) type Answer = (u64, Result<Vec<Told>>);

/// The thread that asks, and its answers.
pub(super) struct StatusWorker {
    questions: Option<Sender<(u64, Range, Wanted)>>,
    answers: Arc<Mutex<Vec<Answer>>>,
    thread: Option<JoinHandle<()>>,
    waiting: usize,
}

impl StatusWorker {
    /// Starts the thread, which asks these contexts; `waker` is used after each answer.
    pub(super) fn start(
        device: Arc<dyn Device>,
        contexts: Vec<Chosen>,
        waker: Waker,
    ) -> Result<Self> {
        let (questions, queue) = channel::<(u64, Range, Wanted)>();
        let answers = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&answers);
        let run = move || {
            for (tag, range, wanted) in queue {
                let count_max = match wanted {
                    Wanted::One => 1,
                    Wanted::Many => EXTENT_COUNT_MAX,
                };
                let told = contexts.iter().map(|context| {
                    let extents = context.extents(&*device, range, count_max)?;
                    Ok((context.id, extents))
                });
                let answer = told.collect::<Result<Vec<Told>>>();
                let mut answers = shared.lock().unwrap_or_else(PoisonError::into_inner);
                answers.push((tag, answer));
                drop(answers);
                waker.wake();
            }
        };
        let thread = std::thread::Builder::new()
            .name("nbd-status".to_owned())
            .spawn(run)
            .map_err(|error| Error::io("cannot start a thread", error))?;
        Ok(Self {
            questions: Some(questions),
            answers,
            thread: Some(thread),
            waiting: 0,
        })
    }

    /// Asks.
    pub(super) fn ask(&mut self, tag: u64, range: Range, wanted: Wanted) {
        self.waiting += 1;
        if let Some(questions) = &self.questions {
            // It fails only if the thread panicked; `take` will tell.
            let _ = questions.send((tag, range, wanted));
        }
    }

    /// Appends the answers that are there.
    pub(super) fn take(&mut self, done: &mut Vec<Answer>) -> Result<()> {
        let before = done.len();
        done.append(&mut self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        self.waiting -= done.len() - before;
        let ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        if ended && self.waiting > 0 {
            return Err(Error::new(Kind::Io, "the device panicked over its extents"));
        }
        Ok(())
    }

    /// How many questions have no answer yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }
}

impl Drop for StatusWorker {
    fn drop(&mut self) {
        self.questions = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
