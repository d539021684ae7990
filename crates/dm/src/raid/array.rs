//! The machine: it reads the superblocks of its legs, decides what it believes, and serves.
//!
//! One that is only read writes nothing, neither data nor superblocks nor bitmaps, so that it may
//! be opened by many, and in any state that another one left it in. One that is written tells its
//! legs so before the first write, and brings in sync what is not (`start.rs`, `resync.rs`).
//!
//! What an event leads to is done in the event; what ends because of it, and what may go on then,
//! is noted, and done behind it (`Array::pump`), so nothing is entered twice.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use block::{BufferPool, Completion, Error, Info, Kind, Operation, Range, Request};

use super::assembly::{Assembly, LegState};
use super::config::ArrayConfig;
use super::fence::{CLEAN_TIMER, Then};
use super::health::Progress;
use super::jobs::{Job, Question};
use super::journal::Journal;
use super::load::Load;
use super::map::ArrayMap;
use super::reads::Reading;
use super::record::Record;
use super::regions::Regions;
use super::resync::{MEND_TIMER, Mending};
use super::view::{LegSet, View};
use super::writes::Writing;
use crate::locks::Locks;
use crate::machine::sealed::Sealed;
use crate::machine::{Face, Machine};
use crate::slab::Slab;
use crate::{Result, machine};

pub(super) type Event = machine::EventOf<Array>;
pub(super) type Step = machine::Step<Notice>;
pub(super) type Steps = machine::Steps<Notice>;

/// Memory for what is made up that is kept when nobody uses it, in bytes.
const POOL_MAX: usize = 16 << 20;

/// An array. Give it to a [`crate::home::Home`], with the devices that it was made for.
#[derive(Debug)]
pub struct Array {
    pub(super) config: ArrayConfig,
    phase: Phase,
    /// What is believed. `None`: it has not started.
    pub(super) view: Option<Arc<View>>,
    pub(super) map: Arc<ArrayMap>,
    pub(super) jobs: Slab<Job>,
    pub(super) questions: Slab<Question>,
    pub(super) readings: Slab<Reading>,
    pub(super) writings: Slab<Writing>,
    /// Requests that each leg failed to answer.
    pub(super) errors: Vec<u64>,
    pub(super) pool: BufferPool,
    /// Bytes that each leg has at least, and each metadata device, if there are some.
    pub(super) room: u64,
    pub(super) meta_room: Option<u64>,
    load: Load,
    /// What legs keep; `None`: the array is not written.
    pub(super) record: Option<Record>,
    /// `None`: there is none.
    pub(super) journal: Option<Journal>,
    /// Why it is not, though that was wanted: a clause.
    pub(super) why_still: String,
    pub(super) regions: Regions,
    pub(super) locks: Locks,
    /// Strokes that take further parts, by the start of their locks.
    pub(super) gathering: BTreeMap<u64, usize>,
    pub(super) mending: Mending,
    /// The step of a reshape that is under way.
    pub(super) window: Option<usize>,
    /// Why nothing is written any more: nobody knows how far superblocks say that a reshape is.
    pub(super) reshape_error: Option<Error>,
    /// Legs that are written, and whose superblocks are those of an older array: a bit each.
    pub(super) unsaid: LegSet,
    /// What is on record of how far all is.
    pub(super) durable: Progress,
    /// Jobs that have ended, and those that have their locks.
    pub(super) finished: VecDeque<usize>,
    pub(super) turns: VecDeque<usize>,
    pub(super) notices: Vec<Notice>,
    pub(super) map_changed: bool,
    pub(super) is_cleaning: bool,
    pub(super) is_joining: bool,
    pub(super) is_noting: bool,
    /// Whether what the journal says is being written once more, of which superblocks tell.
    pub(super) replay_tells: bool,
    pub(super) clean_timer: bool,
    pub(super) now: Duration,
}

