//! An array that becomes another one while it is used: step by step its rows are moved.
//!
//! ```text
//!                     position          next
//!     old and new ─────────┬──────────────┬────────────────────────────────────
//!        new rows          │    window    │ old rows
//!        read and written  │ locked       │ read and written
//!                          ╰──────────────╯
//!   all in sync ─▸ old rows of the window locked ─▸ read ─▸ new rows written ─▸ legs flushed,
//!      the journal begins anew ─▸ superblocks say `next`, durably ─▸ unlocked ─▸ the next window
//! ```
//!
//! Two orders keep what there is. *What is in new rows is durable before superblocks claim it*:
//! until then the old rows count, which nobody has written since. *Superblocks of all legs claim
//! it before the old rows are overwritten*: a step writes only where no old row is that counts by
//! what they say (`sides.rs`), so it never writes over what it reads, and a cut costs one step
//! done again. Who wants to write in the window waits, and goes where his bytes are then
//! (`writes.rs`); who reads holds the row that he reads, so no row goes while it is read, and the
//! map lets nobody past.
//!
//! The journal begins anew behind a flush while the window is locked: entries about its old rows
//! must not count when these have other places, and none about other rows changes its meaning.
//!
//! A step begins when all is in sync that can be and no leg is being filled. A leg that is lost
//! stays away: what is moved is not marked, so one that comes back lacks everything. Where parity
//! was never computed nothing is moved. What cannot be read or written now is tried again later. If
//! nobody knows whether superblocks were written, nothing is any more: both positions are right
//! then, until somebody writes.
//!
//! Legs that it takes away hold old rows until the last one is moved. They are told the end like
//! the others, and nothing after it.
//!
//! Does not: end an array's reshape that moves copies, or goes on in place; `obstacle` says so.
//! Costs: each step reads and writes its rows and takes three rounds of superblocks or flushes;
//! reads take a lock each.

use block::{Buffer, Completion, Durability, Error, Range, Request};

use super::Notice;
use super::array::{Array, Steps};
use super::assembly::LegState;
use super::doubt::Doubt;
use super::fence::Then;
use super::jobs::{Gather, Job, Question};
use super::record::Claim;
use super::rows;
use super::sides::row_len;
use super::update::{members, roles};
use crate::locks::Mode;

/// Bytes of the array that are being moved at once, and rows.
const BYTES_MAX: u64 = 8 << 20;
const ROWS_MAX: u64 = 16;

/// A step.
#[derive(Debug)]
pub(super) struct Window {
    /// The position behind it.
    next: u64,
    /// The old rows that nobody else touches, and how many of them are not had yet.
    locks: Vec<Range>,
    missing: usize,
    /// New rows that have not begun.
    rows: std::ops::Range<u64>,
    /// Those that have and have not ended.
    out: usize,
    stage: Stage,
    is_bad: bool,
}

/// What a step is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Locking,
    /// Superblocks say that the array is written, and who is away.
    Claiming,
    Moving,
    Flushing,
    /// All legs get the same events, before they are told something new.
    Evening,
    /// Superblocks say how far it is.
    Telling,
}

/// A new row.
#[derive(Debug)]
pub(super) struct Moved {
    window: usize,
    row: u64,
    gather: Gather,
    is_bad: bool,
}

impl Array {
    /// Begins a step, if one may be.
    pub(super) fn pump_reshape(&mut self, steps: &mut Steps) {
        let Some(reshape) = self.reshape() else {
            return;
        };
        if self.window.is_some() || self.reshape_error.is_some() || !self.may_move() {
            return;
        }
        let view = self.view.as_ref().expect("it has started");
        let next = if reshape.is_over() {
            // Only that was not said.
            reshape.position
        } else {
            let next = reshape.next(view.assembly().data_start);
            next.expect("there was room for the first step, and there is not less")
        };
        let (low, high) = if reshape.backwards {
            (next, reshape.position)
        } else {
            (reshape.position, next)
        };
        let (old, new) = (reshape.from, row_len(&reshape.to));
        // Behind its end there was nothing.
        let end = high.min(old.size());
        let first = low.min(end) / row_len(&old);
        let behind = end.div_ceil(row_len(&old));
        let lock = |row: u64| Range::new(row * old.chunk(), old.chunk());
        let locks: Vec<Range> = (first..behind).map(lock).collect();
        self.mending.begin(self.now);
        let id = self.jobs.insert(Job::Busy);
        self.window = Some(id);
        let taken = locks
            .iter()
            .filter(|lock| self.locks.take(id, **lock, Mode::Alone));
        let missing = locks.len() - taken.count();
        let window = Window {
            next,
            locks,
            missing,
            rows: low / new..high.div_ceil(new),
            out: 0,
            stage: Stage::Locking,
            is_bad: false,
        };
        self.put(id, Job::Window(window));
        if missing == 0 {
            self.claim_window(id, steps);
        }
    }

