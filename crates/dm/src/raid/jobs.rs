//! What an array is in the middle of, and what it has asked of its legs.
//!
//! A request is cut into parts. Each part that is read, each run of a row that is written or
//! mended, and each round of flushes is a job with a number. A question to a leg carries a number
//! of its own, by which its answer finds its job.

use block::{Error, Range, Request};

use super::array::{Array, Steps};
use super::assembly::Reshape;
use super::fence::Fence;
use super::journal::{Batch, Replay};
use super::mend::Mend;
use super::reads::Asked;
use super::reshape::{Moved, Window};
use super::sides::Side;
use super::strokes::Stroke;
use super::view::LegSet;
use crate::machine::Step;

/// See the module.
#[derive(Debug)]
pub(super) enum Job {
    Read(Asked),
    Write(Stroke),
    Mend(Mend),
    Fence(Fence),
    /// A round of superblocks and bitmaps is written.
    Record,
    /// Entries of the journal are, or its heads.
    Journal(Batch),
    Replay(Replay),
    /// A step of a reshape is, and a row of it.
    Window(Window),
    Moved(Moved),
    /// It is being worked on.
    Busy,
}

/// One question to a leg.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    pub(super) job: usize,
    pub(super) leg: usize,
    /// What of the job it is about.
    pub(super) slot: usize,
}

/// The answers of several legs to one question.
#[derive(Debug, Default)]
pub(super) struct Gather {
    /// How many have not answered.
    pub(super) out: usize,
    pub(super) good: LegSet,
    pub(super) bad: LegSet,
    pub(super) error: Option<Error>,
}

impl Gather {
    /// Notes an answer.
    pub(super) fn note(&mut self, leg: usize, result: block::Result<()>) {
        self.out = self.out.checked_sub(1).expect("it was asked");
        match result {
            Ok(()) => self.good |= 1 << leg,
            Err(error) => {
                self.bad |= 1 << leg;
                self.error.get_or_insert(error);
            }
        }
    }
}

impl Array {
    /// Takes a job out, to work on it; [`Array::put`] brings it back.
    pub(super) fn take_job(&mut self, id: usize) -> Job {
        std::mem::replace(self.jobs.get_mut(id), Job::Busy)
    }

    pub(super) fn take_stroke(&mut self, id: usize) -> Stroke {
        match self.take_job(id) {
            Job::Write(stroke) => stroke,
            other => unreachable!("{other:?} is no write"),
        }
    }

    pub(super) fn take_mend(&mut self, id: usize) -> Mend {
        match self.take_job(id) {
            Job::Mend(mend) => mend,
            other => unreachable!("{other:?} mends nothing"),
        }
    }

    pub(super) fn take_read(&mut self, id: usize) -> Asked {
        match self.take_job(id) {
            Job::Read(asked) => asked,
            other => unreachable!("{other:?} is no read"),
        }
    }

    /// Brings a job back.
    pub(super) fn put(&mut self, id: usize, job: Job) {
        let before = std::mem::replace(self.jobs.get_mut(id), job);
        assert!(matches!(before, Job::Busy), "it was taken out");
    }

    /// Asks a leg for data; the request has any tag.
    pub(super) fn ask(&mut self, question: Question, request: Request, steps: &mut Steps) {
        let device = self.config.legs[question.leg].data;
        let leg = device.expect("a leg that is asked is there");
        let tag = self.questions.insert(question) as u64;
        let request = Request { tag, ..request };
        steps.push(Step::Sub { leg, request });
    }

    /// Asks the device with the superblock of a leg.
    pub(super) fn ask_meta(&mut self, question: Question, request: Request, steps: &mut Steps) {
        let device = self.config.legs[question.leg].meta;
        let leg = device.expect("a leg that says something has one");
        let tag = self.questions.insert(question) as u64;
        let request = Request { tag, ..request };
        steps.push(Step::Sub { leg, request });
    }

    /// Bytes that are kept in sync, as bytes of a leg, for requests to it.
    pub(super) fn on_leg(&self, sync: Range) -> Range {
        let start = self.row_of(sync.start()).start;
        Range::new(sync.start() + start, sync.len())
    }

    /// Whose row a byte is in that is kept in sync, and is somebody's.
    pub(super) fn row_of(&self, sync: u64) -> Side {
        let view = self.view.as_ref().expect("it has started");
        view.side(sync).expect("nobody asks for what nobody has")
    }

    /// What the array becomes.
    pub(super) fn reshape(&self) -> Option<Reshape> {
        self.view.as_ref().and_then(|view| view.assembly().reshape)
    }
}

#[cfg(any(test, feature = "explore"))]
impl Array {
    /// Lets pieces that are mended and writes into each other's bytes, or writes of one row: a
    /// mistake.
    pub(super) fn open_locks(&mut self, is_mended: bool) {
        let jobs = &self.jobs;
        let is_mend = |owner: usize| matches!(jobs.get(owner), Job::Mend(_));
        let is_write = |owner: usize| matches!(jobs.get(owner), Job::Write(_));
        let may_meet = |one: usize, other: usize| {
            if is_mended {
                is_mend(one) && is_write(other) || is_write(one) && is_mend(other)
            } else {
                is_write(one) && is_write(other)
            }
        };
        let turns = self.locks.open(may_meet);
        self.turns.extend(turns);
    }
}
