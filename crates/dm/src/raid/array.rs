//! The machine: it reads the superblocks of its legs, decides what it believes, and serves.
//!
//! It is only read so far: nothing of it is written, neither data nor superblocks nor bitmaps, so
//! that it may be opened by many, and in any state that another one left it in.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use block::{BufferPool, Completion, Error, Info, Kind, Operation, Request};

use super::assembly::{Assembly, LegState};
use super::config::ArrayConfig;
use super::load::Load;
use super::map::ArrayMap;
use super::reads::{Asked, Question, Reading};
use super::view::View;
use crate::machine::sealed::Sealed;
use crate::machine::{Face, Machine};
use crate::slab::Slab;
use crate::{Result, machine};

pub(super) type Event = machine::EventOf<Array>;
pub(super) type Step = machine::Step<Infallible>;
pub(super) type Steps = machine::Steps<Infallible>;

/// Memory for what is made up that is kept when nobody uses it, in bytes.
const POOL_MAX: usize = 16 << 20;

/// An array. Give it to a [`crate::home::Home`], with the devices that it was made for.
#[derive(Debug)]
pub struct Array {
    pub(super) config: ArrayConfig,
    phase: Phase,
    /// What is believed. `None`: it has not started.
    pub(super) view: Option<Arc<View>>,
    pub(super) readings: Slab<Reading>,
    pub(super) asked: Slab<Asked>,
    pub(super) questions: Slab<Question>,
    /// Requests that each leg failed to answer.
    pub(super) errors: Vec<u64>,
    pub(super) pool: BufferPool,
    /// Bytes that each leg has at least.
    room: u64,
    load: Load,
}

#[derive(Debug)]
enum Phase {
    Loading,
    Running,
    /// What is said when all has ended.
    Ending(Step),
    Suspended,
    Stopped,
}

/// How an array is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its legs, in order: what is believed of them, and how many requests they did not answer.
    pub legs: Vec<(LegState, u64)>,
    /// Bytes that are in sync, from the start of what is brought in sync.
    pub synced: u64,
    /// Bytes of what is brought in sync.
    pub sync_size: u64,
    /// What people should know of how it was found.
    pub remarks: Vec<String>,
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
        let legs = config.legs.iter().filter_map(|leg| leg.data);
        let room = legs.map(|device| devices[device].size).min();
        Self {
            phase: Phase::Loading,
            view: None,
            readings: Slab::default(),
            asked: Slab::default(),
            questions: Slab::default(),
            errors: vec![0; config.legs.len()],
            pool: BufferPool::new(POOL_MAX),
            room: room.expect("some leg is there"),
            load,
            config,
        }
    }

    fn request(&mut self, request: Request, steps: &mut Steps) {
        match request.operation {
            Operation::Read => self.read(request, 0, steps),
            // Nothing was written.
            Operation::Flush => steps.push(Step::Done(request.complete(Ok(())))),
            Operation::Write | Operation::WriteZeroes(_) | Operation::Discard => {
                let what = format!("{} is read-only", self.config.name);
                let error = Error::new(Kind::InvalidRequest, what);
                steps.push(Step::Done(request.complete(Err(error))));
            }
        }
    }

    fn answer(&mut self, leg: usize, answer: Completion, steps: &mut Steps) {
        if !self.load.is_out() {
            return self.read_answered(answer, steps);
        }
        self.load.answered(&self.config, leg, answer);
        self.look_whether_loaded(steps);
    }

    /// Starts when all superblocks are read, unless it was stopped meanwhile.
    fn look_whether_loaded(&mut self, steps: &mut Steps) {
        if self.load.is_out() || !matches!(self.phase, Phase::Loading) {
            return;
        }
        let assembly = self.load.assembly(&self.config);
        let assembly = assembly.and_then(|assembly| self.fitting(assembly));
        let result = assembly.map_err(|error| Error::new(Kind::Invalid, error.to_string()));
        let result = result.map(|assembly| {
            self.view = Some(Arc::new(View::new(&self.config, assembly)));
            self.phase = Phase::Running;
        });
        steps.push(Step::Started(result));
    }

    /// Data lie on their legs, wherever superblocks say that they begin.
    fn fitting(&self, assembly: Assembly) -> Result<Assembly> {
        let new_start = assembly.reshape.map_or(0, |reshape| reshape.new_start);
        for start in [assembly.data_start, new_start] {
            let end = start.checked_add(self.config.geometry().leg_size());
            if end.is_none_or(|end| end > self.room) {
                let what = format!(
                    "{}: its data begin at byte {start} of legs of {} bytes",
                    self.config.name, self.room
                );
                return Err(crate::Error::new(crate::Kind::Damaged, what));
            }
        }
        Ok(assembly)
    }

    fn end(&mut self, last: Step) {
        self.phase = Phase::Ending(last);
    }

    fn pump(&mut self, steps: &mut Steps) {
        if self.readings.is_empty()
            && !self.load.is_out()
            && let Phase::Ending(_) = self.phase
        {
            let stops = matches!(self.phase, Phase::Ending(Step::Stopped));
            let after = if stops {
                Phase::Stopped
            } else {
                Phase::Suspended
            };
            if let Phase::Ending(last) = std::mem::replace(&mut self.phase, after) {
                steps.push(last);
            }
        }
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    /// What is always so.
    fn check(&self) {
        self.readings.check();
        self.asked.check();
        self.questions.check();
        if self.readings.is_empty() {
            assert!(self.asked.is_empty(), "parts belong to requests");
            assert!(self.questions.is_empty(), "questions belong to parts");
        }
    }
}

