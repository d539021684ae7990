//! A small machine with rules of order: a journal of one write.
//!
//! ```text
//!   log    which sector, what                  written with FUA, then the write is answered
//!   data   …                                   written, flushed, then the log may be used again
//! ```
//!
//! One request at a time; writes have one sector, of which the first 16 bytes count.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use block::{Buffer, Completion, Durability, Info, Operation, Request};

use crate::machine::sealed::Sealed;
use crate::machine::{self, Event, Face, Machine};
use crate::map::NoMap;

type Step = machine::Step<Infallible>;
type Steps = machine::Steps<Infallible>;

const SECTOR: usize = 512;
const DATA: usize = 0;
const LOG: usize = 1;

#[derive(Debug, Default)]
pub(super) struct Journal {
    waiting: VecDeque<Request>,
    state: State,
    ending: Option<Step>,
    has_started: bool,
    /// Whether it says that it is suspended as soon as it is asked.
    pub(super) is_hasty: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Loading,
    /// The log is written; then this is answered.
    Logging(Request),
    Writing,
    Flushing,
    /// A read with this tag.
    Reading(u64),
}

impl Journal {
    fn sub(leg: usize, request: Request, steps: &mut Steps) {
        steps.push(Step::Sub { leg, request });
    }

    fn write(sector: u64, bytes: &[u8], steps: &mut Steps) -> State {
        let mut data = [0; SECTOR];
        data[..16].copy_from_slice(bytes);
        let start = sector * SECTOR as u64;
        let request = Request::write(0, start, Durability::Volatile, Buffer::copy_of(&data));
        Self::sub(DATA, request, steps);
        State::Writing
    }

    fn answer(&mut self, answer: Completion, steps: &mut Steps) {
        let next = match std::mem::take(&mut self.state) {
            State::Idle => panic!("nothing was asked"),
            State::Loading => {
                let word = |at: usize| answer.buffer[at..at + 8].try_into();
                let place = u64::from_le_bytes(word(0).expect("eight bytes"));
                match place.checked_sub(1) {
                    Some(sector) => Self::write(sector, &answer.buffer[8..24], steps),
                    None => State::Idle,
                }
            }
            State::Logging(request) => {
                let sector = request.range.start() / SECTOR as u64;
                let next = Self::write(sector, &request.buffer[..16], steps);
                steps.push(Step::Done(request.complete(Ok(()))));
                next
            }
            State::Writing => {
                Self::sub(DATA, Request::flush(0), steps);
                State::Flushing
            }
            State::Flushing => State::Idle,
            State::Reading(tag) => {
                steps.push(Step::Done(Completion { tag, ..answer }));
                State::Idle
            }
        };
        self.state = next;
        self.go_on(steps);
    }

    fn go_on(&mut self, steps: &mut Steps) {
        if !matches!(self.state, State::Idle) {
            return;
        }
        if !self.has_started {
            self.has_started = true;
            steps.push(Step::Started(Ok(())));
        }
        while let Some(request) = self.waiting.pop_front() {
            match request.operation {
                Operation::Read => {
                    self.state = State::Reading(request.tag);
                    Self::sub(DATA, Request { tag: 0, ..request }, steps);
                    return;
                }
                Operation::Write => {
                    let mut record = [0; SECTOR];
                    let sector = request.range.start() / SECTOR as u64;
                    record[..8].copy_from_slice(&(sector + 1).to_le_bytes());
                    record[8..24].copy_from_slice(&request.buffer[..16]);
                    let buffer = Buffer::copy_of(&record);
                    Self::sub(LOG, Request::write(0, 0, Durability::Fua, buffer), steps);
                    self.state = State::Logging(request);
                    return;
                }
                _ => steps.push(Step::Done(request.complete(Ok(())))),
            }
        }
        if let Some(ending) = self.ending.take() {
            steps.push(ending);
        }
    }
}

impl Sealed for Journal {}

impl Machine for Journal {
    type Control = ();
    type Status = ();
    type Notice = Infallible;
    type Config = ();
    type Map = NoMap;

    fn map(&self) -> Arc<NoMap> {
        Arc::new(NoMap)
    }

    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        vec![Some(Face {
            info: legs[DATA].clone(),
            extents_of_leg: None,
        })]
    }

    fn foresee(&self, (): &(), legs: &[Info]) -> crate::Result<Vec<Option<Face>>> {
        Ok(self.faces(legs))
    }

    fn status(&self) {}

    fn event(&mut self, event: Event<(), ()>, _: Duration, steps: &mut Steps) {
        match event {
            Event::Start => {
                self.state = State::Loading;
                Self::sub(LOG, Request::read(0, 0, Buffer::zeroed(SECTOR)), steps);
            }
            Event::Request { request, .. } => {
                self.waiting.push_back(request);
                self.go_on(steps);
            }
            Event::Answer { answer, .. } => self.answer(answer, steps),
            Event::Suspend if self.is_hasty => steps.push(Step::Suspended),
            Event::Suspend => {
                self.ending = Some(Step::Suspended);
                self.go_on(steps);
            }
            Event::Stop => {
                self.ending = Some(Step::Stopped);
                self.go_on(steps);
            }
            Event::Control { id, .. } => steps.push(Step::Obeyed { id, result: Ok(()) }),
            Event::Timer(_) | Event::Reload(()) | Event::Resume | Event::Freed => {}
            Event::Returned { returned, .. } => match returned.hold {},
        }
    }
}
