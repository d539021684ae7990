//! The home's thread: tells the machine what happened and carries out its steps.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use block::{Buffer, Completion, Device, Driver, Info, Outbox, Queue, Request};

use super::direct::Behind;
use super::home_device::{Controller, NoticeHandler};
use super::home_queue::gone;
use super::messages::{Inbox, Message};
use crate::gate::{Closed, Gateway};
use crate::machine::{Event, EventOf, Face, Machine, Step, Steps};
use crate::slab::Slab;
use crate::{Error, Kind, Result};
use becoming::Prepared;

mod becoming;

/// The faces of a machine, by their numbers.
type Faces = Vec<Option<Face>>;

pub(super) struct Runner<M: Machine> {
    name: String,
    machine: M,
    leg_infos: Vec<Info>,
    faces: Faces,
    prepared: Option<Prepared<M>>,
    inbox: Arc<Inbox<M>>,
    /// Before what queues ask without the machine.
    gateway: Arc<Gateway<Behind<M>>>,
    /// As long as that has to rest.
    closed: Option<Closed<Behind<M>>>,
    /// The devices that the legs are.
    devices: Vec<Arc<dyn Device>>,
    driver: Driver,
    origin: Instant,
    phase: Phase,
    legs: Vec<Leg>,
    steps: Steps<M::Notice>,
    timers: BinaryHeap<Reverse<(Duration, u64)>>,
    /// Whose the requests are that the machine has, by the tag that it knows them by.
    tickets: Slab<Ticket>,
    /// Requests that came while none may reach the machine.
    held: VecDeque<Held>,
    /// Outboxes that got their first answer in this turn.
    filled: Vec<Arc<Outbox>>,
    /// Who waits until orders are obeyed, by the number of the order.
    ordered: HashMap<u64, SyncSender<Result<()>>>,
    order_count: u64,
    handler: NoticeHandler<M>,
    controller: Controller<M>,
    /// What was asked and has not been done; here, so that it is answered after a panic.
    messages: VecDeque<Message<M>>,
    answers: Vec<Completion>,
}

/// What the machine is doing.
enum Phase {
    Starting(SyncSender<Result<Faces>>),
    Running,
    /// Somebody waits for it to be suspended, and what queues ask without it has to end before.
    Draining(SyncSender<Result<()>>),
    /// Somebody waits for it to be suspended; or no longer, and wants it resumed.
    Suspending(Option<SyncSender<Result<()>>>),
    Suspended,
    /// Suspended, and to be resumed at once.
    Resuming,
    /// The machine was told nothing yet; if it has taken the place of another one, that was
    /// suspended.
    Waiting,
    /// It starts; somebody may wait for it to be suspended.
    Restarting(Option<SyncSender<Result<()>>>),
    Stopping,
    Stopped,
}

struct Leg {
    queue: Box<dyn Queue>,
    /// Requests that it has not answered.
    out: usize,
}

struct Ticket {
    from: Arc<Outbox>,
    tag: u64,
}

/// A request that waits.
struct Held {
    from: Arc<Outbox>,
    face: usize,
    request: Request,
}

/// What a machine is told first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// To start.
    Start,
    /// Nothing before it is resumed.
    Wait,
}

