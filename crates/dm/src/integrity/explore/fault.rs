//! Mistakes that can be made on purpose, to see that they are found.
//!
//! Each breaks a rule of order, between the machine and its disks: nothing of the machine knows
//! about it.

use std::cell::Cell;
use std::rc::Rc;

use block::{Operation, Request};

use super::shape::{Place, Shape};
use crate::explore::{Sabotage, Saboteur};
use crate::integrity::Mode;
use crate::integrity::config::{DATA, METADATA};

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeededFault {
    /// A section of the journal is written, but not durably.
    JournalNotDurable,
    /// Data and checksums are written before the section that holds them.
    PlaceBeforeJournal,
    /// Sections are written again before the data in them are durable in their places.
    DataNotFlushed,
    /// The same before checksums are.
    ChecksumsNotFlushed,
    /// A start empties the journal before what it held is durable in its place.
    ReplayNotFlushed,
    /// A bit is set, but not durably.
    BitNotDurable,
    /// Data and checksums are written before their bit is set.
    WriteBeforeBit,
    /// Bits are cleared before what they are about is durable.
    ClearedBeforeFlush,
    /// A start believes bits or sections that a killed process may have left in caches.
    CachedBelieved,
    /// The superblock says that checksums are computed before they are durable.
    ComputedNotFlushed,
}

impl SeededFault {
    /// All of them, with the names they are called by.
    pub const ALL: &[(&str, Self)] = &[
        ("journal-not-durable", Self::JournalNotDurable),
        ("place-before-journal", Self::PlaceBeforeJournal),
        ("data-not-flushed", Self::DataNotFlushed),
        ("checksums-not-flushed", Self::ChecksumsNotFlushed),
        ("replay-not-flushed", Self::ReplayNotFlushed),
        ("bit-not-durable", Self::BitNotDurable),
        ("write-before-bit", Self::WriteBeforeBit),
        ("cleared-before-flush", Self::ClearedBeforeFlush),
        ("cached-believed", Self::CachedBelieved),
        ("computed-not-flushed", Self::ComputedNotFlushed),
    ];

    /// The mode that the mistake is about; `None`: either.
    pub(super) fn mode(self) -> Option<Mode> {
        match self {
            Self::JournalNotDurable
            | Self::PlaceBeforeJournal
            | Self::DataNotFlushed
            | Self::ChecksumsNotFlushed
            | Self::ReplayNotFlushed => Some(Mode::Journal),
            Self::BitNotDurable | Self::WriteBeforeBit | Self::ClearedBeforeFlush => {
                Some(Mode::Bitmap)
            }
            Self::CachedBelieved | Self::ComputedNotFlushed => None,
        }
    }

    fn sabotage(
        self,
        (leg, place): (usize, Place),
        request: &Request,
        activity: &Activity,
    ) -> Option<Sabotage> {
        let is_flush = request.operation == Operation::Flush;
        let is_write = request.operation.is_write();
        let is_user = activity.flushes.get() > 0;
        let starts = activity.starts.get();
        if starts && is_write {
            activity.has_written.set(true);
        }
        let is_area =
            leg == METADATA && place == Place::Area && is_write && !starts && !activity.ends.get();
        match self {
            Self::JournalNotDurable | Self::BitNotDurable if is_area => Some(Sabotage::Volatile),
            Self::PlaceBeforeJournal | Self::WriteBeforeBit if is_area => Some(Sabotage::Early),
            Self::DataNotFlushed if is_flush && leg == DATA => Some(Sabotage::Skipped),
            Self::ChecksumsNotFlushed if is_flush && leg == METADATA => Some(Sabotage::Skipped),
            Self::ReplayNotFlushed if is_flush && starts && activity.has_written.get() => {
                Some(Sabotage::Skipped)
            }
            Self::CachedBelieved if is_flush && starts && !activity.has_written.get() => {
                Some(Sabotage::Skipped)
            }
            Self::ClearedBeforeFlush | Self::ComputedNotFlushed
                if is_flush && !is_user && !starts =>
            {
                Some(Sabotage::Skipped)
            }
            _ => None,
        }
    }
}

/// What is going on at the moment.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Flushes of users, which are passed on.
    pub(super) flushes: Cell<u32>,
    /// Whether it is not said yet that it has started.
    pub(super) starts: Cell<bool>,
    /// Whether it has written something since.
    pub(super) has_written: Cell<bool>,
    /// Whether it is told to end.
    pub(super) ends: Cell<bool>,
}

/// Makes the mistake of a shape.
pub(super) fn saboteur(shape: &Shape, activity: &Rc<Activity>) -> Saboteur {
    let (Some(fault), activity) = (shape.fault, Rc::clone(activity)) else {
        return Saboteur::none();
    };
    let places = shape.places.clone();
    Saboteur::new(move |leg, request| {
        let place = Place::of(&places, request.range.start());
        fault.sabotage((leg, place), request, &activity)
    })
}
