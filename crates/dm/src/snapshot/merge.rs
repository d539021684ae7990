//! Brings what a snapshot keeps back into its origin, from the last entry backwards.
//!
//! ```text
//!   hold the chunks ─▸ writes to them end, other snapshots keep theirs, reads of these end
//!     ─▸ read from the store ─▸ write to the origin ─▸ flush the origin
//!     ─▸ clear the entries, durable ─▸ let go
//! ```
//!
//! Meanwhile face 0 is the snapshot: what has an entry is read from the store, and written there.
//! Only the chunks that are held wait, and only for writes. A cut at any point leaves entries whose
//! chunks the store still has, so the merge is gone on with from there. When clearing fails it is
//! not known whether the entries are there: writes to these chunks fail until it has been tried
//! again, as they could be where nobody looks after a restart.

use std::time::Duration;

use block::{Completion, Durability, Error, Kind, Range, Request};

use super::Origin;
use super::control::{Notice, Step, Steps};
use super::operation::{Sub, Waiter};
use super::store::EntryRun;

/// The timer for the next step of a merge.
pub(super) const MERGE_TIMER: u64 = 0;

/// A merge and its present step.
#[derive(Debug)]
pub(super) struct Merge {
    /// The snapshot's place.
    pub(super) member: usize,
    stage: Stage,
    /// What is held, unless it rests.
    run: Option<EntryRun>,
    /// The same in bytes.
    held: Option<Range>,
    /// Things that must end before it is read.
    blocked: usize,
    error: Option<Error>,
    /// Writes that wait until the chunks are let go.
    waiters: Vec<usize>,
    /// Whether it stopped with an error.
    failed: bool,
    /// Bytes that may be cleared on the store or not.
    uncertain: Option<Range>,
    is_told: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Resting,
    Holding,
    Reading,
    Writing,
    Flushing,
    Clearing,
}

impl Merge {
    pub(super) fn new(member: usize) -> Self {
        Self {
            member,
            stage: Stage::Resting,
            run: None,
            held: None,
            blocked: 0,
            error: None,
            waiters: Vec::new(),
            failed: false,
            uncertain: None,
            is_told: false,
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        self.failed
    }

    pub(super) fn is_resting(&self) -> bool {
        self.stage == Stage::Resting
    }

    /// Whether writes to a part of `range` have to wait.
    pub(super) fn holds(&self, range: Range) -> bool {
        self.held
            .is_some_and(|held| held.intersection(range).is_some())
    }

    /// Why a part of `range` cannot be written.
    pub(super) fn refusal(&self, range: Range, name: &str) -> Option<Error> {
        self.uncertain?.intersection(range)?;
        let what = format!(
            "{name}: a merge could not write down that these bytes are merged; deactivate and \
             activate it, so that it is tried again"
        );
        Some(Error::new(Kind::Io, what))
    }

    /// A request waits until the chunks are let go.
    pub(super) fn wait(&mut self, request: usize) {
        assert!(self.held.is_some(), "there is something to wait for");
        self.waiters.push(request);
    }

    pub(super) fn block(&mut self) {
        assert_eq!(self.stage, Stage::Holding);
        self.blocked += 1;
    }

    /// One of the things that it waits for is over; whether that was the last one.
    pub(super) fn unblock(&mut self, error: Option<Error>) -> bool {
        self.blocked -= 1;
        if let Some(error) = error {
            self.error.get_or_insert(error);
        }
        self.blocked == 0
    }

    /// It is known which entries are cleared.
    pub(super) fn is_mended(&mut self) {
        assert!(self.is_resting() && !self.failed, "it waits for that");
        self.uncertain = None;
    }

    /// After a failure it may be tried again.
    pub(super) fn forgive(&mut self) {
        self.failed = false;
    }

    /// What is always so.
    pub(super) fn check(&self) {
        let rests = self.is_resting();
        assert_eq!(rests, self.run.is_none(), "what is held is being merged");
        assert_eq!(rests, self.held.is_none(), "what is held is being merged");
        assert!(
            !rests || self.waiters.is_empty(),
            "nobody waits for what rests"
        );
        assert!(self.blocked == 0 || self.stage == Stage::Holding);
        assert!(!self.failed || rests, "what failed rests");
    }
}

impl Origin {
    /// Begins the next step of a merge, if there is one and it may.
    pub(super) fn pump_merge(&mut self, now: Duration, steps: &mut Steps) {
        let Some(merge) = &mut self.merge else {
            return;
        };
        if merge.failed || !merge.is_resting() {
            return;
        }
        let member = self.members[merge.member].as_ref().expect("it is merged");
        if !member.is_valid() {
            return;
        }
        let most = (self.limits.merged / member.geometry.chunk).max(1);
        let Some(run) = member.entries.last(member.geometry.per_area, most) else {
            if !merge.is_told {
                merge.is_told = true;
                let id = member.config.id;
                steps.push(Step::Notice(Notice::Merged { id }));
            }
            return;
        };
        if now < self.merge_due {
            if !self.merge_timer {
                self.merge_timer = true;
                let (at, key) = (self.merge_due, MERGE_TIMER);
                steps.push(Step::Timer { at, key });
            }
            return;
        }
        let bytes = member.bytes(run.old, run.count);
        let is_first = merge.uncertain.is_none_or(|uncertain| uncertain == bytes);
        assert!(is_first, "what is not known is tried first");
        merge.stage = Stage::Holding;
        (merge.run, merge.held) = (Some(run), Some(bytes));
        self.ready.push_back(Waiter::Merge);
    }

