//! The machine: a device whose blocks are compared with their checksums when they are read, and
//! get new ones when they are written.
//!
//! It has two legs, the data and what holds the checksums. Read-only it changes neither: anybody
//! may run one of his own, and what a journal holds that is not in its place yet is read from
//! there. Else it begins with what was left to do (`opening.rs`), and is the only one.
//!
//! Who reads and who writes the same blocks wait for each other. What writes the legs does so one
//! after the other (`chain.rs`): whole runs of writes (`writes.rs`), checksums that are not
//! computed yet (`recalculate.rs`), and bits that are cleared.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use block::{Access, BufferPool, Completion, Error, Info, Kind, Operation, Range, Request};

use super::chain::Chain;
use super::config::{IntegrityConfig, Limits, Mode};
use super::load::{Known, Load};
use super::reads::Reading;
use super::writer::{Flushing, Writer};
use super::writes::Writing;
use crate::Result;
use crate::locks::{Locks, Mode as Lock};
use crate::machine::sealed::Sealed;
use crate::machine::{self, Face, Machine};
use crate::map::NoMap;
use crate::slab::Slab;

pub(super) type Event = machine::EventOf<Integrity>;
pub(super) type Step = machine::Step<Infallible>;
pub(super) type Steps = machine::Steps<Infallible>;

/// Memory for checksums that is kept when nobody uses it, in bytes.
const POOL_MAX: usize = 1 << 20;
/// All is in one bucket of locks: more bytes than there are.
const BUCKET: u64 = 1 << 62;

/// A device with checksums. Give it to a [`crate::home::Home`], with its two legs.
#[derive(Debug)]
pub struct Integrity {
    pub(super) config: IntegrityConfig,
    pub(super) legs: Vec<Info>,
    pub(super) phase: Phase,
    load: Load,
    pub(super) known: Option<Known>,
    pub(super) jobs: Slab<Job>,
    asks: Slab<Ask>,
    pub(super) locks: Locks,
    /// What is written, and how; `None` where it is only read.
    pub(super) writer: Option<Writer>,
    pub(super) chain: Option<Chain>,
    pub(super) pool: BufferPool,
    pub(super) now: Duration,
    pub(super) limits: Limits,
    /// Blocks that were read and were not what their checksums say.
    pub(super) mismatches: u64,
}

/// What holds a lock, or waits for one, or for a flush.
#[derive(Debug)]
pub(super) enum Job {
    Read(Reading),
    Write(Writing),
    Flush(Flushing),
    /// These bytes get checksums.
    Recalculate(Range),
}

/// What a request to a leg is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask {
    Load,
    Read(usize),
    Chain,
    /// A part of what the chain reads before it writes.
    Part(usize),
    Flush(usize),
}

#[derive(Debug)]
pub(super) enum Phase {
    Loading,
    /// What was left to do is done.
    Opening,
    Running,
    /// What is said when nothing is under way.
    Ending(Step),
    Resting,
}

/// How a device with checksums is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegrityStatus {
    /// Blocks that were read and were not what their checksums say, each as often as it was read.
    pub mismatches: u64,
    /// Bytes of blocks that have no checksum yet.
    pub unchecked: u64,
    /// Blocks that are read from the journal.
    pub journaled: u64,
}

impl Integrity {
    /// A device of what `config` says, on legs that say `legs` of themselves: data and checksums.
    ///
    /// # Errors
    ///
    /// They do not suffice, or do not fit; which, and why.
    pub fn new(config: IntegrityConfig, legs: &[Info]) -> Result<Self> {
        config.validate(legs)?;
        Ok(Self {
            config,
            legs: legs.to_vec(),
            phase: Phase::Loading,
            load: Load::Over,
            known: None,
            jobs: Slab::default(),
            asks: Slab::default(),
            locks: Locks::new(BUCKET),
            writer: None,
            chain: None,
            pool: BufferPool::new(POOL_MAX),
            now: Duration::ZERO,
            limits: Limits::default(),
            mismatches: 0,
        })
    }

    pub(super) fn known(&self) -> &Known {
        self.known.as_ref().expect("it is loaded")
    }

