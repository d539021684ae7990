//! Requests that a queue gives to the legs itself, as the machine's map allows.
//!
//! The queue has its own queues of the legs, on its own driver, each opened when the first request
//! goes there. What all legs did is answered here, and the home's thread never wakes for it. What
//! one of them did not do is given to the home with what it holds: the machine judges it.
//!
//! Whoever suspends the home closes the gate ([`crate::gate`]) and waits until no queue has such
//! requests; so when the machine is told to suspend, there are none, and what came back of them has
//! reached the home before. Another set of legs is published behind the closed gate, with the map
//! that is for it.

use std::convert::Infallible;
use std::sync::Arc;

use block::{Completion, Device, Driver, Error, Operation, Outbox, Queue, Range, Request};

use super::home_queue::gone;
use super::messages::{Inbox, Message};
use crate::gate::{Gate, Gateway, Pass};
use crate::machine::{Face, Machine};
use crate::map::{Ended, Legs, Map, Returned, Route};
use crate::slab::Slab;

pub(super) type HoldOf<M> = <<M as Machine>::Map as Map>::Hold;

/// What is behind the gate of a home: what its machine is made of now.
pub(super) struct Behind<M: Machine> {
    pub(super) legs: Vec<Arc<dyn Device>>,
    pub(super) faces: Vec<Option<Face>>,
    /// `None`: the machine has not started, or has ended.
    pub(super) map: Option<Arc<M::Map>>,
}

impl<M: Machine> Behind<M> {
    /// Nothing.
    pub(super) fn nothing() -> Self {
        Self {
            legs: Vec::new(),
            faces: Vec::new(),
            map: None,
        }
    }

    /// Takes the place of what was behind the gate.
    pub(super) fn publish(self, gateway: &Gateway<Self>) {
        let Ok(()) = gateway.publish::<Infallible>(|_, _| Ok(self));
    }

    /// Whether a face is there that takes a request, as the home would say.
    fn has(&self, face: usize, request: &Request) -> bool {
        let face = self.faces.get(face).and_then(Option::as_ref);
        face.is_some_and(|face| face.info.admit(request).is_ok())
    }
}

/// A queue's own way to the legs.
pub(super) struct Direct<M: Machine> {
    gate: Gate<Behind<M>>,
    inbox: Arc<Inbox<M>>,
    /// Where the home answers what is given to it.
    outbox: Arc<Outbox>,
    driver: Driver,
    face: usize,
    /// What is behind the gate, and its number.
    number: u64,
    behind: Arc<Behind<M>>,
    memory: <M::Map as Map>::Memory,
    legs: Vec<Leg>,
    /// Requests that are with legs, by the tag that these know them by.
    asks: Slab<Ask<HoldOf<M>>>,
    in_flight: usize,
    answers: Vec<Completion>,
}

/// A leg, with this queue's queue of it once that was needed.
struct Leg {
    queue: Option<Box<dyn Queue>>,
    /// Requests that it has not answered.
    out: usize,
}

/// A request that is with legs.
struct Ask<H> {
    /// Its buffer is with the first leg.
    request: Request,
    legs: Legs,
    first: usize,
    hold: H,
    /// Legs that have not answered.
    out: u32,
    /// Which of many legs did it: a bit each.
    good: u64,
    error: Option<Error>,
}

impl<M: Machine> Direct<M> {
    pub(super) fn new(
        gateway: &Arc<Gateway<Behind<M>>>,
        inbox: &Arc<Inbox<M>>,
        outbox: &Arc<Outbox>,
        (face, driver): (usize, &Driver),
    ) -> Self {
        let (number, behind) = gateway.current();
        let mut direct = Self {
            gate: Gate::new(gateway, driver.waker()),
            inbox: Arc::clone(inbox),
            outbox: Arc::clone(outbox),
            driver: driver.clone(),
            face,
            number,
            behind,
            memory: <M::Map as Map>::Memory::default(),
            legs: Vec::new(),
            asks: Slab::default(),
            in_flight: 0,
            answers: Vec::new(),
        };
        direct.forget_legs();
        direct
    }

