//! Requests that go to disks without the machine, as its map allows.
//!
//! They are those of other threads: between the look into the map, each request to a disk, its
//! answer, and what the machine is told of it, anything else may happen. A suspension waits for all
//! of them, as a home does ([`crate::home`]), and then the machine is told.

use block::sim::Random;
use block::{Buffer, Completion, Error, Operation, Range, Request};

use super::World;
use crate::machine::{Event, EventOf, Machine};
use crate::map::{Ended, Legs, Map, Returned, Route};

/// One in so many requests goes to the machine though it need not.
const HOMED: u64 = 8;
/// Queues that such requests come from.
const QUEUES: usize = 2;

/// A mistake in how requests go without the machine, made on purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mischief {
    /// What a request holds is given up before its legs are asked.
    HoldDropped,
    /// A read goes to another leg than the map says: the one that this says.
    Misrouted(fn(usize) -> usize),
    /// A write to a face that the map sends to the machine goes to this leg.
    Forced { face: usize, leg: usize },
    /// The machine is told to suspend while such requests are in flight.
    Hasty,
}

/// All that went without the machine and has not ended.
pub(super) struct Directly<M: Machine> {
    asks: Vec<Ask<M>>,
    next: usize,
    memories: [<M::Map as Map>::Memory; QUEUES],
    random: Random,
    /// Whether the machine is to be told that holds have ended.
    freed: bool,
    /// What it is told when nothing is in flight here.
    ending: Option<EventOf<M>>,
    /// Whether nothing may begin.
    is_closed: bool,
    /// Requests that ended here, by whether they wrote.
    pub(super) ended: [u64; 2],
}

struct Ask<M: Machine> {
    number: usize,
    face: usize,
    /// Its buffer is with the first leg.
    request: Request,
    /// `None`: it was given up on purpose.
    hold: Option<<M::Map as Map>::Hold>,
    legs: Legs,
    /// What was not begun.
    waiting: Vec<(usize, Request)>,
    out: usize,
    good: u64,
    error: Option<Error>,
}

impl<M: Machine> Directly<M> {
    pub(super) fn new() -> Self {
        Self {
            asks: Vec::new(),
            next: 0,
            memories: std::array::from_fn(|_| <M::Map as Map>::Memory::default()),
            random: Random::new(1),
            freed: false,
            ending: None,
            is_closed: false,
            ended: [0; 2],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty() && !self.freed
    }

    fn ask(&mut self, number: usize) -> &mut Ask<M> {
        let ask = self.asks.iter_mut().find(|ask| ask.number == number);
        ask.expect("it is in flight")
    }
}

impl<M: Machine> Ask<M> {
    /// Whether something is left that can happen to it by itself.
    fn can_go_on(&self) -> bool {
        !self.waiting.is_empty() || self.out == 0
    }
}

impl<M: Machine> World<M> {
    /// Sends a request to the legs, if the map allows it; the request, if not.
    pub(super) fn submit_directly(&mut self, face: usize, request: Request) -> Result<(), Request> {
        let is_homed = self.directly.random.chance(1, HOMED);
        if !M::Map::ROUTES || is_homed || self.directly.is_closed {
            return Err(request);
        }
        let Some(map) = &self.map else {
            return Err(request);
        };
        let queue = self.directly.random.index(QUEUES);
        let memory = &mut self.directly.memories[queue];
        let route = map.route(face, &request, memory);
        let is_write = request.operation == Operation::Write;
        let (mut route, mut hold) = match (route, self.mischief) {
            (Ok(Route { legs, start, hold }), _) => ((legs, start), Some(hold)),
            (Err(_), Some(Mischief::Forced { face: of, leg })) if of == face && is_write => {
                ((Legs::One(leg), request.range.start()), None)
            }
            (Err(ended), _) => {
                self.directly.freed |= ended == Ended::Awaited;
                return Err(request);
            }
        };
        match (self.mischief, route.0) {
            (Some(Mischief::HoldDropped), _) => {
                let ended = hold.take().map(|hold| map.end(hold));
                self.directly.freed |= ended == Some(Ended::Awaited);
            }
            (Some(Mischief::Misrouted(other)), Legs::One(leg)) if !is_write => {
                route.0 = Legs::One(other(leg));
            }
            _ => {}
        }
        self.begin_directly((face, request), hold, route);
        Ok(())
    }

