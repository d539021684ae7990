//! Mistakes that can be made on purpose, to see that they are found.
//!
//! Each breaks a rule of order, between the machine and its disks: nothing of the machine knows
//! about it. What users ask is passed to disks in places that cannot be told from the machine's own
//! requests; so mistakes about these are made only while no user asks for such a thing.

use std::cell::Cell;
use std::rc::Rc;

use block::{Operation, Request};

use super::shape::{Place, Shape, Subject};
use crate::explore::{Mischief, Sabotage, Saboteur};

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeededFault {
    /// Entries are written, but not durably.
    AreaNotDurable,
    /// Entries are written before what they point at is durable.
    DataNotFlushed,
    /// What is copied is not waited for.
    CopyNotAwaited,
    /// The area behind a full one is not zeroed.
    NextAreaNotZeroed,
    /// The header is written before the first area is zeroed.
    HeaderBeforeArea,
    /// Entries are written before the header, which says that there are any.
    HeaderNotAwaited,
    /// The origin is written before the entries of what was copied.
    WriteBeforeEntry,
    /// An overflow is not told to the store before the origin is written.
    OverflowNotMarked,
    /// What a killed process may have left in caches is not written once more.
    CachedNotMended,
    /// A merge does not flush the origin before it clears entries.
    MergeNotFlushed,
    /// A merge clears entries before the origin is written.
    MergeNotAwaited,
    /// A merge clears entries, but not durably, before the origin is written again.
    ClearNotDurable,
    /// A read of a snapshot that needs no home does not hold what it reads from the origin.
    ReadUnheld,
    /// A write to the origin goes there without the home, whatever the snapshots need.
    WriteUnfree,
    /// A suspension does not wait for requests that need no home.
    SuspendedEarly,
}

impl SeededFault {
    /// All of them, with the names they are called by, and where they are found.
    pub const ALL: &[(&str, Self, Subject)] = &[
        ("area-not-durable", Self::AreaNotDurable, Subject::Snapshots),
        ("data-not-flushed", Self::DataNotFlushed, Subject::Snapshots),
        ("copy-not-awaited", Self::CopyNotAwaited, Subject::Snapshots),
        (
            "next-area-not-zeroed",
            Self::NextAreaNotZeroed,
            Subject::Snapshots,
        ),
        (
            "header-before-area",
            Self::HeaderBeforeArea,
            Subject::Snapshots,
        ),
        (
            "header-not-awaited",
            Self::HeaderNotAwaited,
            Subject::Snapshots,
        ),
        (
            "write-before-entry",
            Self::WriteBeforeEntry,
            Subject::Snapshots,
        ),
        (
            "overflow-not-marked",
            Self::OverflowNotMarked,
            Subject::Snapshots,
        ),
        (
            "cached-not-mended",
            Self::CachedNotMended,
            Subject::Snapshots,
        ),
        ("merge-not-flushed", Self::MergeNotFlushed, Subject::Merges),
        ("merge-not-awaited", Self::MergeNotAwaited, Subject::Merges),
        ("clear-not-durable", Self::ClearNotDurable, Subject::Merges),
        ("read-unheld", Self::ReadUnheld, Subject::Snapshots),
        ("write-unfree", Self::WriteUnfree, Subject::Snapshots),
        ("suspended-early", Self::SuspendedEarly, Subject::Snapshots),
    ];

    /// What is done wrong with requests that need no home.
    pub(super) fn mischief(self) -> Option<Mischief> {
        match self {
            Self::ReadUnheld => Some(Mischief::HoldDropped),
            Self::WriteUnfree => Some(Mischief::Forced { face: 0, leg: 0 }),
            Self::SuspendedEarly => Some(Mischief::Hasty),
            _ => None,
        }
    }

    /// What becomes of a request to a leg. A flush of a store has the place of its header.
    fn sabotage(
        self,
        (leg, place): (usize, Place),
        request: &Request,
        activity: &Activity,
    ) -> Option<Sabotage> {
        let is_flush = request.operation == Operation::Flush;
        let is_write = request.operation.is_write();
        let is_zero = is_write && request.buffer.iter().all(|byte| *byte == 0);
        let users = |count: &Cell<u32>| count.get() > 0;
        let merges = activity.merging.get().is_some();
        let is_merging = activity.merging.get() == Some(leg);
        let starts = activity.starts.get();
        match (self, place) {
            (Self::CachedNotMended, Place::Header | Place::Area(_)) if starts => {
                (is_write || is_flush).then_some(Sabotage::Skipped)
            }
            (Self::AreaNotDurable, Place::Area(_)) if is_write => Some(Sabotage::Volatile),
            (Self::ClearNotDurable, Place::Area(_)) if is_write && is_merging => {
                Some(Sabotage::Volatile)
            }
            (Self::DataNotFlushed, Place::Header)
                if is_flush && !users(&activity.snapshot_flushes) =>
            {
                Some(Sabotage::Skipped)
            }
            (Self::CopyNotAwaited, Place::Data)
                if is_write && !users(&activity.snapshot_writes) =>
            {
                Some(Sabotage::Early)
            }
            (Self::NextAreaNotZeroed, Place::Area(1..)) if is_zero => Some(Sabotage::Skipped),
            (Self::HeaderBeforeArea, Place::Area(0)) if is_zero => Some(Sabotage::Early),
            (Self::HeaderNotAwaited, Place::Header) if is_write => Some(Sabotage::Early),
            (Self::WriteBeforeEntry, Place::Area(_)) if is_write && !is_zero => {
                Some(Sabotage::Early)
            }
            (Self::OverflowNotMarked, Place::Header) if is_write && !is_zero => {
                let is_valid = request.buffer[4] == 1;
                (!is_valid).then_some(Sabotage::Skipped)
            }
            (Self::MergeNotFlushed, Place::Origin)
                if is_flush && merges && !users(&activity.origin_flushes) =>
            {
                Some(Sabotage::Skipped)
            }
            (Self::MergeNotAwaited, Place::Origin)
                if is_write && merges && !users(&activity.origin_writes) =>
            {
                Some(Sabotage::Early)
            }
            _ => None,
        }
    }
}

/// What users do at the moment.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub(super) origin_writes: Cell<u32>,
    pub(super) origin_flushes: Cell<u32>,
    pub(super) snapshot_writes: Cell<u32>,
    pub(super) snapshot_flushes: Cell<u32>,
    /// Whether it is not said yet that all has started.
    pub(super) starts: Cell<bool>,
    /// The leg with the store of what is being merged.
    pub(super) merging: Cell<Option<usize>>,
}

/// Makes the mistake of a history.
pub(super) fn saboteur(shape: Shape, activity: &Rc<Activity>) -> Saboteur {
    let Some(fault) = shape.fault else {
        return Saboteur::none();
    };
    let activity = Rc::clone(activity);
    Saboteur::new(move |leg, request| {
        let place = shape.place(leg, request.range.start());
        fault.sabotage((leg, place), request, &activity)
    })
}