/// What an array tells by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// This leg failed, and is not used any more.
    Lost(usize),
    /// This leg holds all that it should, and that is on record.
    Filled(usize),
    /// This region could not be brought in sync; it is tried again.
    Stuck(u64),
    /// It has become what it was to become.
    Reshaped,
}

#[derive(Debug)]
enum Phase {
    Loading,
    Running,
    /// What is said when all has ended, and what it waits for.
    Ending(Step, Ending),
    Suspended,
    Stopped,
}

/// What must be over before an array has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// What was asked.
    Drained,
    /// What was mended is durable, and marks that rest are taken off.
    Noted,
    Cleaned,
    /// Nothing of the journal counts any more.
    Closed,
    /// Legs were told that nothing is being written.
    Rested,
}

/// How an array is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its legs, in order: what is believed of them, and how many requests they did not answer.
    pub legs: Vec<(LegState, u64)>,
    /// Bytes that are in sync, of what is brought in sync.
    pub synced: u64,
    /// Bytes of what is brought in sync.
    pub sync_size: u64,
    /// What is being done by itself.
    pub action: Action,
    /// What people should know of how it was found.
    pub remarks: Vec<String>,
}

/// What an array is ordered to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// What of these places, bytes of what is kept in sync, does not go together is made to; see
    /// `repair.rs`. Obeyed when that is written; what of it is durable, a flush says.
    Repair(Vec<Range>),
}

/// What an array does by itself, in the words of its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Idle,
    /// Copies and parity are brought in sync.
    Resync,
    /// Nothing: what a write may have been cut short in waits for a leg that is away.
    Waiting,
    /// A leg is filled.
    Recover,
    /// What it holds is moved to where it will be.
    Reshape,
}

impl Array {
    /// An array of what `config` says, on devices that say `devices` of themselves.
    ///
    /// # Errors
    ///
    /// They do not suffice, or do not fit; which, and why.
    pub fn new(config: ArrayConfig, devices: &[Info]) -> Result<Self> {
        config.validate(devices)?;
        let load = Load::new(&config, devices);
        Ok(Self::loading(config, load, devices))
    }