impl Sealed for Array {}

impl Machine for Array {
    type Control = Infallible;
    type Status = Status;
    type Notice = Infallible;
    type Config = ArrayConfig;
    type Map = ArrayMap;

    fn map(&self) -> Arc<ArrayMap> {
        let devices = self.config.legs.iter().map(|leg| leg.data).collect();
        Arc::new(ArrayMap::new(self.view.clone(), devices))
    }

    fn faces(&self, devices: &[Info]) -> Vec<Option<Face>> {
        let view = self.view.as_ref().expect("it has started");
        let info = self.config.info(devices);
        vec![Some(Face {
            info: Info {
                size: view.size(),
                ..info
            },
            extents_of_leg: None,
        })]
    }

    fn foresee(&self, config: &ArrayConfig, _: &[Info]) -> Result<Vec<Option<Face>>> {
        let what = format!("{}: an array cannot change while it is read", config.name);
        Err(crate::Error::new(crate::Kind::Busy, what))
    }

    fn status(&self) -> Status {
        let geometry = self.config.geometry();
        let assembly = self.view.as_ref().map(|view| view.assembly());
        let legs = assembly.map_or(&[][..], |assembly| &assembly.legs);
        let legs = legs.iter().cloned().zip(self.errors.iter().copied());
        Status {
            legs: legs.collect(),
            synced: assembly.map_or(0, |assembly| assembly.synced.min(geometry.sync_size())),
            sync_size: geometry.sync_size(),
            remarks: assembly.map_or(Vec::new(), |assembly| assembly.remarks.clone()),
        }
    }

    fn event(&mut self, event: Event, _: Duration, steps: &mut Steps) {
        match event {
            Event::Start => {
                self.load.start(steps);
                self.look_whether_loaded(steps);
            }
            Event::Request { request, .. } => self.request(request, steps),
            Event::Answer { leg, answer } => self.answer(leg, answer, steps),
            Event::Timer(key) => unreachable!("there is no timer {key}"),
            Event::Suspend => self.end(Step::Suspended),
            Event::Reload(config) => unreachable!("{} was not foreseen", config.name),
            Event::Resume => self.phase = Phase::Running,
            Event::Control { control, .. } => match control {},
            Event::Returned { returned, .. } => {
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
            Event::Freed => {}
            Event::Stop => self.end(Step::Stopped),
        }
        self.pump(steps);
    }
}
