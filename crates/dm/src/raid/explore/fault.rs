//! Mistakes that can be made on purpose, to see that they are found.
//!
//! Most break a rule of order between the machine and its disks; some make it believe what is not
//! so (`run.rs`). Nothing of the machine knows about any of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use block::{Durability, Operation, Request};

use crate::explore::{Mischief, Sabotage, Saboteur};

/// Superblocks that a leg gets before the first write.
const CLAIM_ROUNDS: u32 = 2;

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeededFault {
    /// Data are written before their regions are marked.
    WriteBeforeMark,
    /// Marks are written, but not durably.
    MarkNotDurable,
    /// Superblocks are written before bitmaps.
    BitmapLate,
    /// Requests are answered before superblocks call the leg lost that missed them.
    AnswerBeforeLoss,
    /// Data are written before superblocks tell which legs are not there.
    WriteBeforeClaim,
    /// Marks are not written while a leg is away.
    UnmarkedWhileAway,
    /// Marks are taken off without a flush of the legs.
    CleanWithoutFlush,
    /// A leg that was filled counts as whole without a flush.
    JoinWithoutFlush,
    /// How far all is in sync is recorded without a flush.
    ProgressWithoutFlush,
    /// A flush is answered without one leg's.
    FlushForgotten,
    /// What was to be durable at once is not.
    FuaForgotten,
    /// A leg that was away is believed.
    OutdatedBelieved,
    /// What may not go together is not brought in sync.
    ResyncLeftOut,
    /// A read that needs no home goes to another leg than it should.
    ReadElsewhere,
    /// Rows are written before their entries.
    WriteBeforeEntry,
    /// Entries are written, but not durably.
    EntryNotDurable,
    /// A generation of the journal begins without a flush of the legs.
    TurnWithoutFlush,
    /// Heads are not written where a generation begins.
    HeadForgotten,
    /// What the journal said is not flushed before it ends.
    ReplayWithoutFlush,
    /// A journal counts, though somebody else has used the array since.
    MarkUnchecked,
    /// None: what the write hole spoils without a journal is not excused.
    HoleNotExcused,
}

impl SeededFault {
    /// All of them, with the names they are called by.
    pub const ALL: &[(&str, Self)] = &[
        ("write-before-mark", Self::WriteBeforeMark),
        ("mark-not-durable", Self::MarkNotDurable),
        ("bitmap-late", Self::BitmapLate),
        ("answer-before-loss", Self::AnswerBeforeLoss),
        ("write-before-claim", Self::WriteBeforeClaim),
        ("unmarked-while-away", Self::UnmarkedWhileAway),
        ("clean-without-flush", Self::CleanWithoutFlush),
        ("join-without-flush", Self::JoinWithoutFlush),
        ("progress-without-flush", Self::ProgressWithoutFlush),
        ("flush-forgotten", Self::FlushForgotten),
        ("fua-forgotten", Self::FuaForgotten),
        ("outdated-believed", Self::OutdatedBelieved),
        ("resync-left-out", Self::ResyncLeftOut),
        ("read-elsewhere", Self::ReadElsewhere),
        ("write-before-entry", Self::WriteBeforeEntry),
        ("entry-not-durable", Self::EntryNotDurable),
        ("turn-without-flush", Self::TurnWithoutFlush),
        ("head-forgotten", Self::HeadForgotten),
        ("replay-without-flush", Self::ReplayWithoutFlush),
        ("mark-unchecked", Self::MarkUnchecked),
        ("hole-not-excused", Self::HoleNotExcused),
    ];

