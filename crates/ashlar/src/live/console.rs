//! Where a command's lines go, and where answers to its questions come from: a terminal, or the
//! client of the process that runs it.

use std::io;

use crate::apply::Answer;

/// One of the two streams that a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Results.
    Out,
    /// Warnings, errors and questions.
    Err,
}

/// Whoever is at the other end of a command.
pub trait Console {
    /// Shows text as it is.
    fn write(&mut self, stream: Stream, text: &str) -> io::Result<()>;

    /// Shows a question, which ends where the answer begins, and waits for it. Whoever cannot
    /// answer any more says no.
    fn ask(&mut self, question: &str) -> Answer;
}
