//! A thread's queue of a volume: cuts requests, asks the devices, answers the whole.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{Answers, Completion, Driver, Error, Kind, Operation, Queue, Range, Request, Result};

use super::gather::Gather;
use super::generation::{Generation, Leg};
use super::swap::Shared;
use crate::gate::{Gate, Pass};
use crate::table::{Hint, Leaf, Run};

/// One queue. Its legs are those of its generation, and, until its requests are drained, those
/// of the ones before.
pub(super) struct VolumeQueue {
    gate: Gate<Generation>,
    driver: Driver,
    generation: Arc<Generation>,
    hint: Hint,
    legs: Vec<OpenLeg>,
    /// For each device of the table, its place in `legs`.
    leg_of: Vec<usize>,
    gather: Gather,
    /// Parts at the devices.
    out: usize,
    /// Requests whose answer has not been handed out.
    in_flight: usize,
    /// Requests that wait for the end of a suspension. Callers bound what they submit.
    held: VecDeque<Request>,
    done: Answers,
    runs: Vec<Run>,
    /// Keeps what the volume keeps; the last to go.
    shared: Arc<Shared>,
}

/// A device with this queue's own queue of it; what opening failed with, otherwise.
struct OpenLeg {
    leg: Arc<Leg>,
    queue: Result<Box<dyn Queue>>,
    /// Parts at this device.
    out: usize,
}

impl OpenLeg {
    fn new(leg: &Arc<Leg>, driver: &Driver) -> Self {
        Self {
            leg: Arc::clone(leg),
            queue: leg.device.open_queue(driver),
            out: 0,
        }
    }
}

impl VolumeQueue {
    pub(super) fn open(shared: &Arc<Shared>, driver: &Driver) -> Result<Self> {
        let generation = shared.current();
        let mut queue = Self {
            gate: Gate::new(&shared.gateway, driver.waker()),
            driver: driver.clone(),
            hint: Hint::default(),
            legs: Vec::new(),
            leg_of: Vec::new(),
            gather: Gather::default(),
            out: 0,
            in_flight: 0,
            held: VecDeque::new(),
            done: Answers::new(driver),
            runs: Vec::new(),
            shared: Arc::clone(shared),
            generation,
        };
        queue.open_legs();
        for leg in &queue.legs {
            if let Err(error) = &leg.queue {
                return Err(error.clone().within(&shared.name));
            }
        }
        Ok(queue)
    }

    /// Opens what the generation has and this queue has not, and closes what is no longer used.
    fn open_legs(&mut self) {
        if self.out == 0 {
            let used = &self.generation.legs;
            self.legs
                .retain(|open| used.iter().any(|leg| Arc::ptr_eq(leg, &open.leg)));
        }
        self.leg_of.clear();
        for leg in &self.generation.legs {
            let same = |open: &OpenLeg| Arc::ptr_eq(&open.leg, leg);
            let place = self.legs.iter().position(same).unwrap_or_else(|| {
                self.legs.push(OpenLeg::new(leg, &self.driver));
                self.legs.len() - 1
            });
            self.leg_of.push(place);
        }
    }

    /// Takes the table that the volume has now.
    #[cold]
    fn follow(&mut self) {
        self.generation = self.shared.current();
        self.hint = Hint::default();
        self.open_legs();
    }

    /// Whether requests may go to the devices now. If so, one is to be started.
    #[inline]
    fn may_start(&mut self) -> bool {
        match self.gate.pass(self.generation.number) {
            Pass::Closed => return false,
            Pass::Open => {}
            Pass::Newer => self.follow(),
        }
        true
    }

    /// Where a request goes if it is proper and one device serves it as a whole, as most are.
    #[inline]
    fn only_device(&mut self, request: &Request) -> Option<(usize, u64)> {
        let with_data = matches!(request.operation, Operation::Read | Operation::Write);
        let range = request.range;
        if !with_data || range.is_empty() || !self.generation.info.is_proper(request) {
            return None;
        }
        let mapped = self.generation.table.lookup(range.start(), &mut self.hint);
        match mapped.leaf {
            Leaf::Device { device, offset } if mapped.len >= range.len() => Some((device, offset)),
            _ => None,
        }
    }

