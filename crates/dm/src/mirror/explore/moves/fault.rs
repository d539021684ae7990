//! Mistakes that can be made on purpose, to see that they are found.
//!
//! Some break the order in which the parts of a move are made (`change.rs`), others are made
//! between the machine and its disks; nothing of the machine knows about any of them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use block::{Operation, Request};

use super::shape::TARGET;
use crate::explore::{Mischief, Sabotage, Saboteur};

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeededFault {
    /// A piece counts as moved though the target was not flushed.
    TargetNotFlushed,
    /// A piece is called moved as soon as it is copied, and not finished.
    NotFinished,
    /// A piece is called moved though the machine said that it is not whole.
    RefusalIgnored,
    /// What users write while a piece is copied goes to the source alone.
    TargetNotWritten,
    /// The same, of what needs no home.
    TargetNotWrittenDirectly,
    /// What is not copied is read from the target, by what needs no home.
    TargetReadEarly,
    /// After a cut a piece that was copied is taken from the target, though it is not called moved.
    TargetBelieved,
    /// The source is given to others before it is durable that the piece is moved.
    SourceReusedEarly,
    /// An aborted move leaves the piece that was being copied on the target.
    AbortedOnTarget,
}

impl SeededFault {
    /// All of them, with the names they are called by.
    pub const ALL: &[(&str, Self)] = &[
        ("target-not-flushed", Self::TargetNotFlushed),
        ("not-finished", Self::NotFinished),
        ("refusal-ignored", Self::RefusalIgnored),
        ("target-not-written", Self::TargetNotWritten),
        (
            "target-not-written-directly",
            Self::TargetNotWrittenDirectly,
        ),
        ("target-read-early", Self::TargetReadEarly),
        ("target-believed", Self::TargetBelieved),
        ("source-reused-early", Self::SourceReusedEarly),
        ("aborted-on-target", Self::AbortedOnTarget),
    ];

    /// What is done wrong with requests that need no home.
    pub(super) fn mischief(self) -> Option<Mischief> {
        match self {
            Self::TargetNotWrittenDirectly => Some(Mischief::Forced { face: 0, leg: 0 }),
            Self::TargetReadEarly => Some(Mischief::Misrouted(|_| TARGET)),
            _ => None,
        }
    }

    /// What becomes of a request to a leg.
    fn sabotage(self, leg: usize, request: &Request, activity: &Activity) -> Option<Sabotage> {
        let is_skipped = match self {
            Self::TargetNotFlushed => {
                let is_flush = request.operation == Operation::Flush;
                leg == TARGET && is_flush && activity.finishing.get()
            }
            Self::TargetNotWritten => {
                let is_write = request.operation == Operation::Write;
                leg == TARGET && is_write && activity.is_of_users(request)
            }
            _ => false,
        };
        is_skipped.then_some(Sabotage::Skipped)
    }
}

/// What goes on at the moment.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// The machine makes a piece durable, and nobody else asks anything.
    pub(super) finishing: Cell<bool>,
    /// What users write to the piece that is being copied, and where.
    pub(super) writes: RefCell<Vec<(u64, Vec<u8>)>>,
}

impl Activity {
    /// Whether that is what users write. What is copied there meanwhile is older.
    fn is_of_users(&self, request: &Request) -> bool {
        let is_it = |(start, bytes): &(u64, Vec<u8>)| {
            *start == request.range.start() && bytes[..] == request.buffer[..]
        };
        self.writes.borrow().iter().any(is_it)
    }
}

/// Makes the mistake of a history.
pub(super) fn saboteur(fault: Option<SeededFault>, activity: &Rc<Activity>) -> Saboteur {
    let Some(fault) = fault else {
        return Saboteur::none();
    };
    let activity = Rc::clone(activity);
    Saboteur::new(move |leg, request| fault.sabotage(leg, request, &activity))
}