    /// An array of which somebody else found out what is to be believed.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn believing(config: ArrayConfig, assembly: Assembly, devices: &[Info]) -> Result<Self> {
        config.validate(devices)?;
        assert_eq!(
            assembly.legs.len(),
            config.legs.len(),
            "each leg has a state"
        );
        Ok(Self::loading(config, Load::known(assembly), devices))
    }

    fn loading(config: ArrayConfig, load: Load, devices: &[Info]) -> Self {
        let room = config.room(devices);
        let metas = config.legs.iter().filter_map(|leg| leg.meta);
        Self {
            phase: Phase::Loading,
            view: None,
            map: Arc::new(ArrayMap::nothing()),
            jobs: Slab::default(),
            questions: Slab::default(),
            readings: Slab::default(),
            writings: Slab::default(),
            errors: vec![0; config.legs.len()],
            pool: BufferPool::new(POOL_MAX),
            room,
            meta_room: metas.map(|device| devices[device].size).min(),
            load,
            record: None,
            journal: None,
            why_still: String::new(),
            regions: Regions::new(super::bitmap::Dirty::none()),
            locks: Locks::new(u64::MAX),
            gathering: BTreeMap::new(),
            mending: Mending::default(),
            window: None,
            reshape_error: None,
            unsaid: 0,
            durable: Progress::default(),
            finished: VecDeque::new(),
            turns: VecDeque::new(),
            notices: Vec::new(),
            map_changed: false,
            is_cleaning: false,
            is_joining: false,
            is_noting: false,
            replay_tells: false,
            clean_timer: false,
            now: Duration::ZERO,
            config,
        }
    }

    fn request(&mut self, request: Request, steps: &mut Steps) {
        self.mending.asked = Some(self.now);
        match request.operation {
            Operation::Read => self.read(request, 0, steps),
            Operation::Flush if self.record.is_some() => {
                self.begin_fence(Then::Answer(request.tag), steps);
            }
            // Nothing was written.
            Operation::Flush => steps.push(Step::Done(request.complete(Ok(())))),
            // Advice, which parity could not follow.
            Operation::Discard if self.record.is_some() => {
                steps.push(Step::Done(request.complete(Ok(()))));
            }
            Operation::Write | Operation::WriteZeroes(_) | Operation::Discard => {
                self.write(request, steps);
            }
        }
    }

    fn answer(&mut self, leg: usize, answer: Completion, steps: &mut Steps) {
        if self.load.is_out() {
            self.load.answered(&self.config, leg, answer);
            return self.look_whether_loaded(steps);
        }
        let question = self.questions.remove(answer.tag as usize);
        match self.jobs.get(question.job) {
            Job::Read(_) => self.read_answered(question, answer),
            Job::Write(_) => self.stroke_answered(question, answer, steps),
            Job::Mend(_) => self.mend_answered(question, answer, steps),
            Job::Fence(_) => self.fence_answered(question, answer),
            Job::Record => self.record_answered(question, &answer, steps),
            Job::Journal(_) => self.journal_answered(question, answer),
            Job::Moved(_) => self.moved_answered(question, answer),
            Job::Window(_) => unreachable!("its rows ask"),
            Job::Replay(_) => self.replay_answered(question, answer, steps),
            Job::Busy => unreachable!("nothing is entered twice"),
        }
    }

    /// Starts when all superblocks are read, unless it was stopped meanwhile.
    fn look_whether_loaded(&mut self, steps: &mut Steps) {
        if self.load.is_out() || !matches!(self.phase, Phase::Loading) {
            return;
        }
        let assembly = self.load.assembly(&self.config);
        let begun = assembly.and_then(|assembly| self.believe(assembly));
        let result = begun.map_err(|error| Error::new(Kind::Invalid, error.to_string()));
        if result.is_err() || !self.begin_replay(steps) {
            self.begin_running(result, steps);
        }
    }

    /// All that a start needs is done, or it failed.
    pub(super) fn begin_running(&mut self, result: block::Result<()>, steps: &mut Steps) {
        if !self.is_loading() {
            return;
        }
        if result.is_ok() {
            self.phase = Phase::Running;
        }
        steps.push(Step::Started(result));
    }

    /// Whether it has not started.
    pub(super) fn is_loading(&self) -> bool {
        matches!(self.phase, Phase::Loading)
    }

    /// Does what follows from what has ended, and what may begin.
    fn pump(&mut self, steps: &mut Steps) {
        let is_awake = !matches!(self.phase, Phase::Suspended | Phase::Stopped);
        loop {
            self.pump_ended(steps);
            if !is_awake {
                break;
            }
            self.pump_record(steps);
            if matches!(self.phase, Phase::Running) {
                self.pump_mend(steps);
                self.pump_clean(steps);
            }
            self.pump_journal(steps);
            if self.finished.is_empty() && self.turns.is_empty() && !self.wants_record() {
                break;
            }
        }
        self.pump_ending(steps);
        if std::mem::take(&mut self.map_changed) {
            self.publish();
        }
        self.tell(steps);
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    /// Whether something is to be recorded, and may be: not before it is known what the journal
    /// says that was found.
    pub(super) fn wants_record(&self) -> bool {
        let record = self.record.as_ref();
        let may_be = !self.is_loading() || self.replay_tells;
        record.is_some_and(Record::wants_round) && may_be
    }

    fn pump_ended(&mut self, steps: &mut Steps) {
        loop {
            if let Some(id) = self.finished.pop_front() {
                match self.jobs.get(id) {
                    Job::Read(_) => self.read_finished(id, steps),
                    Job::Write(_) => self.stroke_finished(id, steps),
                    Job::Mend(_) => self.mend_finished(id, steps),
                    Job::Fence(_) => self.fence_finished(id, steps),
                    Job::Journal(_) => self.journal_finished(id, steps),
                    Job::Moved(_) => self.moved_finished(id, steps),
                    Job::Replay(_) => self.replay_finished(id, steps),
                    Job::Record | Job::Window(_) | Job::Busy => {
                        unreachable!("it does not end so")
                    }
                }
            } else if let Some(id) = self.turns.pop_front() {
                match self.jobs.get(id) {
                    Job::Read(_) => self.read_locked(id, steps),
                    Job::Write(_) => self.stroke_locked(id, steps),
                    Job::Mend(_) => self.mend_locked(id, steps),
                    Job::Window(_) => self.window_locked(id, steps),
                    Job::Fence(_)
                    | Job::Record
                    | Job::Journal(_)
                    | Job::Replay(_)
                    | Job::Moved(_)
                    | Job::Busy => {
                        unreachable!("it has no lock")
                    }
                }
            } else {
                break;
            }
        }
    }

    fn is_quiet(&self) -> bool {
        let record = self.record.as_ref();
        let is_told = record.is_none_or(Record::is_idle)
            && self.journal.as_ref().is_none_or(Journal::is_idle);
        self.jobs.is_empty() && self.readings.is_empty() && self.writings.is_empty() && is_told
    }

    fn pump_ending(&mut self, steps: &mut Steps) {
        while let Phase::Ending(_, until) = &self.phase {
            if self.load.is_out() || !self.is_quiet() {
                return;
            }
            self.regions.check_quiet();
            let next = match until {
                Ending::Drained if self.is_claimed() => Ending::Noted,
                Ending::Noted => Ending::Cleaned,
                Ending::Cleaned => Ending::Closed,
                Ending::Closed if self.wants_rest() => Ending::Rested,
                Ending::Drained | Ending::Closed | Ending::Rested => return self.ended(steps),
            };
            if let Phase::Ending(_, until) = &mut self.phase {
                *until = next;
            }
            match next {
                Ending::Noted => self.note_progress(steps),
                Ending::Closed => self.journal.iter_mut().for_each(Journal::close),
                Ending::Rested => self.begin_fence(Then::Rest, steps),
                _ => self.begin_cleaning(self.now, steps),
            }
            self.pump_ended(steps);
            self.pump_record(steps);
            self.pump_journal(steps);
        }
    }

    fn ended(&mut self, steps: &mut Steps) {
        let before = std::mem::replace(&mut self.phase, Phase::Suspended);
        let Phase::Ending(last, _) = before else {
            unreachable!("it ends");
        };
        if matches!(last, Step::Stopped) {
            self.phase = Phase::Stopped;
        }
        self.tell(steps);
        steps.push(last);
    }

    fn tell(&mut self, steps: &mut Steps) {
        for notice in std::mem::take(&mut self.notices) {
            steps.push(Step::Notice(notice));
        }
        for (id, result) in self.mending.orders.obeyed() {
            steps.push(Step::Obeyed { id, result });
        }
    }

    fn end(&mut self, last: Step) {
        self.phase = Phase::Ending(last, Ending::Drained);
    }

    /// What is always so.
    fn check(&self) {
        self.jobs.check();
        self.questions.check();
        self.readings.check();
        self.writings.check();
        self.locks.check();
        if self.is_quiet() {
            assert!(self.questions.is_empty(), "questions belong to jobs");
            assert!(self.locks.is_empty(), "locks belong to jobs");
            assert!(self.gathering.is_empty(), "who gathers is a job");
            assert!(self.mending.is_idle(), "what is mended is a job");
        }
    }

    /// What whoever looks after it may know.
    fn status_now(&self) -> Status {
        let geometry = self.config.geometry();
        let assembly = self.view.as_ref().map(|view| view.assembly());
        let legs = assembly.map_or(&[][..], |assembly| &assembly.legs);
        let legs = legs.iter().cloned().zip(self.errors.iter().copied());
        let (synced, action) = self.synced();
        Status {
            legs: legs.collect(),
            synced,
            sync_size: geometry.sync_size(),
            action,
            remarks: assembly.map_or(Vec::new(), |assembly| assembly.remarks.clone()),
        }
    }

    /// A request came back that a leg was asked for without the home.
    fn returned(&mut self, returned: crate::map::Returned<super::map::Hold>, steps: &mut Steps) {
        self.mending.asked = Some(self.now);
        let is_failed = |leg: &super::ArrayLeg| {
            let device = leg.data.map(crate::map::Legs::One);
            returned.error.is_some() && device == Some(returned.legs)
        };
        let failed = self.config.legs.iter().position(is_failed);
        if let Some(leg) = failed {
            self.errors[leg] += 1;
        }
        let without = failed.map_or(0, |leg| 1 << leg);
        self.read(returned.request, without, steps);
    }
}