    /// Starts any request that may go to the devices.
    fn start(&mut self, request: Request) {
        if let Err(error) = self.generation.info.admit(&request) {
            self.done.push(request.complete(Err(error)));
        } else {
            self.start_parts(request);
        }
        if self.out == 0 {
            self.gate.idle();
        }
    }

    /// Starts a request that is cut into parts, or goes nowhere.
    fn start_parts(&mut self, request: Request) {
        let number = self.gather.begin(request.tag, request.operation);
        match request.operation {
            Operation::Read | Operation::Write => self.start_data(number, request),
            Operation::WriteZeroes(_) | Operation::Discard => self.start_bare(number, &request),
            Operation::Flush => self.start_flush(number),
        }
        if let Some(answer) = self.gather.finish(number) {
            self.done.push(answer);
        }
    }

    fn start_data(&mut self, number: u32, request: Request) {
        let (operation, durability) = (request.operation, request.durability);
        let mut at = request.range.start();
        let mut rest = request.buffer;
        while !rest.is_empty() {
            let mapped = self.generation.table.lookup(at, &mut self.hint);
            let len = mapped.len.min(rest.len() as u64);
            let tail = rest.split_off(len as usize);
            let mut buffer = std::mem::replace(&mut rest, tail);
            at += len;
            match mapped.leaf {
                Leaf::Device { device, offset } => {
                    let part = Request {
                        tag: self.gather.part(number, 0),
                        operation,
                        range: Range::new(offset, len),
                        durability,
                        buffer,
                    };
                    self.give(device, part);
                }
                Leaf::Zero => {
                    if operation == Operation::Read {
                        buffer.fill(0);
                    }
                    self.gather.done(number, buffer);
                }
                Leaf::Error { reason } => {
                    self.fail(number, reason);
                    self.gather.done(number, buffer);
                }
            }
        }
    }

    fn start_bare(&mut self, number: u32, request: &Request) {
        let mut runs = std::mem::take(&mut self.runs);
        let table = &self.generation.table;
        table.runs(request.range, &mut self.hint, &mut runs);
        for run in runs.drain(..) {
            match run.leaf {
                Leaf::Device { device, offset } => {
                    let discard = request.operation == Operation::Discard;
                    if discard && !self.generation.legs[device].discards {
                        continue;
                    }
                    let tag = self.gather.part(number, 0);
                    let range = Range::new(offset, run.len);
                    let mut part = Request::bare(tag, request.operation, range);
                    part.durability = request.durability;
                    self.give(device, part);
                }
                Leaf::Zero => {}
                Leaf::Error { reason } => self.fail(number, reason),
            }
        }
        self.runs = runs;
    }

    fn start_flush(&mut self, number: u32) {
        for device in 0..self.leg_of.len() {
            if let Some(covers) = self.generation.legs[device].unflushed() {
                let part = Request::flush(self.gather.part(number, covers));
                self.give(device, part);
            }
        }
    }

    /// Gives a part to the device with this index in the table.
    #[inline]
    fn give(&mut self, device: usize, part: Request) {
        let leg = &mut self.legs[self.leg_of[device]];
        if let Ok(queue) = &mut leg.queue {
            leg.out += 1;
            self.out += 1;
            queue.submit(part);
        } else {
            self.give_up(device, part);
        }
    }

    /// Answers a part for a device that could not be opened.
    #[cold]
    fn give_up(&mut self, device: usize, part: Request) {
        let Err(error) = &self.legs[self.leg_of[device]].queue else {
            unreachable!("a device that was opened is asked")
        };
        let error = error.clone().within(&self.generation.info.name);
        let answered = self.gather.answer(part.tag, part.buffer);
        self.gather.fail(answered.whole, || error);
    }

    /// The request touches a segment that only fails.
    fn fail(&mut self, number: u32, reason: usize) {
        let generation = &self.generation;
        self.gather.fail(number, || {
            let reason = generation.table.reason(reason);
            Error::new(Kind::Io, format!("{}: {reason}", generation.info.name))
        });
    }

