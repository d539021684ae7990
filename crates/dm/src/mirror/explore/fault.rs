//! Mistakes that can be made on purpose, to see that they are found.

use crate::explore::Mischief;

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