impl<M: Machine> Runner<M> {
    /// Runs `machine` until it is stopped; the first of `hear` hears whether it could be started,
    /// or waits for that, the second one its notices.
    pub(super) fn begin(
        (name, machine): (String, M),
        (devices, begin): (&[Arc<dyn Device>], Begin),
        (inbox, gateway): (Arc<Inbox<M>>, Arc<Gateway<Behind<M>>>),
        (started, handler): (SyncSender<Result<Faces>>, NoticeHandler<M>),
    ) {
        let opened = Driver::new().and_then(|driver| {
            let legs = open(devices, &driver)?;
            Ok((driver, legs))
        });
        let (driver, opened) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                inbox.close();
                let _ = started.send(Err(Error::device(name, error)));
                return;
            }
        };
        inbox.set_waker(driver.waker());
        gateway.keep(driver.waker());
        let mut runner = Self {
            name,
            machine,
            handler,
            controller: Controller::new(Arc::clone(&inbox)),
            leg_infos: infos(devices),
            faces: Vec::new(),
            prepared: None,
            inbox,
            gateway,
            closed: None,
            devices: devices.to_vec(),
            driver,
            origin: Instant::now(),
            phase: Phase::Starting(started),
            legs: opened,
            steps: Steps::default(),
            timers: BinaryHeap::new(),
            tickets: Slab::default(),
            held: VecDeque::new(),
            filled: Vec::new(),
            ordered: HashMap::new(),
            order_count: 0,
            messages: VecDeque::new(),
            answers: Vec::new(),
        };
        if begin == Begin::Wait
            && let Phase::Starting(waiter) = std::mem::replace(&mut runner.phase, Phase::Waiting)
        {
            runner.faces = runner.machine.faces(&runner.leg_infos);
            let _ = waiter.send(Ok(runner.faces.clone()));
        }
        // A machine that panics takes its device with it, but not those who wait for answers.
        let _ = catch_unwind(AssertUnwindSafe(|| runner.run()));
        runner.close();
    }

    fn run(&mut self) {
        if matches!(self.phase, Phase::Starting(_)) {
            self.tell(Event::Start);
        }
        while !matches!(self.phase, Phase::Stopped) {
            let mut worked = self.take_asks();
            worked |= self.end_drain();
            worked |= self.release_held();
            worked |= self.take_answers();
            worked |= self.fire_timers();
            self.deliver();
            if !worked {
                self.let_go();
                self.sleep();
            }
        }
    }

    /// Tells the machine an event and carries out what it asks for.
    fn tell(&mut self, event: EventOf<M>) {
        let now = self.origin.elapsed();
        self.machine.event(event, now, &mut self.steps);
        while let Some(step) = self.steps.pop() {
            self.carry_out(step);
        }
    }

    fn carry_out(&mut self, step: Step<M::Notice>) {
        match step {
            Step::Started(result) => self.started(result),
            Step::Done(answer) => self.answer(answer),
            Step::Sub { leg, request } => {
                let leg = &mut self.legs[leg];
                leg.out += 1;
                leg.queue.submit(request);
            }
            Step::Timer { at, key } => self.timers.push(Reverse((at, key))),
            Step::Suspended => self.suspended(),
            Step::Obeyed { id, result } => {
                let waiter = self.ordered.remove(&id).expect("an order is obeyed once");
                let result = result.map_err(|error| Error::device(self.name.clone(), error));
                let _ = waiter.send(result);
            }
            Step::Notice(notice) => (self.handler)(notice, &self.controller),
            Step::Stopped => {
                self.assert_idle();
                self.phase = Phase::Stopped;
            }
        }
    }

    fn started(&mut self, result: block::Result<()>) {
        if matches!(self.phase, Phase::Stopping) {
            // Whoever started it lost patience.
            return;
        }
        let after = match result {
            Ok(()) => Phase::Running,
            Err(_) => Phase::Stopped,
        };
        let before = std::mem::replace(&mut self.phase, after);
        let result = result.map_err(|error| Error::device(self.name.clone(), error));
        let result = result.map(|()| {
            self.faces = self.machine.faces(&self.leg_infos);
            self.publish();
            self.faces.clone()
        });
        match before {
            // Nobody listens any more if a stop is on its way.
            Phase::Starting(waiter) => drop(waiter.send(result)),
            Phase::Restarting(waiter) => {
                self.closed = None;
                if let Some(waiter) = waiter {
                    self.suspend(waiter);
                }
            }
            _ => panic!("a machine starts once"),
        }
    }

    /// Lets queues know what the machine is made of now.
    fn publish(&mut self) {
        let behind = Behind {
            legs: self.devices.clone(),
            faces: self.faces.clone(),
            map: Some(self.machine.map()),
        };
        behind.publish(&self.gateway);
    }

    fn suspended(&mut self) {
        if matches!(self.phase, Phase::Stopping) {
            return;
        }
        self.assert_idle();
        let before = std::mem::replace(&mut self.phase, Phase::Suspended);
        match before {
            Phase::Suspending(Some(waiter)) => {
                let _ = waiter.send(Ok(()));
            }
            Phase::Suspending(None) => self.phase = Phase::Resuming,
            _ => panic!("a machine suspends when it was told to"),
        }
    }

    fn answer(&mut self, answer: Completion) {
        let key = answer.tag as usize;
        let ticket = self.tickets.remove(key);
        self.put(&ticket.from, ticket.tag, answer);
    }

    fn put(&mut self, outbox: &Arc<Outbox>, tag: u64, mut answer: Completion) {
        answer.tag = tag;
        if outbox.put(answer) {
            self.filled.push(Arc::clone(outbox));
        }
    }

    fn take_asks(&mut self) -> bool {
        self.inbox.receive(&mut self.messages);
        let worked = !self.messages.is_empty();
        while let Some(message) = self.messages.pop_front() {
            self.take_message(message);
        }
        worked
    }

    fn take_message(&mut self, message: Message<M>) {
        match message {
            Message::Request {
                from,
                face,
                request,
            } => {
                let held = Held {
                    from,
                    face,
                    request,
                };
                if matches!(self.phase, Phase::Running) && self.held.is_empty() {
                    self.request(held);
                } else {
                    self.held.push_back(held);
                }
            }
            Message::Returned {
                from,
                face,
                mut returned,
            } => {
                let tag = returned.request.tag;
                returned.request.tag = self.tickets.insert(Ticket { from, tag }) as u64;
                self.tell(Event::Returned { face, returned });
            }
            Message::Freed => self.tell(Event::Freed),
            Message::Abandon(outbox) => {
                let (gone, held) = std::mem::take(&mut self.held)
                    .into_iter()
                    .partition(|held| Arc::ptr_eq(&held.from, &outbox));
                self.held = held;
                self.refuse(gone);
            }
            Message::Suspend(waiter) => self.suspend(waiter),
            Message::Prepare {
                number,
                config,
                legs,
                reply,
            } => {
                let _ = reply.send(self.prepare(number, config, &legs));
            }
            Message::Forget(number) => {
                self.prepared.take_if(|prepared| prepared.number == number);
            }
            Message::Reload {
                number,
                handler,
                reply,
            } => {
                let _ = reply.send(self.reload(number, handler));
            }
            Message::Resume => self.resume(),
            Message::Control { control, obeyed } => self.order(control, obeyed),
            Message::Status(reply) => {
                let _ = reply.send(Ok(self.machine.status()));
            }
            Message::Stop if matches!(self.phase, Phase::Waiting) => self.phase = Phase::Stopped,
            Message::Stop => {
                self.phase = Phase::Stopping;
                self.tell(Event::Stop);
            }
        }
    }

    /// Gives the machine an order, if it has started.
    fn order(&mut self, control: M::Control, obeyed: SyncSender<Result<()>>) {
        if self.has_not_started() {
            let what = format!("{} is becoming another one; try again", self.name);
            let _ = obeyed.send(Err(Error::new(Kind::Busy, what)));
            return;
        }
        self.order_count += 1;
        let id = self.order_count;
        self.ordered.insert(id, obeyed);
        self.tell(Event::Control { id, control });
    }

    fn suspend(&mut self, waiter: SyncSender<Result<()>>) {
        if matches!(self.phase, Phase::Resuming) {
            // It was told to go on in the same batch, so it does, if only to rest again.
            self.release_held();
        }
        if let Phase::Restarting(waiting @ None) = &mut self.phase {
            // It rests when it has started.
            *waiting = Some(waiter);
            return;
        }
        if matches!(self.phase, Phase::Running) {
            let closed = Closed::begin(&self.gateway);
            assert!(closed.is_some(), "only the home closes its gate");
            self.closed = closed;
            self.phase = Phase::Draining(waiter);
        } else {
            let what = format!("{} is not running, so it cannot be suspended", self.name);
            let _ = waiter.send(Err(Error::new(Kind::Busy, what)));
        }
    }

    /// Tells the machine to suspend once the queues ask the legs for nothing.
    fn end_drain(&mut self) -> bool {
        let is_drained = || self.closed.as_ref().is_some_and(Closed::is_drained);
        if !matches!(self.phase, Phase::Draining(_)) || !is_drained() {
            return false;
        }
        // What they gave back came before they were idle.
        self.take_asks();
        // It may have been told to go on, and to suspend once more: those are others.
        let is_drained = || self.closed.as_ref().is_some_and(Closed::is_drained);
        if matches!(self.phase, Phase::Draining(_)) && !is_drained() {
            return true;
        }
        match std::mem::replace(&mut self.phase, Phase::Suspending(None)) {
            Phase::Draining(waiter) => {
                self.phase = Phase::Suspending(Some(waiter));
                self.tell(Event::Suspend);
            }
            resumed => self.phase = resumed,
        }
        true
    }

    fn resume(&mut self) {
        let meanwhile = || {
            let what = format!("{} was resumed meanwhile", self.name);
            Err(Error::new(Kind::Busy, what))
        };
        match &mut self.phase {
            Phase::Draining(waiter) => {
                let _ = waiter.send(meanwhile());
                self.closed = None;
                self.phase = Phase::Running;
            }
            Phase::Suspending(waiter) | Phase::Restarting(waiter) => {
                if let Some(waiter) = waiter.take() {
                    let _ = waiter.send(meanwhile());
                }
            }
            Phase::Suspended => self.phase = Phase::Resuming,
            Phase::Waiting => {
                self.phase = Phase::Restarting(None);
                self.tell(Event::Start);
            }
            _ => {}
        }
    }

    /// Whether the machine has not started.
    fn has_not_started(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Restarting(_))
    }

    /// Tells the machine a request, if it has the face that is asked and that may be asked this.
    fn request(&mut self, held: Held) {
        let Some(face) = self.faces.get(held.face).and_then(Option::as_ref) else {
            return self.refuse([held].into());
        };
        let Held {
            from,
            face: number,
            mut request,
        } = held;
        let tag = request.tag;
        // A face may have become smaller since the queue was opened.
        if let Err(error) = face.info.admit(&request) {
            return self.put(&from, tag, request.complete(Err(error)));
        }
        let key = self.tickets.insert(Ticket { from, tag });
        request.tag = key as u64;
        let face = number;
        self.tell(Event::Request { face, request });
    }

    /// Lets through what was held, if that may be.
    fn release_held(&mut self) -> bool {
        let mut worked = false;
        if matches!(self.phase, Phase::Resuming) {
            self.phase = Phase::Running;
            self.tell(Event::Resume);
            self.closed = None;
            worked = true;
        }
        while matches!(self.phase, Phase::Running)
            && let Some(held) = self.held.pop_front()
        {
            self.request(held);
            worked = true;
        }
        worked
    }

    fn take_answers(&mut self) -> bool {
        let mut worked = false;
        for leg in 0..self.legs.len() {
            if self.legs[leg].out == 0 {
                continue;
            }
            let mut answers = std::mem::take(&mut self.answers);
            self.legs[leg].queue.poll(&mut answers);
            self.legs[leg].out -= answers.len();
            worked |= !answers.is_empty();
            for answer in answers.drain(..) {
                self.tell(Event::Answer { leg, answer });
            }
            self.answers = answers;
        }
        worked
    }

    /// Legs that have nothing of ours may have exchanged what they stand on: that goes when their
    /// queues are polled.
    fn let_go(&mut self) {
        for leg in self.legs.iter_mut().filter(|leg| leg.out == 0) {
            leg.queue.poll(&mut self.answers);
            assert!(
                self.answers.is_empty(),
                "what was not asked is not answered"
            );
        }
    }

    fn fire_timers(&mut self) -> bool {
        let now = self.origin.elapsed();
        let mut worked = false;
        while let Some(Reverse((at, key))) = self.timers.peek().copied()
            && at <= now
        {
            self.timers.pop();
            self.tell(Event::Timer(key));
            worked = true;
        }
        worked
    }

    fn deliver(&mut self) {
        for outbox in self.filled.drain(..) {
            outbox.notify();
        }
    }

    fn sleep(&mut self) {
        if !self.inbox.may_sleep() {
            return;
        }
        let now = self.origin.elapsed();
        let next = self.timers.peek();
        let timeout = next.map(|Reverse((at, _))| at.saturating_sub(now));
        if let Err(error) = self.driver.wait(&mut [], timeout) {
            // Waiting fails only for a defect of this process; nothing could be answered then.
            panic!("{}: {error}", self.name);
        }
    }

    fn assert_idle(&self) {
        let idle = self.tickets.is_empty();
        assert!(idle, "requests in flight are answered before the end");
    }

    /// Answers requests that no machine will see.
    fn refuse(&mut self, requests: VecDeque<Held>) {
        for Held { from, request, .. } in requests {
            let tag = request.tag;
            let answer = request.complete(Err(gone(&self.name)));
            self.put(&from, tag, answer);
        }
        self.deliver();
    }

    /// Answers all that is left, after the last event or a panic.
    fn close(&mut self) {
        Behind::nothing().publish(&self.gateway);
        let mut left = std::mem::take(&mut self.held);
        let messages = self
            .inbox
            .close()
            .into_iter()
            .chain(self.messages.drain(..));
        left.extend(messages.filter_map(|message| match message {
            Message::Request {
                from,
                face,
                request,
            } => Some(Held {
                from,
                face,
                request,
            }),
            Message::Returned {
                from,
                face,
                returned,
            } => Some(Held {
                from,
                face,
                request: returned.request,
            }),
            _ => None,
        }));
        self.refuse(left);
        for ticket in std::mem::take(&mut self.tickets).into_things() {
            let answer = Completion {
                tag: ticket.tag,
                result: Err(gone(&self.name)),
                buffer: Buffer::empty(),
            };
            self.put(&ticket.from, ticket.tag, answer);
        }
        self.deliver();
    }
}

fn infos(legs: &[Arc<dyn Device>]) -> Vec<Info> {
    legs.iter().map(|leg| leg.info()).collect()
}

fn open(legs: &[Arc<dyn Device>], driver: &Driver) -> block::Result<Vec<Leg>> {
    let open = |leg: &Arc<dyn Device>| {
        let queue = leg.open_queue(driver)?;
        Ok(Leg { queue, out: 0 })
    };
    legs.iter().map(open).collect()
}