    /// Requests that are with legs.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn forget_legs(&mut self) {
        assert_eq!(self.in_flight, 0, "legs are exchanged when they are idle");
        self.legs.clear();
        let closed = || Leg {
            queue: None,
            out: 0,
        };
        self.legs.resize_with(self.behind.legs.len(), closed);
    }

    /// Gives a request to the legs, if it may go there; the request, if not.
    pub(super) fn submit(&mut self, request: Request) -> Result<(), Request> {
        if !M::Map::ROUTES || !self.may_ask() {
            return Err(request);
        }
        let Some(route) = self.route(&request) else {
            self.rest();
            return Err(request);
        };
        self.ask(request, route);
        Ok(())
    }

    /// Whether the gate is open. If so, the legs are those behind it.
    fn may_ask(&mut self) -> bool {
        match self.gate.pass(self.number) {
            Pass::Open => true,
            Pass::Newer if self.in_flight == 0 => {
                self.follow();
                true
            }
            // Only where a machine has ended: legs are exchanged when they are idle.
            Pass::Newer | Pass::Closed => false,
        }
    }

    /// Takes what is behind the gate now.
    #[cold]
    fn follow(&mut self) {
        (self.number, self.behind) = self.gate.gateway().current();
        self.memory = <M::Map as Map>::Memory::default();
        self.forget_legs();
    }

    /// An idle queue keeps nothing that was exchanged, nor do those of its legs.
    fn let_go(&mut self) {
        if self.gate.is_newer(self.number) {
            self.follow();
        }
        for queue in self.legs.iter_mut().filter_map(|leg| leg.queue.as_mut()) {
            queue.poll(&mut self.answers);
        }
        assert!(
            self.answers.is_empty(),
            "what was not asked is not answered"
        );
    }

    /// Where a request may go, to legs that are open.
    fn route(&mut self, request: &Request) -> Option<Route<HoldOf<M>>> {
        let map = self.behind.map.as_ref()?;
        if !self.behind.has(self.face, request) {
            return None;
        }
        let route = map.route(self.face, request, &mut self.memory);
        let route = route.map_err(|ended| self.tell(ended)).ok()?;
        for leg in route.legs.iter() {
            if self.legs[leg].queue.is_some() {
                continue;
            }
            let Ok(queue) = self.behind.legs[leg].open_queue(&self.driver) else {
                // The home has a queue of it.
                let ended = map.end(route.hold);
                self.tell(ended);
                return None;
            };
            self.legs[leg].queue = Some(queue);
        }
        Some(route)
    }

    fn ask(&mut self, mut request: Request, route: Route<HoldOf<M>>) {
        let Route { legs, start, hold } = route;
        let first = legs.iter().next().expect("somebody is asked");
        let buffer = std::mem::take(&mut request.buffer);
        let range = Range::new(start, request.range.len());
        let (operation, durability) = (request.operation, request.durability);
        let ask = Ask {
            request,
            legs,
            first,
            hold,
            out: legs.iter().count() as u32,
            good: 0,
            error: None,
        };
        let tag = self.asks.insert(ask) as u64;
        self.in_flight += 1;
        for leg in legs.iter().skip(1) {
            self.give(
                leg,
                Request {
                    tag,
                    operation,
                    range,
                    durability,
                    buffer: buffer.share(),
                },
            );
        }
        self.give(
            first,
            Request {
                tag,
                operation,
                range,
                durability,
                buffer,
            },
        );
    }

    fn give(&mut self, leg: usize, request: Request) {
        let leg = &mut self.legs[leg];
        leg.out += 1;
        let queue = leg.queue.as_mut().expect("it was opened");
        queue.submit(request);
    }

    /// Appends the answers that are there; how many requests were given to the home instead.
    pub(super) fn poll(&mut self, done: &mut Vec<Completion>) -> usize {
        if self.in_flight == 0 {
            self.let_go();
            return 0;
        }
        let mut returned = 0;
        for leg in 0..self.legs.len() {
            if self.legs[leg].out == 0 {
                continue;
            }
            let mut answers = std::mem::take(&mut self.answers);
            let queue = self.legs[leg].queue.as_mut().expect("it was opened");
            queue.poll(&mut answers);
            self.legs[leg].out -= answers.len();
            for answer in answers.drain(..) {
                returned += self.answered(leg, answer, done);
            }
            self.answers = answers;
        }
        self.rest();
        returned
    }

    /// A leg answered; how many requests were given to the home for that.
    fn answered(&mut self, leg: usize, answer: Completion, done: &mut Vec<Completion>) -> usize {
        let id = answer.tag as usize;
        let ask = self.asks.get_mut(id);
        if leg == ask.first {
            ask.request.buffer = answer.buffer;
        }
        match answer.result {
            Ok(()) if ask.legs == Legs::One(leg) => {}
            Ok(()) => ask.good |= 1 << leg,
            Err(error) => _ = ask.error.get_or_insert(error),
        }
        ask.out -= 1;
        if ask.out > 0 {
            return 0;
        }
        let ask = self.asks.remove(id);
        self.in_flight -= 1;
        let map = self.behind.map.as_ref().expect("it was routed");
        if ask.error.is_none() && map.stands(&ask.hold) {
            let ended = map.end(ask.hold);
            self.tell(ended);
            done.push(ask.request.complete(Ok(())));
            return 0;
        }
        match self.give_back(ask) {
            None => 1,
            Some(answer) => {
                done.push(answer);
                0
            }
        }
    }

    /// Gives a request to the home. Its answer, if that has ended.
    fn give_back(&mut self, ask: Ask<HoldOf<M>>) -> Option<Completion> {
        let returned = Returned {
            request: ask.request,
            hold: ask.hold,
            legs: ask.legs,
            good: ask.good,
            error: ask.error,
        };
        let mut messages = vec![Message::Returned {
            from: Arc::clone(&self.outbox),
            face: self.face,
            returned,
        }];
        self.inbox.send(&mut messages);
        let Some(Message::Returned { returned, .. }) = messages.pop() else {
            return None;
        };
        let name = self.behind.faces[self.face].as_ref();
        let name = name.map_or("the device", |face| face.info.name.as_str());
        Some(returned.request.complete(Err(gone(name))))
    }

    /// Tells the home that holds have ended, if it waits for that.
    fn tell(&self, ended: Ended) {
        if ended == Ended::Awaited {
            self.inbox.send(&mut vec![Message::Freed]);
        }
    }

    /// Leaves the gate if nothing is in flight; what the home had to be told was told before.
    fn rest(&mut self) {
        if self.in_flight == 0 {
            self.gate.idle();
        }
    }

    /// Ends all that is in flight, whose answers nobody wants; how many were given to the home.
    pub(super) fn abandon(&mut self) -> usize {
        let mut returned = self.poll(&mut Vec::new());
        if self.in_flight == 0 {
            return returned;
        }
        // They wait for what they have.
        self.legs.clear();
        for mut ask in std::mem::take(&mut self.asks).into_things() {
            if ask.request.operation == Operation::Read {
                let map = self.behind.map.as_ref().expect("it was routed");
                let ended = map.end(ask.hold);
                self.tell(ended);
            } else {
                // Some of it may be written, and some not; of legs that have not answered nothing
                // is known, whatever others did.
                ask.error = None;
                returned += usize::from(self.give_back(ask).is_none());
            }
        }
        self.in_flight = 0;
        self.rest();
        returned
    }
}