    /// What becomes of a request to a disk.
    fn sabotage(self, disk: usize, request: &Request, activity: &Activity) -> Option<Sabotage> {
        let (is_meta, is_write) = (disk % 2 == 1, request.operation.is_write());
        let is_superblock = is_meta && is_write && request.range.start() == 0;
        let (at, journal) = (request.range.start(), activity.journal_start.get());
        let is_bitmap = is_meta && is_write && !is_superblock && at < journal;
        let is_head = is_meta && is_write && at == journal;
        let is_entry = is_meta && is_write && at > journal;
        let is_flush = request.operation == Operation::Flush;
        let is_own_flush = is_flush && activity.flushes.get() == 0;
        let is_first = is_superblock && activity.is_claim(disk);
        let (is_whole, is_filling) = (activity.is_whole.get(), activity.is_filling.get());
        let is_ending = activity.is_ending.get();
        match self {
            Self::WriteBeforeMark | Self::BitmapLate if is_bitmap => Some(Sabotage::Early),
            Self::MarkNotDurable if is_bitmap => Some(Sabotage::Volatile),
            Self::AnswerBeforeLoss if is_superblock && !is_first => Some(Sabotage::Early),
            Self::WriteBeforeClaim if is_first => Some(Sabotage::Early),
            Self::UnmarkedWhileAway if is_bitmap && !is_whole => Some(Sabotage::Skipped),
            Self::CleanWithoutFlush if is_own_flush && is_whole => Some(Sabotage::Skipped),
            Self::JoinWithoutFlush if is_own_flush && is_filling && !is_ending => {
                Some(Sabotage::Skipped)
            }
            Self::ProgressWithoutFlush if is_own_flush && is_ending && !is_whole => {
                Some(Sabotage::Skipped)
            }
            Self::FlushForgotten if is_flush && disk == 0 && !is_own_flush => {
                Some(Sabotage::Skipped)
            }
            Self::WriteBeforeEntry if is_entry => Some(Sabotage::Early),
            Self::EntryNotDurable if is_entry => Some(Sabotage::Volatile),
            Self::TurnWithoutFlush if is_own_flush && activity.is_turning.get() => {
                Some(Sabotage::Skipped)
            }
            Self::HeadForgotten if is_head => Some(Sabotage::Skipped),
            Self::ReplayWithoutFlush if is_flush && !is_meta && activity.is_loading.get() => {
                Some(Sabotage::Skipped)
            }
            Self::FuaForgotten if !is_meta && is_write && request.durability == Durability::Fua => {
                Some(Sabotage::Volatile)
            }
            _ => None,
        }
    }

    /// What is done wrong with requests that need no home.
    pub(super) fn mischief(self) -> Option<Mischief> {
        match self {
            Self::ReadElsewhere => Some(Mischief::Misrouted(|disk| if disk == 0 { 2 } else { 0 })),
            _ => None,
        }
    }
}

/// What goes on at the moment.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Flushes of users.
    pub(super) flushes: Cell<u32>,
    /// Whether no leg is away or being filled, and whether one is being filled.
    pub(super) is_whole: Cell<bool>,
    pub(super) is_filling: Cell<bool>,
    /// Whether it was told to suspend or to stop.
    pub(super) is_ending: Cell<bool>,
    /// Whether it has not started.
    pub(super) is_loading: Cell<bool>,
    /// Whether the journal is going to begin another generation.
    pub(super) is_turning: Cell<bool>,
    /// Where the journal begins.
    pub(super) journal_start: Cell<u64>,
    /// Disks that got superblocks, and how many.
    told: RefCell<BTreeMap<usize, u32>>,
}

impl Activity {
    /// Whether the superblock that a disk gets now is of the rounds before the first write.
    fn is_claim(&self, disk: usize) -> bool {
        let mut told = self.told.borrow_mut();
        let count = told.entry(disk).or_default();
        *count += 1;
        *count <= CLAIM_ROUNDS
    }
}

/// Makes the mistake of a history, if it is one between the array and its disks.
pub(super) fn saboteur(fault: Option<SeededFault>, activity: &Rc<Activity>) -> Saboteur {
    let Some(fault) = fault else {
        return Saboteur::none();
    };
    let activity = Rc::clone(activity);
    Saboteur::new(move |disk, request| fault.sabotage(disk, request, &activity))
}
