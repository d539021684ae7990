//! What a device that is written knows besides, and what is done next.

use std::collections::VecDeque;
use std::time::Duration;

use block::{Buffer, Completion, Durability, Error, Kind, Request};

use super::chain::{Stage, Then};
use super::config::{DATA, METADATA};
use super::device::{Ask, Integrity, Job, Phase, Steps};
use super::marks::Marks;
use super::opening::Opening;
use super::places::Places;
use super::recalculate::Recalculation;
use super::ring::Ring;
use super::superblock::Superblock;
use crate::machine::Step;

/// Bits are cleared when nothing was written for so long.
const IDLE: Duration = Duration::from_secs(5);
/// So many runs of writes go before checksums that are not computed yet.
const TURNS: u32 = 4;

/// How data and checksums are kept together.
#[derive(Debug)]
pub(super) enum Way {
    Journal(Ring),
    Bitmap(Marks),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Writer {
    /// As the disk has it.
    pub(super) superblock: Superblock,
    pub(super) way: Way,
    /// What a start has to do still.
    pub(super) opening: Option<Opening>,
    /// Writes that hold their locks and are not all begun, in their order.
    pub(super) ready: VecDeque<usize>,
    /// Blocks of these.
    pub(super) ready_blocks: u64,
    pub(super) recalculation: Recalculation,
    /// Something was not written as it should: nothing is said to be durable any more.
    broken: Option<String>,
    /// Whether bits are set that need not be, or a journal holds what is in its place.
    pub(super) is_loose: bool,
    is_cleaning: bool,
    is_closed: bool,
    turn: u32,
    written: Duration,
    alarm: Option<Duration>,
}

/// A flush that waits.
#[derive(Debug)]
pub(super) struct Flushing {
    tag: u64,
    out: usize,
    error: Option<Error>,
}

impl Writer {
    pub(super) fn new(superblock: Superblock, way: Way, opening: Opening, until: u64) -> Self {
        // What a journal held is in its place, and whoever comes next need not look for it.
        let is_loose = opening.replays();
        Self {
            superblock,
            way,
            opening: Some(opening),
            ready: VecDeque::new(),
            ready_blocks: 0,
            recalculation: Recalculation::new(until),
            broken: None,
            is_loose,
            is_cleaning: false,
            is_closed: false,
            turn: 0,
            written: Duration::ZERO,
            alarm: None,
        }
    }

    pub(super) fn broken(&self) -> Option<Error> {
        let what = self.broken.as_ref()?;
        Some(Error::new(Kind::Io, what.clone()))
    }

    /// Whether bits are set that need not be.
    fn is_marked(&self) -> bool {
        self.is_loose && matches!(self.way, Way::Bitmap(_))
    }

    /// What is always so.
    pub(super) fn check(&self, places: &Places) {
        assert!(
            self.ready.is_empty() == (self.ready_blocks == 0),
            "blocks are counted"
        );
        if let Way::Journal(ring) = &self.way {
            ring.check(places);
        }
    }
}

impl Integrity {
    pub(super) fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("it is written")
    }

    pub(super) fn flush(&mut self, request: Request, steps: &mut Steps) {
        let has_journal = self.has_journal();
        let writer = self.writer();
        if let Some(error) = writer.broken() {
            return steps.push(Step::Done(request.complete(Err(error))));
        }
        // What was answered is in the journal, durably.
        if has_journal {
            return steps.push(Step::Done(request.complete(Ok(()))));
        }
        let flushing = Flushing {
            tag: request.tag,
            out: 2,
            error: None,
        };
        let id = self.jobs.insert(Job::Flush(flushing));
        for leg in [DATA, METADATA] {
            self.ask(Ask::Flush(id), leg, Request::flush(0), steps);
        }
    }

    pub(super) fn flush_answered(&mut self, id: usize, answer: Completion, steps: &mut Steps) {
        let Job::Flush(flushing) = self.jobs.get_mut(id) else {
            unreachable!("it flushes");
        };
        flushing.out -= 1;
        if let Err(error) = answer.result {
            flushing.error.get_or_insert(error);
        }
        if flushing.out > 0 {
            return;
        }
        let error = flushing.error.take();
        if let Some(error) = &error {
            self.fail(error);
        }
        let Job::Flush(flushing) = self.jobs.remove(id) else {
            unreachable!("it flushes");
        };
        steps.push(Step::Done(Completion {
            tag: flushing.tag,
            result: error.map_or(Ok(()), Err),
            buffer: Buffer::empty(),
        }));
    }

    /// Something was not written: from now on nothing is, and nothing is durable.
    pub(super) fn fail(&mut self, error: &Error) {
        let what = format!("{}: {error}", self.config.name);
        self.writer().broken.get_or_insert(what);
    }

