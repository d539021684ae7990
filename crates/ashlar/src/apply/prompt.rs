//! Who is asked and told while a change is made.

use lvm2::plan::Message;

use crate::scan::Scan;

/// What people say to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Yes,
    /// Do not.
    No,
}

/// Whoever started the change: asked before what cannot be undone, and told what is done.
pub trait Prompt {
    /// Asks a question that ends with `[y/n]: `.
    fn ask(&mut self, question: &str) -> Answer;

    /// Asks whether a signature may be wiped: `-f` is an answer to that, too.
    fn ask_to_wipe(&mut self, question: &str) -> Answer {
        self.ask(question)
    }

    /// Tells something.
    fn tell(&mut self, message: &Message);

    /// Tells, if that is wanted, what was found on the disks that the change is made of.
    fn found(&mut self, _scan: &Scan) {}
}

/// Nobody: every question has the same answer, and what is told is kept.
#[derive(Debug, Clone)]
pub struct Quiet {
    /// The answer to all questions.
    pub answer: Answer,
    /// What was told.
    pub messages: Vec<Message>,
}

impl Quiet {
    /// Answers yes to everything (`-y`).
    pub fn yes() -> Self {
        Self {
            answer: Answer::Yes,
            messages: Vec::new(),
        }
    }
}

impl Prompt for Quiet {
    fn ask(&mut self, _question: &str) -> Answer {
        self.answer
    }

    fn tell(&mut self, message: &Message) {
        self.messages.push(message.clone());
    }
}