    fn begin_directly(
        &mut self,
        (face, mut request): (usize, Request),
        hold: Option<<M::Map as Map>::Hold>,
        (legs, start): (Legs, u64),
    ) {
        let number = self.directly.next;
        self.directly.next += 1;
        let mut buffer = std::mem::take(&mut request.buffer);
        let range = Range::new(start, request.range.len());
        let (operation, durability) = (request.operation, request.durability);
        let copies = legs.iter().enumerate().map(|(at, leg)| {
            let bytes = match at {
                0 => Buffer::empty(),
                _ => Buffer::copy_of(&buffer),
            };
            let copy = Request {
                tag: number as u64,
                operation,
                range,
                durability,
                buffer: bytes,
            };
            (leg, copy)
        });
        let mut waiting: Vec<(usize, Request)> = copies.collect();
        waiting[0].1.buffer = std::mem::take(&mut buffer);
        let out = waiting.len();
        self.directly.asks.push(Ask {
            number,
            face,
            request,
            hold,
            legs,
            waiting,
            out,
            good: 0,
            error: None,
        });
    }

    /// A machine is told of the suspension, or the end, when nothing is in flight here.
    pub(super) fn wait_for_direct(&mut self, ending: EventOf<M>) -> Option<EventOf<M>> {
        self.directly.is_closed = true;
        let is_hasty = matches!(self.mischief, Some(Mischief::Hasty));
        if self.directly.is_empty() || is_hasty {
            return Some(ending);
        }
        self.directly.ending = Some(ending);
        None
    }

    /// Requests may go without the machine again.
    pub(super) fn open_direct(&mut self) {
        self.directly.is_closed = false;
        self.directly.ending = None;
    }

    /// How many things could happen here now.
    pub(super) fn direct_count(&self) -> usize {
        let asks = self.directly.asks.iter();
        asks.filter(|ask| ask.can_go_on()).count() + usize::from(self.directly.freed)
    }

    /// Lets one of these things happen.
    pub(super) fn step_direct(&mut self, index: usize, random: &mut Random) {
        let mut able =
            (0..self.directly.asks.len()).filter(|place| self.directly.asks[*place].can_go_on());
        match able.nth(index) {
            None => {
                self.directly.freed = false;
                self.tell(Event::Freed);
            }
            Some(place) if self.directly.asks[place].waiting.is_empty() => {
                let ask = self.directly.asks.swap_remove(place);
                self.end_directly(ask);
            }
            Some(place) => {
                let ask = &mut self.directly.asks[place];
                let (number, waiting) = (ask.number, &mut ask.waiting);
                let (leg, request) = waiting.swap_remove(random.index(waiting.len()));
                self.begin_sub(leg, request, number);
            }
        }
        if self.directly.is_empty()
            && let Some(ending) = self.directly.ending.take()
        {
            self.tell(ending);
        }
    }

    /// A disk answered such a request.
    pub(super) fn answer_directly(&mut self, leg: usize, number: usize, answer: Completion) {
        let ask = self.directly.ask(number);
        ask.out -= 1;
        if ask.legs.iter().next() == Some(leg) {
            ask.request.buffer = answer.buffer;
        }
        match answer.result {
            Ok(()) if ask.legs == Legs::One(leg) => {}
            Ok(()) => ask.good |= 1 << leg,
            Err(error) => _ = ask.error.get_or_insert(error),
        }
    }

    fn end_directly(&mut self, ask: Ask<M>) {
        let map = self.map.as_ref().expect("it was routed");
        let is_done = ask.error.is_none();
        let Some(hold) = ask.hold else {
            // A mistake does not go on where the machine would have to know of it.
            let (face, request) = (ask.face, ask.request);
            if is_done {
                return self.done.push(request.complete(Ok(())));
            }
            return self.tell(Event::Request { face, request });
        };
        if is_done && map.stands(&hold) {
            self.directly.freed |= map.end(hold) == Ended::Awaited;
            let is_write = ask.request.operation.is_write();
            self.directly.ended[usize::from(is_write)] += 1;
            return self.done.push(ask.request.complete(Ok(())));
        }
        let returned = Returned {
            request: ask.request,
            hold,
            legs: ask.legs,
            good: ask.good,
            error: ask.error,
        };
        let face = ask.face;
        self.tell(Event::Returned { face, returned });
    }
}