    pub(super) fn known_mut(&mut self) -> &mut Known {
        self.known.as_mut().expect("it is loaded")
    }

    /// Asks a leg; the request's tag is chosen here.
    pub(super) fn ask(&mut self, ask: Ask, leg: usize, request: Request, steps: &mut Steps) {
        let tag = self.asks.insert(ask) as u64;
        let request = Request { tag, ..request };
        steps.push(Step::Sub { leg, request });
    }

    fn request(&mut self, request: Request, steps: &mut Steps) {
        assert!(matches!(self.phase, Phase::Running), "it takes requests");
        match request.operation {
            Operation::Read => {
                let range = request.range;
                let id = self.jobs.insert(Job::Read(Reading::new(request)));
                self.lock(id, range, Lock::Shared, steps);
            }
            Operation::Flush if self.writer.is_some() => self.flush(request, steps),
            // Nothing was written.
            Operation::Flush => steps.push(Step::Done(request.complete(Ok(())))),
            Operation::Write | Operation::WriteZeroes(_) if self.writer.is_some() => {
                self.write(request, steps);
            }
            // Advice: a block that was discarded would not be what its checksum says.
            Operation::Discard if self.writer.is_some() => {
                steps.push(Step::Done(request.complete(Ok(()))));
            }
            Operation::Write | Operation::WriteZeroes(_) | Operation::Discard => {
                let what = format!("{} is only read: it has checksums", self.config.name);
                let error = Error::new(Kind::ReadOnly, what);
                steps.push(Step::Done(request.complete(Err(error))));
            }
        }
    }

    /// Takes a lock for a job, which goes on when it has it.
    pub(super) fn lock(&mut self, id: usize, range: Range, lock: Lock, steps: &mut Steps) {
        if self.locks.take(id, range, lock) {
            self.go_on(id, steps);
        }
    }

    pub(super) fn unlock(&mut self, id: usize, range: Range, steps: &mut Steps) {
        for id in self.locks.release(id, range) {
            self.go_on(id, steps);
        }
    }

    /// A job has its lock.
    fn go_on(&mut self, id: usize, steps: &mut Steps) {
        match self.jobs.get(id) {
            Job::Read(_) => self.begin_read(id, steps),
            Job::Write(_) => self.write_locked(id),
            Job::Recalculate(_) => self.recalculation_locked(id),
            Job::Flush(_) => unreachable!("a flush takes no lock"),
        }
    }

    fn answer(&mut self, leg: usize, answer: Completion, steps: &mut Steps) {
        match self.asks.remove(answer.tag as usize) {
            Ask::Load => self.load_answered(answer, steps),
            Ask::Read(id) => self.read_answered(id, leg, answer, steps),
            Ask::Chain => self.chain_answered(None, answer, steps),
            Ask::Part(part) => self.chain_answered(Some(part), answer, steps),
            Ask::Flush(id) => self.flush_answered(id, answer, steps),
        }
    }

    fn load_answered(&mut self, answer: Completion, steps: &mut Steps) {
        let known = match self.load.answered(&self.config, &self.legs, answer) {
            Ok(Some(request)) => {
                return self.ask(Ask::Load, super::config::METADATA, request, steps);
            }
            Ok(None) => self.load.known().expect("all is read"),
            Err(error) => return self.start_failed(&error, steps),
        };
        self.known = Some(known);
        if !matches!(self.phase, Phase::Loading) {
            return;
        }
        if self.config.access == Access::ReadOnly {
            self.phase = Phase::Running;
            return steps.push(Step::Started(Ok(())));
        }
        self.phase = Phase::Opening;
        match self.plan_opening() {
            Ok(writer) => self.writer = Some(writer),
            Err(error) => self.start_failed(&error, steps),
        }
    }

    /// It does not start.
    pub(super) fn start_failed(&mut self, error: &crate::Error, steps: &mut Steps) {
        if matches!(self.phase, Phase::Loading | Phase::Opening) {
            self.phase = Phase::Running;
            let what = format!("{}: {error}", self.config.name);
            steps.push(Step::Started(Err(Error::new(Kind::Invalid, what))));
        }
    }

