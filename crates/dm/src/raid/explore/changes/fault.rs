//! Mistakes in changes of volumes in use that are made on purpose, to see that they are found.
//!
//! Some are made between the machine and its disks, some by whoever carries out a change, which is
//! the explorer here (`course.rs`); and some open locks of the machine.

use std::cell::Cell;
use std::rc::Rc;

use block::{Operation, Request};

use super::text::DATA;
use crate::explore::{Sabotage, Saboteur};

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeFault {
    /// The text does not say that new legs are to be filled.
    RebuildUnsaid,
    /// The text stops saying it before they are.
    FilledEarly,
    /// A leg is believed, though the text says that it is to be filled.
    FillingBelieved,
    /// What a leg that goes lies on is given to others before the text is durable.
    OldTakenEarly,
    /// Metadata are not zeros before the text names them.
    MetaNotZeroed,
    /// The volume goes on as what it is to become before the text is durable.
    ResumedEarly,
    /// The text is durable, and the array goes on as it was.
    NotReloaded,
    /// Requests in flight are not waited for where a volume gets a state.
    NotDrained,
    /// What comes at the end counts as in sync.
    GrowthBelieved,
    /// An array that became smaller does not say so.
    ShrinkUnsaid,
    /// A leg counts as filled that is not durable.
    FilledNotFlushed,
    /// Pieces that are brought in sync, and writes, are not kept apart.
    MendUnlocked,
    /// Writes of one row are not kept apart.
    RowsUnlocked,
    /// The journal does not wait for what went past it.
    PastForgotten,
}

impl ChangeFault {
    /// All of them, with the names they are called by, and a change that shows it.
    pub const ALL: &[(&str, Self, &str)] = &[
        ("rebuild-unsaid", Self::RebuildUnsaid, "replace raid1"),
        ("filled-early", Self::FilledEarly, "replace raid1"),
        ("filling-believed", Self::FillingBelieved, "replace raid1"),
        ("old-taken-early", Self::OldTakenEarly, "reduce raid1"),
        (
            "meta-not-zeroed",
            Self::MetaNotZeroed,
            "two copies to three",
        ),
        ("resumed-early", Self::ResumedEarly, "reduce raid6"),
        ("not-reloaded", Self::NotReloaded, "replace raid1"),
        ("not-drained", Self::NotDrained, "linear to raid1"),
        ("growth-believed", Self::GrowthBelieved, "extend raid1"),
        ("shrink-unsaid", Self::ShrinkUnsaid, "reduce raid1"),
        (
            "filled-not-flushed",
            Self::FilledNotFlushed,
            "replace raid1",
        ),
        ("mend-unlocked", Self::MendUnlocked, "extend raid1"),
        ("rows-unlocked", Self::RowsUnlocked, "extend raid5"),
        ("past-forgotten", Self::PastForgotten, "repair raid6"),
    ];

    fn sabotage(self, disk: usize, request: &Request, activity: &Activity) -> Option<Sabotage> {
        let (is_meta, is_write) = (disk >= DATA, request.operation.is_write());
        let is_flush = request.operation == Operation::Flush;
        let is_own = is_flush && activity.flushes.get() == 0;
        match self {
            Self::ShrinkUnsaid if is_meta && is_write && activity.has_shrunk.get() => {
                Some(Sabotage::Skipped)
            }
            Self::FilledNotFlushed if is_own && activity.is_filling.get() => {
                Some(Sabotage::Skipped)
            }
            _ => None,
        }
    }
}

/// What goes on at the moment.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Flushes of users.
    pub(super) flushes: Cell<u32>,
    /// Whether a leg is being filled.
    pub(super) is_filling: Cell<bool>,
    /// Whether the array has become smaller.
    pub(super) has_shrunk: Cell<bool>,
}

/// Makes the mistake, if it is one between the array and its disks.
pub(super) fn saboteur(fault: Option<ChangeFault>, activity: &Rc<Activity>) -> Saboteur {
    let Some(fault) = fault else {
        return Saboteur::none();
    };
    let activity = Rc::clone(activity);
    Saboteur::new(move |disk, request| fault.sabotage(disk, request, &activity))
}
