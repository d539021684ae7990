//! Mistakes that can be made on purpose, to see that they are found.
//!
//! Most break a rule of order between the machine and its disks, or between it and its description
//! (`world.rs`); some make it believe what is not so (`run.rs`). Nothing of the machine knows about
//! any of them.

use std::cell::Cell;
use std::rc::Rc;

use block::{Operation, Request};

use crate::explore::{Mischief, Sabotage, Saboteur};

/// Where the log has its record of images in sync, and where its bits begin.
const RECORD_AT: u64 = 512;
const BITS_AT: u64 = 1024;

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeededFault {
    /// The log is written, but not durably.
    LogNotFlushed,
    /// Writes do not wait for the log.
    WriteBeforeMark,
    /// Regions are called clean without a flush of the legs.
    CleanWithoutFlush,
    /// The record of legs out of sync is not looked at.
    RecordIgnored,
    /// Regions are copied from the leg that missed writes.
    CopyFromOutdated,
    /// Requests are answered before the leg that missed them is on record.
    AnswerBeforeRecord,
    /// Requests are answered before the metadata name another leg first.
    AnswerBeforeTold,
    /// A mirror of another size goes on before the log speaks of it.
    ResizedUnclaimed,
    /// What was the last region, and not whole, is taken to be in sync in a larger mirror.
    TailBelieved,
    /// A read that needs no home goes to another leg than it should.
    ReadElsewhere,
    /// A write that needs no home does not hold its regions.
    WriteUnheld,
    /// A suspension does not wait for requests that need no home.
    SuspendedEarly,
}

impl SeededFault {
    /// All of them, with the names they are called by.
    pub const ALL: &[(&str, Self)] = &[
        ("log-not-flushed", Self::LogNotFlushed),
        ("write-before-mark", Self::WriteBeforeMark),
        ("clean-without-flush", Self::CleanWithoutFlush),
        ("record-ignored", Self::RecordIgnored),
        ("copy-from-outdated", Self::CopyFromOutdated),
        ("answer-before-record", Self::AnswerBeforeRecord),
        ("answer-before-told", Self::AnswerBeforeTold),
        ("resized-unclaimed", Self::ResizedUnclaimed),
        ("tail-believed", Self::TailBelieved),
        ("read-elsewhere", Self::ReadElsewhere),
        ("write-unheld", Self::WriteUnheld),
        ("suspended-early", Self::SuspendedEarly),
    ];

    /// What becomes of a request to a leg.
    fn sabotage(self, leg: usize, request: &Request, activity: &Activity) -> Option<Sabotage> {
        let is_log = activity.log == Some(leg);
        let is_write = request.operation.is_write();
        let start = request.range.start();
        match self {
            Self::LogNotFlushed if is_log && is_write => Some(Sabotage::Volatile),
            Self::WriteBeforeMark if is_log && is_write && start >= BITS_AT => {
                Some(Sabotage::Early)
            }
            Self::AnswerBeforeRecord if is_log && is_write && start == RECORD_AT => {
                Some(Sabotage::Early)
            }
            Self::CleanWithoutFlush
                if request.operation == Operation::Flush && activity.flushes.get() == 0 =>
            {
                Some(Sabotage::Skipped)
            }
            Self::CopyFromOutdated
                if request.operation == Operation::Read && activity.reads.get() == 0 && !is_log =>
            {
                activity.outdated.get().map(Sabotage::Elsewhere)
            }
            _ => None,
        }
    }

    /// What is done wrong with requests that need no home.
    pub(super) fn mischief(self) -> Option<Mischief> {
        match self {
            Self::ReadElsewhere => Some(Mischief::Misrouted(|leg| usize::from(leg == 0))),
            Self::WriteUnheld => Some(Mischief::HoldDropped),
            Self::SuspendedEarly => Some(Mischief::Hasty),
            _ => None,
        }
    }
}

/// What goes on at the moment.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// The log's place among the legs.
    pub(super) log: Option<usize>,
    /// Flushes and reads of users.
    pub(super) flushes: Cell<u32>,
    pub(super) reads: Cell<u32>,
    /// A leg that missed writes and is still asked.
    pub(super) outdated: Cell<Option<usize>>,
}

/// Makes the mistake of a history, if it is one between the mirror and its disks.
pub(super) fn saboteur(fault: Option<SeededFault>, activity: &Rc<Activity>) -> Saboteur {
    let Some(fault) = fault else {
        return Saboteur::none();
    };
    let activity = Rc::clone(activity);
    Saboteur::new(move |leg, request| fault.sabotage(leg, request, &activity))
}