    /// Whether all is in sync that is moved.
    fn may_move(&self) -> bool {
        let view = self.view.as_ref().expect("it has started");
        let assembly = view.assembly();
        let is_computed = *view.raw() == Doubt::Nowhere;
        let lacks_nothing = assembly
            .missed
            .iter()
            .zip(&assembly.legs)
            .all(|(missed, leg)| *missed == Doubt::Nowhere && *leg != LegState::Filling);
        let lost = self.all() & !self.whole_legs();
        self.has_mended() && is_computed && lacks_nothing && self.survives(lost)
    }

    fn window_mut(&mut self, id: usize) -> &mut Window {
        match self.jobs.get_mut(id) {
            Job::Window(window) => window,
            other => unreachable!("{other:?} is no step"),
        }
    }

    /// A step has one more of its locks.
    pub(super) fn window_locked(&mut self, id: usize, steps: &mut Steps) {
        let window = self.window_mut(id);
        assert_eq!(window.stage, Stage::Locking);
        window.missing = window.missing.checked_sub(1).expect("one was missing");
        if window.missing == 0 {
            self.claim_window(id, steps);
        }
    }

    /// Moves rows when superblocks of all legs say that the array is written, how far it is, and
    /// who is away.
    fn claim_window(&mut self, id: usize, steps: &mut Steps) {
        let record = self.record.as_mut().expect("it is written");
        record.claim();
        if record.claim != Claim::Held || record.is_loss_unsaid() {
            record.wait(id);
            self.window_mut(id).stage = Stage::Claiming;
            return;
        }
        self.window_mut(id).stage = Stage::Moving;
        self.move_rows(id, steps);
    }

    /// Begins as many rows as may be; behind the last one all is flushed.
    fn move_rows(&mut self, id: usize, steps: &mut Steps) {
        let row = row_len(&self.reshape().expect("it is reshaped").to);
        let most = (BYTES_MAX / row).clamp(1, ROWS_MAX) as usize;
        loop {
            let window = self.window_mut(id);
            assert_eq!(window.stage, Stage::Moving);
            if window.is_bad || window.out >= most {
                break;
            }
            let Some(row) = window.rows.next() else { break };
            window.out += 1;
            self.begin_row(id, row, steps);
        }
        let window = self.window_mut(id);
        if window.out > 0 {
            return;
        }
        if window.is_bad {
            return self.end_window(id, false);
        }
        window.stage = Stage::Flushing;
        match &mut self.journal {
            Some(journal) => journal.turn_for(id),
            None => self.begin_fence(Then::Window(id), steps),
        }
    }

    /// Reads what a row holds.
    fn begin_row(&mut self, window: usize, row: u64, steps: &mut Steps) {
        let job = self.jobs.insert(Job::Moved(Moved {
            window,
            row,
            gather: Gather::default(),
            is_bad: false,
        }));
        let reshape = self.reshape().expect("it is reshaped");
        let view = self.view.as_ref().expect("it has started");
        let start = row * row_len(&reshape.to);
        let end = (start + row_len(&reshape.to)).min(view.size());
        if start >= end {
            // There was nothing.
            let nothing = Request::read(0, start, Buffer::empty());
            return self.row_read(job, nothing.complete(Ok(())), steps);
        }
        let buffer = self.pool.get((end - start) as usize);
        self.read_for(Some(job), Request::read(0, start, buffer), 0, steps);
    }

    /// What a row holds is read: data and parity are written, on all legs that are there.
    pub(super) fn row_read(&mut self, id: usize, answer: Completion, steps: &mut Steps) {
        let Job::Moved(moved) = self.jobs.get_mut(id) else {
            unreachable!("a row is read");
        };
        if answer.result.is_err() {
            moved.is_bad = true;
            return self.finished.push_back(id);
        }
        let number = moved.row;
        let side = self.reshape().expect("it is reshaped").new_side();
        let (chunk, row) = (side.geometry.chunk(), side.geometry.row(number));
        let whole = row_len(&side.geometry) as usize;
        let mut bytes = answer.buffer;
        if bytes.len() < whole {
            // Behind its end there were zeros.
            let mut longer = vec![0; whole];
            longer[..bytes.len()].copy_from_slice(&bytes);
            bytes = Buffer::copy_of(&longer);
        }
        let (data, parity) = roles(row);
        let slice = |leg: usize| {
            let index = row.index(leg).expect("it holds data");
            let start = index * chunk as usize;
            &bytes[start..start + chunk as usize]
        };
        let writable = self.writable() & (data | parity);
        let wanted = (writable & parity, chunk as usize);
        let mut written = rows::sums(&self.pool, row, slice, wanted);
        for leg in members(writable & data) {
            written.push((leg, Buffer::copy_of(slice(leg))));
        }
        drop(bytes);
        let Job::Moved(moved) = self.jobs.get_mut(id) else {
            unreachable!("a row is read");
        };
        moved.gather.out = written.len();
        assert!(!written.is_empty(), "an array without legs has ended");
        let start = side.start + number * chunk;
        for (leg, bytes) in written {
            let question = Question {
                job: id,
                leg,
                slot: 0,
            };
            let request = Request::write(0, start, Durability::Volatile, bytes);
            self.ask(question, request, steps);
        }
    }