    /// Takes the answers of the device at `place` in `legs`. Those to requests that went there as a
    /// whole are handed out as they came.
    fn take_answers(&mut self, place: usize, done: &mut Vec<Completion>) {
        let open = &mut self.legs[place];
        let Ok(queue) = &mut open.queue else {
            return;
        };
        let mut at = done.len();
        queue.poll(done);
        let count = done.len() - at;
        open.out -= count;
        self.out -= count;
        let leg = &open.leg;
        let name = &self.generation.info.name;
        // Also after a failure: some of it may have been written. Counted before anybody learns of
        // the answers, and once for all of them.
        let mut wrote = false;
        while let Some(answer) = done.get_mut(at) {
            if let Some(single) = self.gather.take_single(answer.tag) {
                answer.tag = single.tag;
                if answer.result.is_err() {
                    let result = std::mem::replace(&mut answer.result, Ok(()));
                    answer.result = result.map_err(|error| named(error, name, &leg.name));
                }
                wrote |= single.operation.is_write();
                self.in_flight -= 1;
                at += 1;
                continue;
            }
            let answer = done.swap_remove(at);
            let part = self.gather.answer(answer.tag, answer.buffer);
            match answer.result {
                Ok(()) if part.operation == Operation::Flush => leg.flushed(part.covers),
                Ok(()) => {}
                Err(error) => {
                    self.gather
                        .fail(part.whole, || named(error, name, &leg.name));
                }
            }
            wrote |= part.operation.is_write();
            if let Some(answer) = self.gather.finish(part.whole) {
                self.done.push(answer);
            }
        }
        if wrote {
            leg.wrote();
        }
    }

    /// An idle queue keeps nothing that was exchanged, nor do those of its devices.
    fn let_go(&mut self, done: &mut Vec<Completion>) {
        if self.gate.is_newer(self.generation.number) {
            self.follow();
        }
        let before = done.len();
        let queues = self
            .legs
            .iter_mut()
            .filter_map(|open| open.queue.as_mut().ok());
        queues.for_each(|queue| queue.poll(done));
        assert_eq!(done.len(), before, "what was not asked is not answered");
    }

    fn start_held(&mut self) {
        while !self.held.is_empty() && self.may_start() {
            let request = self.held.pop_front();
            self.start(request.expect("somebody waits"));
        }
    }
}

/// The error of a leg, with the names of the volume and of the leg.
fn named(error: Error, volume: &str, leg: &str) -> Error {
    if error.to_string().contains(leg) {
        return error.within(volume);
    }
    error.within(format_args!("{volume}: {leg}"))
}

impl Queue for VolumeQueue {
    /// What one device serves as a whole goes there without being moved on the way: a move waits
    /// for what was just stored, and costs more than the lookup.
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        if !self.held.is_empty() || !self.may_start() {
            self.held.push_back(request);
            return;
        }
        if let Some((device, offset)) = self.only_device(&request) {
            let leg = &mut self.legs[self.leg_of[device]];
            if let Ok(queue) = &mut leg.queue {
                leg.out += 1;
                self.out += 1;
                return queue.submit(Request {
                    tag: self.gather.single(request.tag, request.operation),
                    operation: request.operation,
                    range: Range::new(offset, request.range.len()),
                    durability: request.durability,
                    buffer: request.buffer,
                });
            }
        }
        self.start(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.in_flight == 0 {
            return self.let_go(done);
        }
        if !self.held.is_empty() {
            self.start_held();
        }
        for place in 0..self.legs.len() {
            if self.legs[place].out > 0 {
                self.take_answers(place, done);
            }
        }
        if self.out == 0 {
            self.gate.idle();
        }
        self.in_flight -= self.done.len();
        self.done.drain_into(done);
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

impl Drop for VolumeQueue {
    fn drop(&mut self) {
        // The devices' queues wait for what they have before the gate says that it is idle.
        for open in self.legs.drain(..) {
            drop(open.queue);
            if open.out > 0 {
                // Perhaps a write, whose answer is lost.
                open.leg.wrote();
            }
        }
    }
}
