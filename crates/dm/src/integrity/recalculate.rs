//! Checksums that are not computed yet: of a device that is new, that has grown, or whose bits were
//! set when the power was cut. What lies there is taken for what it should be.
//!
//! ```text
//!   lock ─▸ data and the checksums around ─▸ checksums are written ─▸ unlock ─▸ next
//!   now and then, and at the end: flushed ─▸ the superblock says how far it is; bits are cleared
//! ```

use block::{Durability, Error, Range};

use super::chain::{Piece, Stage, Work, put_tags};
use super::config::{DATA, METADATA};
use super::device::{Integrity, Job, Steps};
use super::sums::tag;
use crate::locks::Mode as Lock;

/// See the module.
#[derive(Debug)]
pub(super) struct Recalculation {
    /// What is next, as a job, and whether it has its lock.
    job: Option<(usize, bool)>,
    /// Blocks that are computed of the next ones.
    done: u64,
    /// The superblock says that so many are.
    pub(super) noted: u64,
    /// Data could not be read: whoever starts it next tries again.
    is_given_up: bool,
    /// Whether something was computed since bits were cleared.
    is_new: bool,
}

impl Recalculation {
    pub(super) fn new(noted: u64) -> Self {
        Self {
            job: None,
            done: 0,
            noted,
            is_given_up: false,
            is_new: false,
        }
    }

    pub(super) fn is_locked(&self) -> bool {
        self.job.is_some_and(|(_, is_locked)| is_locked)
    }
}

impl Integrity {
    /// How many blocks the superblock should say are computed, if that is more than it does.
    pub(super) fn due_note(&self) -> Option<u64> {
        let note = self.limits.note;
        let known = self.known();
        let places = known.places.as_ref()?;
        let (until, all, block) = (known.trust.until(), places.blocks, places.block);
        let noted = self.writer.as_ref()?.recalculation.noted;
        assert!(noted <= until, "no more is noted than is computed");
        let is_due = (until - noted) * block >= note || (until == all && noted != until);
        is_due.then_some(until)
    }

    /// Asks for the lock of what is next; whether it has it.
    pub(super) fn ask_for_recalculation(&mut self, steps: &mut Steps) -> bool {
        let known = self.known.as_ref().expect("it is loaded");
        let places = known.places.as_ref().expect("it has a superblock");
        let writer = self.writer.as_mut().expect("it is written");
        let state = &mut writer.recalculation;
        if state.job.is_some() || state.is_given_up {
            return false;
        }
        let most = (self.limits.piece / places.block).max(1);
        let Some(blocks) = known.trust.next(places, state.done, most) else {
            if std::mem::take(&mut state.is_new) {
                writer.is_loose = true;
            }
            return false;
        };
        let len = (blocks.end - blocks.start) * places.block;
        let range = Range::new(blocks.start * places.block, len);
        let id = self.jobs.insert(Job::Recalculate(range));
        self.writer().recalculation.job = Some((id, false));
        self.lock(id, range, Lock::Alone, steps);
        true
    }

    pub(super) fn recalculation_locked(&mut self, id: usize) {
        self.writer().recalculation.job = Some((id, true));
    }

    /// It is not done now.
    pub(super) fn drop_recalculation(&mut self, steps: &mut Steps) {
        let state = &mut self.writer().recalculation;
        if let Some((id, true)) = state.job {
            self.end_recalculation(id, steps);
        }
    }

    fn end_recalculation(&mut self, id: usize, steps: &mut Steps) {
        self.writer().recalculation.job = None;
        let Job::Recalculate(range) = self.jobs.remove(id) else {
            unreachable!("it is computed");
        };
        self.unlock(id, range, steps);
    }

    fn recalculated(&self, id: usize) -> Range {
        match self.jobs.get(id) {
            Job::Recalculate(range) => *range,
            other => unreachable!("{other:?} computes nothing"),
        }
    }

    pub(super) fn begin_recalculation(&mut self, steps: &mut Steps) {
        let places = self.known().places.clone().expect("it has a superblock");
        let (id, _) = self.writer().recalculation.job.expect("it is locked");
        let range = self.recalculated(id);
        let (first, count) = places.blocks_of(range);
        let mut reads = self.tag_sectors(&places, std::iter::once(first..first + count));
        reads.push((DATA, range));
        let stage = Stage {
            reads,
            ..Stage::default()
        };
        let is_written = false;
        self.begin(Work::Recalculate { id, is_written }, stage, steps);
    }

    pub(super) fn recalculation_went_on(
        &mut self,
        (id, is_written): (usize, bool),
        mut parts: Vec<Piece>,
        error: Option<Error>,
        steps: &mut Steps,
    ) {
        if let Some(error) = error {
            if is_written {
                self.fail(&error);
            }
            self.writer().recalculation.is_given_up = true;
            return self.end_recalculation(id, steps);
        }
        let places = self.known().places.clone().expect("it has a superblock");
        let (first, count) = places.blocks_of(self.recalculated(id));
        assert!(count > 0, "something is computed");
        if is_written {
            let known = self.known_mut();
            let done = known.trust.computed(&places, &(first..first + count));
            let state = &mut self.writer().recalculation;
            (state.done, state.is_new) = (done, true);
            return self.end_recalculation(id, steps);
        }
        let data = parts.pop().expect("data were read");
        assert_eq!(data.leg, DATA, "they were asked for last");
        let blocks = (first..).zip(data.bytes.chunks(places.block as usize));
        let tags: Vec<_> = blocks
            .map(|(number, block)| tag(places.sector_of(number), block))
            .collect();
        put_tags(&places, &mut parts, first, &tags);
        let mut stage = Stage::default();
        for piece in parts {
            stage.write(METADATA, piece.start, (Durability::Volatile, piece.bytes));
        }
        let is_written = true;
        self.begin(Work::Recalculate { id, is_written }, stage, steps);
    }
}