    /// A leg has written its part of a row, or not.
    pub(super) fn moved_answered(&mut self, question: Question, answer: Completion) {
        let Question { job: id, leg, .. } = question;
        if answer.result.is_err() {
            self.errors[leg] += 1;
        }
        let Job::Moved(moved) = self.jobs.get_mut(id) else {
            unreachable!("a row is written");
        };
        moved.gather.note(leg, answer.result);
        if moved.gather.out == 0 {
            self.finished.push_back(id);
        }
    }

    /// A row is moved, or could not be.
    pub(super) fn moved_finished(&mut self, id: usize, steps: &mut Steps) {
        let Job::Moved(moved) = self.jobs.remove(id) else {
            unreachable!("a row is written");
        };
        let is_bad = self.judge(moved.gather).is_some() || moved.is_bad;
        let window = self.window_mut(moved.window);
        window.out -= 1;
        window.is_bad |= is_bad;
        self.move_rows(moved.window, steps);
    }

    /// Rows that were moved are durable, and nothing counts that was entered about them before.
    pub(super) fn window_flushed(&mut self, id: usize, error: Option<&Error>) {
        let window = self.window_mut(id);
        assert_eq!(window.stage, Stage::Flushing);
        if error.is_some() {
            return self.end_window(id, false);
        }
        window.stage = Stage::Evening;
        self.tell_window(id);
    }

    /// Superblocks are to say how far it is. Two that have the same events say the same.
    fn tell_window(&mut self, id: usize) {
        let record = self.record.as_mut().expect("it is written");
        if !record.is_even() {
            record.change();
            return record.wait(id);
        }
        let window = self.window_mut(id);
        window.stage = Stage::Telling;
        let next = window.next;
        let mut assembly = self.view_mut().assembly().clone();
        let reshape = assembly.reshape.as_mut().expect("it is reshaped");
        reshape.position = next;
        if reshape.is_over() {
            assembly.data_start = reshape.new_start;
            assembly.reshape = None;
        }
        let said = self.superblock(&assembly);
        let record = self.record.as_mut().expect("it is written");
        record.superblock.level = said.level;
        record.superblock.layout = said.layout;
        record.superblock.stripe_sectors = said.stripe_sectors;
        record.superblock.extended = said.extended;
        record.change();
        record.wait(id);
    }

    /// Superblocks say what a step waited for, or it is not known whether they do.
    pub(super) fn window_recorded(&mut self, id: usize, error: Option<Error>, steps: &mut Steps) {
        let window = self.window_mut(id);
        match (window.stage, error) {
            (Stage::Claiming, None) => self.claim_window(id, steps),
            (Stage::Evening, None) => self.tell_window(id),
            (Stage::Claiming | Stage::Evening, Some(_)) => self.end_window(id, false),
            (Stage::Telling, None) => self.end_window(id, true),
            (Stage::Telling, Some(error)) => {
                self.reshape_error = Some(error.within("how far a reshape is is not known"));
                self.end_window(id, false);
            }
            (stage, _) => unreachable!("{stage:?} does not wait"),
        }
    }

    /// A step is over: what waited for its rows goes on.
    fn end_window(&mut self, id: usize, is_done: bool) {
        let Job::Window(window) = self.jobs.remove(id) else {
            unreachable!("a step is a job");
        };
        assert_eq!((window.out, window.missing), (0, 0), "nothing is under way");
        self.window = None;
        self.piece_over();
        if is_done {
            let size = self.config.size;
            if self.view_mut().go_on(window.next, size) {
                self.config.leave();
                self.durable.filled.truncate(self.config.legs.len());
                self.notices.push(Notice::Reshaped);
            }
            self.mending.forget_fixes();
        } else {
            self.mending.pause(self.now);
        }
        self.map_changed = true;
        for lock in window.locks {
            self.turns.extend(self.locks.release(id, lock));
        }
    }
}

#[cfg(any(test, feature = "explore"))]
impl Array {
    /// The position behind the step whose rows are being moved.
    pub(super) fn moves_to(&self) -> Option<u64> {
        let Job::Window(window) = self.jobs.get(self.window?) else {
            return None;
        };
        (window.stage == Stage::Moving).then_some(window.next)
    }

    /// Lets everybody into the rows of a step: a mistake.
    pub(super) fn open_window(&mut self) {
        let Some(id) = self.window else { return };
        for lock in std::mem::take(&mut self.window_mut(id).locks) {
            self.turns.extend(self.locks.release(id, lock));
        }
    }
}