    /// Looks whether what is held may be overwritten in the origin, and reads it then.
    pub(super) fn advance_merge(&mut self, now: Duration, steps: &mut Steps) {
        let merge = self.merge_mut();
        assert!(
            merge.stage == Stage::Holding && merge.blocked == 0,
            "it waits for nothing"
        );
        let range = merge.held.expect("it holds something");
        if let Some(error) = merge.error.take() {
            return self.end_merge_step(Err(error), now, steps);
        }
        if self.kept_writes.overlaps(range) {
            self.block(Waiter::Merge);
            return self.kept_writes.wait(Waiter::Merge);
        }
        self.block(Waiter::Merge);
        self.protect(range, Waiter::Merge, steps);
        if !self.merge_mut().unblock(None) {
            return;
        }
        if self.merge_mut().error.is_some() {
            return self.ready.push_back(Waiter::Merge);
        }
        if self.reads.overlaps(range) {
            self.block(Waiter::Merge);
            return self.reads.wait(Waiter::Merge);
        }
        if self.await_reads(&[range], Waiter::Merge) {
            return;
        }
        let merge = self.merge_mut();
        merge.stage = Stage::Reading;
        let (place, run) = (merge.member, merge.run.expect("it holds something"));
        let member = self.member(place);
        let (leg, start) = (member.config.store, run.new * member.geometry.chunk);
        let buffer = self.pool.get(range.len() as usize);
        self.ask(leg, Sub::Merge, Request::read(0, start, buffer), steps);
    }

    pub(super) fn merge_answered(&mut self, answer: Completion, now: Duration, steps: &mut Steps) {
        let origin = self.shape.origin;
        let merge = self.merge_mut();
        let range = merge.held.expect("it holds something");
        let stage = merge.stage;
        if let Err(error) = answer.result {
            if stage == Stage::Clearing {
                merge.uncertain = Some(range);
            }
            return self.end_merge_step(Err(error), now, steps);
        }
        match stage {
            Stage::Reading => {
                merge.stage = Stage::Writing;
                let durability = Durability::Volatile;
                let request = Request::write(0, range.start(), durability, answer.buffer);
                self.ask(origin, Sub::Merge, request, steps);
            }
            Stage::Writing => {
                merge.stage = Stage::Flushing;
                self.ask(origin, Sub::Merge, Request::flush(0), steps);
            }
            Stage::Flushing => {
                merge.stage = Stage::Clearing;
                self.clear_entries(steps);
            }
            Stage::Clearing => {
                merge.uncertain = None;
                let (place, run) = (merge.member, merge.run.expect("it holds something"));
                let member = self.member_mut(place);
                member.entries.pop(run.count);
                member.exceptions.remove(run.old, run.count);
                self.end_merge_step(Ok(range.len()), now, steps);
            }
            Stage::Resting | Stage::Holding => unreachable!("it asked for nothing"),
        }
    }

    /// Writes the last area without the entries that are merged. Nothing has to be flushed for it:
    /// what it forgets is durable in the origin.
    fn clear_entries(&mut self, steps: &mut Steps) {
        let (place, run) = {
            let merge = self.merge_mut();
            (merge.member, merge.run.expect("it holds something"))
        };
        let member = self.members[place].as_ref().expect("it is merged");
        assert!(member.round.is_none(), "nothing is kept for what is merged");
        let geometry = member.geometry;
        let number = (member.entries.count() - 1) / geometry.per_area;
        let left = member.entries.count() - run.count;
        let mut buffer = self.pool.get(geometry.chunk as usize);
        member
            .entries
            .encode_area(&geometry, number, left, &[], &mut buffer);
        let leg = member.config.store;
        let start = geometry.area(number).expect("it has entries").start();
        let request = Request::write(0, start, Durability::Fua, buffer);
        self.ask(leg, Sub::Merge, request, steps);
    }

    /// It cannot be made durable which entries there are: none can be relied on.
    pub(super) fn merge_not_mended(&mut self, error: &Error, steps: &mut Steps) {
        let all = Range::new(0, self.shape.size);
        let merge = self.merge_mut();
        assert!(merge.is_resting(), "it waits for that");
        merge.uncertain = Some(all);
        self.fail_merge(error, steps);
    }

    fn fail_merge(&mut self, error: &Error, steps: &mut Steps) {
        let merge = self.merge_mut();
        merge.failed = true;
        let place = merge.member;
        let (id, why) = (self.member(place).config.id, error.to_string());
        steps.push(Step::Notice(Notice::MergeFailed { id, why }));
    }

    /// A step is over; who waited for it looks again.
    fn end_merge_step(&mut self, result: block::Result<u64>, now: Duration, steps: &mut Steps) {
        let rate = self.merge_rate;
        let merge = self.merge_mut();
        merge.stage = Stage::Resting;
        (merge.run, merge.held) = (None, None);
        let waiters = std::mem::take(&mut merge.waiters);
        match result {
            Ok(len) => {
                let nanoseconds = rate.map_or(0, |rate| {
                    u128::from(len) * 1_000_000_000 / u128::from(rate.max(1))
                });
                let pause = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
                self.merge_due = self.merge_due.max(now).saturating_add(pause);
            }
            Err(error) => self.fail_merge(&error, steps),
        }
        for request in waiters {
            self.release(Waiter::Request(request), None);
        }
    }
}