impl Sealed for Array {}

impl Machine for Array {
    type Control = Control;
    type Status = Status;
    type Notice = Notice;
    type Config = ArrayConfig;
    type Map = ArrayMap;

    fn map(&self) -> Arc<ArrayMap> {
        Arc::clone(&self.map)
    }

    fn faces(&self, devices: &[Info]) -> Vec<Option<Face>> {
        let mut info = self.config.info(devices);
        if let Some(view) = &self.view {
            (info.size, info.read_only) = (view.size(), self.record.is_none());
        }
        vec![Some(Face {
            info,
            extents_of_leg: None,
        })]
    }

    fn foresee(&self, config: &ArrayConfig, devices: &[Info]) -> Result<Vec<Option<Face>>> {
        let mut info = if self.needs_start(config, devices) {
            self.may_restart(config, devices)?;
            let size = self.view.as_ref().expect("it has started").size();
            let info = config.info(devices);
            // What a reshape adds comes at its end.
            let size = info.size.min(size);
            Info { size, ..info }
        } else {
            self.may_become(config, devices)?;
            self.without_left(config).info(devices)
        };
        info.read_only = self.record.is_none();
        Ok(vec![Some(Face {
            info,
            extents_of_leg: None,
        })])
    }

    fn successor(&self, config: &ArrayConfig, devices: &[Info]) -> Result<Option<Self>> {
        if !self.needs_start(config, devices) {
            return Ok(None);
        }
        Self::new(config.clone(), devices).map(Some)
    }