    /// Begins what is next.
    pub(super) fn pump_writer(&mut self, steps: &mut Steps) {
        while self.chain.is_none() && self.writer().opening.is_none() {
            if self.writer().broken.is_some() {
                self.refuse_all(steps);
                break;
            }
            let (is_ending, now) = (self.is_ending(), self.now);
            let writer = self.writer();
            let is_due = !writer.ready.is_empty();
            if writer.recalculation.is_locked() && !is_ending && (!is_due || writer.turn >= TURNS) {
                writer.turn = 0;
                self.begin_recalculation(steps);
            } else if is_due {
                writer.turn += 1;
                writer.written = now;
                self.begin_batch(steps);
            } else if !self.begin_other(steps) {
                break;
            }
        }
        self.set_alarm(steps);
    }

    /// What is done where nothing is written; whether anything is.
    fn begin_other(&mut self, steps: &mut Steps) -> bool {
        if self.is_ending() {
            self.drop_recalculation(steps);
            // Writes may have waited for it.
            if !self.writer().ready.is_empty() {
                return true;
            }
            let is_stop = matches!(self.phase, Phase::Ending(Step::Stopped));
            if is_stop && self.jobs.is_empty() && !self.writer().is_closed {
                self.begin_closing(steps);
                return true;
            }
            return false;
        }
        if let Some(until) = self.due_note() {
            let stage = self.note(until);
            self.begin_stages([Stage::flush(), stage].into(), Then::Noted(until), steps);
            return true;
        }
        if std::mem::take(&mut self.writer().is_cleaning) {
            let bits = self.settled();
            self.begin_stages([Stage::flush(), bits].into(), Then::Cleaned, steps);
            return true;
        }
        self.ask_for_recalculation(steps)
    }

    /// The bits that are left when all is in place.
    fn settled(&mut self) -> Stage {
        let known = self.known.as_ref().expect("it is loaded");
        let places = known.places.as_ref().expect("it has a superblock");
        match &mut self.writer.as_mut().expect("it is written").way {
            Way::Journal(_) => Stage::default(),
            Way::Bitmap(marks) => Stage::durable(marks.settle(places, &known.trust)),
        }
    }

    /// The end: all is in place, and nothing has to be done by whoever comes next.
    fn begin_closing(&mut self, steps: &mut Steps) {
        assert!(self.writer().ready.is_empty(), "all is written");
        self.writer().is_closed = true;
        let until = self.known().trust.until();
        let mut stages = VecDeque::from([Stage::flush()]);
        if self.writer().recalculation.noted != until {
            stages.push_back(self.note(until));
        }
        if self.writer().is_loose {
            let bits = self.settled();
            stages.push_back(bits);
            let known = self.known.as_ref().expect("it is loaded");
            let places = known.places.as_ref().expect("it has a superblock");
            if let Way::Journal(ring) = &mut self.writer.as_mut().expect("it is written").way {
                ring.reclaim();
                stages.extend(ring.wipe(places).map(Stage::durable));
            }
        }
        self.begin_stages(stages, Then::Closed, steps);
    }

    /// The last of some stages ended.
    pub(super) fn stages_done(&mut self, then: Then, result: block::Result<()>, steps: &mut Steps) {
        if let Err(error) = result {
            if then == Then::Opened {
                return self.opening_failed(error, steps);
            }
            return self.fail(&error);
        }
        let writer = self.writer();
        match then {
            Then::Opened | Then::Closed => {}
            Then::Noted(until) => writer.recalculation.noted = until,
            Then::Cleaned => writer.is_loose = false,
        }
    }

    /// The superblock that says that so many blocks have checksums.
    fn note(&mut self, until: u64) -> Stage {
        let sector = self
            .known()
            .places
            .as_ref()
            .map(|places| places.sector_of(until));
        let superblock = &mut self.writer().superblock;
        superblock.recalculated = sector;
        let bytes = Buffer::copy_of(&superblock.encode());
        let mut stage = Stage::default();
        stage.write(METADATA, 0, (Durability::Fua, bytes));
        stage
    }

    /// Nothing is written any more.
    fn refuse_all(&mut self, steps: &mut Steps) {
        // Writes may wait for it.
        self.drop_recalculation(steps);
        let error = |writer: &Writer| writer.broken().expect("it is broken");
        while let Some(id) = self.writer().ready.pop_front() {
            let error = error(self.writer());
            self.writer().ready_blocks = 0;
            self.end_write(id, Some(error), steps);
        }
        self.writer().is_closed = true;
    }

    pub(super) fn timer(&mut self) {
        let now = self.now;
        let Some(writer) = &mut self.writer else {
            return;
        };
        writer.alarm = None;
        writer.is_cleaning |= writer.is_marked() && now >= writer.written + IDLE;
    }

    fn set_alarm(&mut self, steps: &mut Steps) {
        let (now, is_ending) = (self.now, self.is_ending());
        let writer = self.writer();
        let is_wanted = writer.is_marked() && !writer.is_cleaning && writer.alarm.is_none();
        if !is_wanted || is_ending || writer.broken.is_some() {
            return;
        }
        let at = now.max(writer.written + IDLE);
        writer.alarm = Some(at);
        steps.push(Step::Timer { at, key: 0 });
    }
}