    /// Begins what may begin, and ends what is to end.
    fn pump(&mut self, steps: &mut Steps) {
        if matches!(self.phase, Phase::Opening) {
            self.pump_opening(steps);
        }
        if matches!(self.phase, Phase::Running | Phase::Ending(_)) && self.writer.is_some() {
            self.pump_writer(steps);
        }
        let is_busy = self.load.is_out() || !self.jobs.is_empty() || self.chain.is_some();
        if is_busy || !matches!(self.phase, Phase::Ending(_)) {
            return;
        }
        debug_assert!(self.asks.is_empty(), "nothing is asked for nothing");
        let Phase::Ending(last) = std::mem::replace(&mut self.phase, Phase::Resting) else {
            unreachable!("it ends");
        };
        steps.push(last);
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending(_))
    }

    /// What is always so.
    fn check(&self) {
        self.jobs.check();
        self.asks.check();
        self.locks.check();
        if let (Some(writer), Some(places)) = (&self.writer, &self.known().places) {
            writer.check(places);
        }
    }
}

impl Sealed for Integrity {}

impl Machine for Integrity {
    type Control = Infallible;
    type Status = IntegrityStatus;
    type Notice = Infallible;
    type Config = IntegrityConfig;
    type Map = NoMap;

    fn map(&self) -> Arc<NoMap> {
        Arc::new(NoMap)
    }

    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        vec![Some(Face {
            info: self.config.info(legs),
            extents_of_leg: None,
        })]
    }

    fn foresee(&self, config: &IntegrityConfig, legs: &[Info]) -> Result<Vec<Option<Face>>> {
        let sizes = |legs: &[Info]| legs.iter().map(|leg| leg.size).collect::<Vec<u64>>();
        let named = IntegrityConfig {
            name: self.config.name.clone(),
            ..config.clone()
        };
        if named != self.config || sizes(legs) != sizes(&self.legs) {
            let what = format!(
                "{} has checksums: it grows, and gets others, while nobody uses its volume",
                self.config.name
            );
            return Err(crate::Error::new(crate::Kind::InvalidLayout, what));
        }
        Ok(self.faces(legs))
    }

    fn status(&self) -> IntegrityStatus {
        let known = self.known.as_ref();
        let places = known.and_then(|known| Some((known, known.places.as_ref()?)));
        let unchecked = places.map(|(known, places)| known.trust.lacking(places) * places.block);
        let found = known.and_then(|known| known.found.as_ref());
        IntegrityStatus {
            mismatches: self.mismatches,
            unchecked: unchecked.unwrap_or(self.config.info(&self.legs).size),
            journaled: found.map_or(0, |found| found.blocks.len() as u64),
        }
    }

    fn event(&mut self, event: Event, now: Duration, steps: &mut Steps) {
        self.now = now;
        match event {
            Event::Start => {
                let request = self.load.start();
                self.ask(Ask::Load, super::config::METADATA, request, steps);
            }
            Event::Request { request, .. } => self.request(request, steps),
            Event::Answer { leg, answer } => self.answer(leg, answer, steps),
            Event::Timer(_) => self.timer(),
            Event::Suspend => self.phase = Phase::Ending(Step::Suspended),
            // It stays what it is, on legs as large, whatever it is called.
            Event::Reload(config) => {
                assert!(matches!(self.phase, Phase::Resting), "it rests");
                self.config = config;
            }
            Event::Resume => self.phase = Phase::Running,
            Event::Control { control, .. } => match control {},
            Event::Returned { returned, .. } => match returned.hold {},
            Event::Freed => unreachable!("nobody holds anything"),
            Event::Stop => self.phase = Phase::Ending(Step::Stopped),
        }
        self.pump(steps);
        if cfg!(debug_assertions) && self.known.is_some() {
            self.check();
        }
    }
}

impl Integrity {
    /// Whether what is written goes to a journal first.
    pub(super) fn has_journal(&self) -> bool {
        self.config.mode == Mode::Journal
    }
}