    fn status(&self) -> Status {
        self.status_now()
    }

    fn event(&mut self, event: Event, now: Duration, steps: &mut Steps) {
        self.now = now;
        match event {
            Event::Start => {
                self.load.start(steps);
                self.look_whether_loaded(steps);
            }
            Event::Request { request, .. } => self.request(request, steps),
            Event::Answer { leg, answer } => self.answer(leg, answer, steps),
            Event::Timer(CLEAN_TIMER) if matches!(self.phase, Phase::Running) => {
                self.clean_timer_fired(steps);
            }
            Event::Timer(CLEAN_TIMER) => self.clean_timer = false,
            Event::Timer(MEND_TIMER) => self.mending.woken(),
            Event::Timer(key) => unreachable!("there is no timer {key}"),
            Event::Suspend => self.end(Step::Suspended),
            Event::Reload(config) => return self.reload(config),
            Event::Resume => self.phase = Phase::Running,
            Event::Control {
                id,
                control: Control::Repair(places),
            } => self.order_repair(id, &places),
            Event::Returned { returned, .. } => self.returned(returned, steps),
            Event::Freed => {}
            // What its legs were may be something else by now.
            Event::Stop if matches!(self.phase, Phase::Suspended) => {
                self.phase = Phase::Stopped;
                return steps.push(Step::Stopped);
            }
            Event::Stop => self.end(Step::Stopped),
        }
        self.pump(steps);
    }
}
