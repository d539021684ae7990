//! A device that answers late: latency per request, and a limit to the rate of data.
//!
//! Each request first waits for its share of the rate (as if all went over one wire, one after the
//! other) and then for the latency of its kind; after that it is given to the only leg. So a slow
//! disk is shown on a fast one. It is also the simplest [`Machine`] there is, and shows the shape.
//!
//! Does not: reorder what has the same latency, limit the number of requests in flight, or know
//! about seeks; the lab's disks do.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use block::{Completion, Info, Operation, Request};

use crate::Result;
use crate::machine::sealed::Sealed;
use crate::machine::{Event, Face, Machine, Step, Steps};
use crate::map::NoMap;
use crate::slab::Slab;

/// How late answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slowness {
    /// What a read waits.
    pub read: Duration,
    /// What a write waits, and writing zeros, and a discard.
    pub write: Duration,
    /// What a flush waits.
    pub flush: Duration,
    /// How many bytes are read and written in a second; `None`: no limit.
    pub bytes_per_second: Option<u64>,
}

/// The machine: requests that wait, and when the wire is free.
#[derive(Debug)]
pub struct Delay {
    name: String,
    slowness: Slowness,
    wire_free_at: Duration,
    /// Requests that wait, by the key of their timer.
    waiting: Slab<Request>,
    in_flight: usize,
    /// What is said once nothing is in flight.
    ending: Option<Step<Infallible>>,
}

impl Delay {
    /// A machine for one leg, known as `name`.
    pub fn new(name: impl Into<String>, slowness: Slowness) -> Self {
        Self {
            name: name.into(),
            slowness,
            wire_free_at: Duration::ZERO,
            waiting: Slab::default(),
            in_flight: 0,
            ending: None,
        }
    }

    fn request(&mut self, request: Request, now: Duration, steps: &mut Steps<Infallible>) {
        self.in_flight += 1;
        let due = self.due(&request, now);
        if due <= now {
            steps.push(Step::Sub { leg: 0, request });
            return;
        }
        let (at, key) = (due, self.waiting.insert(request) as u64);
        steps.push(Step::Timer { at, key });
    }

    /// When the leg may be asked; occupies the wire until then.
    fn due(&mut self, request: &Request, now: Duration) -> Duration {
        let latency = match request.operation {
            Operation::Read => self.slowness.read,
            Operation::Flush => self.slowness.flush,
            Operation::Write | Operation::WriteZeroes(_) | Operation::Discard => {
                self.slowness.write
            }
        };
        let mut start = now;
        if let Some(rate) = self.slowness.bytes_per_second.filter(|rate| *rate > 0) {
            let nanoseconds = request.buffer.len() as u128 * 1_000_000_000 / u128::from(rate);
            let busy = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
            self.wire_free_at = self.wire_free_at.max(now).saturating_add(busy);
            if !request.buffer.is_empty() {
                start = self.wire_free_at;
            }
        }
        start.saturating_add(latency)
    }

    fn timer(&mut self, key: usize, steps: &mut Steps<Infallible>) {
        let request = self.waiting.remove(key);
        steps.push(Step::Sub { leg: 0, request });
    }

    fn answer(&mut self, answer: Completion, steps: &mut Steps<Infallible>) {
        self.in_flight -= 1;
        steps.push(Step::Done(answer));
        self.end_if_idle(steps);
    }

    fn end(&mut self, ending: Step<Infallible>, steps: &mut Steps<Infallible>) {
        self.ending = Some(ending);
        self.end_if_idle(steps);
    }

    fn end_if_idle(&mut self, steps: &mut Steps<Infallible>) {
        if self.in_flight == 0
            && let Some(ending) = self.ending.take()
        {
            steps.push(ending);
        }
    }
}

impl Sealed for Delay {}

/// An order is how late answers are from now on.
impl Machine for Delay {
    type Control = Slowness;
    type Status = Slowness;
    type Notice = Infallible;
    type Config = Slowness;
    type Map = NoMap;

    fn map(&self) -> Arc<NoMap> {
        Arc::new(NoMap)
    }

    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        let mut info = legs[0].clone();
        info.name.clone_from(&self.name);
        let extents_of_leg = Some(0);
        vec![Some(Face {
            info,
            extents_of_leg,
        })]
    }

    fn foresee(&self, _: &Slowness, legs: &[Info]) -> Result<Vec<Option<Face>>> {
        Ok(self.faces(legs))
    }

    fn status(&self) -> Slowness {
        self.slowness
    }

    fn event(
        &mut self,
        event: Event<Slowness, Slowness>,
        now: Duration,
        steps: &mut Steps<Infallible>,
    ) {
        match event {
            Event::Start => steps.push(Step::Started(Ok(()))),
            Event::Request { request, .. } => self.request(request, now, steps),
            Event::Answer { answer, .. } => self.answer(answer, steps),
            Event::Timer(key) => self.timer(key as usize, steps),
            Event::Suspend => self.end(Step::Suspended, steps),
            Event::Reload(slowness) => self.slowness = slowness,
            Event::Resume => {}
            Event::Control { id, control } => {
                self.slowness = control;
                steps.push(Step::Obeyed { id, result: Ok(()) });
            }
            Event::Returned { returned, .. } => match returned.hold {},
            Event::Freed => unreachable!("nobody holds anything"),
            Event::Stop => self.end(Step::Stopped, steps),
        }
    }
}

#[cfg(test)]
mod tests;
