//! An emulated drive as a block device: the data path that serves users runs over it.
//!
//! The drive says when, an image says what. Content changes and is read when a request is
//! answered, so what overlaps in flight has the order in which the drive answers.
//!
//! In virtual time nothing sleeps: a queue that has nothing due moves the clock to the earliest
//! moment that anything on it waits for. Several disks on one clock answer in the order of their
//! times, as long as whoever uses them polls them all. In real time answers come when they are due
//! or a little later; [`DiskDevice::lateness`] says how much. Polling does not sleep then either.
//!
//! Zeros are written like data. A discard is answered at once and changes nothing: such disks have
//! no use for the advice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::clock::Clock;
use block::sim::Image;
use block::{
    Checked, Completion, Device, Driver, Durability, FlushLatch, Info, Queue, Request, Waker,
};

use super::drive::{Command, Model, Operation};

/// Bytes of a block of the drive.
const BLOCK: u64 = 512;

/// An emulated drive, shared by all queues on it. Clones share it too.
#[derive(Debug, Clone)]
pub struct DiskDevice {
    shared: Arc<Mutex<Shared>>,
    clock: Clock,
    info: Info,
    latch: FlushLatch,
}

/// How much later than due answers were given out, in real time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Answers.
    pub count: u64,
    /// The sum over all.
    pub total_ns: u64,
    /// The worst.
    pub max_ns: u64,
}

#[derive(Debug)]
struct Shared {
    drive: Box<dyn Model>,
    image: Image,
    flights: BTreeMap<u64, Flight>,
    /// Answers that their queues have not taken.
    done: Vec<(u64, Completion)>,
    next_tag: u64,
    next_queue: u64,
    /// The moment that the clock knows we wait for.
    expected_ns: Option<u64>,
    lateness: Lateness,
}

#[derive(Debug)]
struct Flight {
    queue: u64,
    request: Request,
}

impl DiskDevice {
    /// Serves an unused `drive`, full of zeros, in the time of `clock`.
    pub fn new(name: impl Into<String>, drive: impl Model + 'static, clock: Clock) -> Self {
        let size = drive.blocks() * BLOCK;
        let info = Info {
            rotational: true,
            fua: true,
            durable: true,
            ..Info::new(name, size)
        };
        let shared = Shared {
            drive: Box::new(drive),
            image: Image::new(size),
            flights: BTreeMap::new(),
            done: Vec::new(),
            next_tag: 0,
            next_queue: 0,
            expected_ns: None,
            lateness: Lateness::default(),
        };
        let shared = Arc::new(Mutex::new(shared));
        Self {
            shared,
            clock,
            info,
            latch: FlushLatch::default(),
        }
    }

    /// What it holds now; a copy is cheap.
    pub fn content(&self) -> Image {
        lock(&self.shared).image.clone()
    }

    /// How late answers were.
    pub fn lateness(&self) -> Lateness {
        lock(&self.shared).lateness
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Gives out what is due, and tells the clock what is next.
    fn advance(&mut self, clock: &Clock) {
        let now_ns = clock.now_ns();
        while let Some(answer) = self.drive.answer(now_ns) {
            let late = now_ns - answer.at_ns;
            self.lateness.count += 1;
            self.lateness.total_ns += late;
            self.lateness.max_ns = self.lateness.max_ns.max(late);
            // A flight is missing if its queue was closed.
            if let Some(flight) = self.flights.remove(&answer.tag) {
                let completion = self.finish(flight.request);
                self.done.push((flight.queue, completion));
            }
        }
        self.expect(clock, self.drive.wake());
    }

    fn expect(&mut self, clock: &Clock, wake: Option<u64>) {
        if self.expected_ns != wake {
            if let Some(old) = self.expected_ns {
                clock.forget(old);
            }
            if let Some(new) = wake {
                clock.expect(new);
            }
            self.expected_ns = wake;
        }
    }

    /// Moves the bytes of a request.
    fn finish(&mut self, mut request: Request) -> Completion {
        let start = request.range.start();
        match request.operation {
            block::Operation::Read => self.image.read(start, &mut request.buffer),
            block::Operation::Write => self.image.write(start, &request.buffer),
            block::Operation::WriteZeroes(_) => self.image.zero(request.range),
            block::Operation::Discard | block::Operation::Flush => {}
        }
        request.complete(Ok(()))
    }

    fn submit(&mut self, clock: &Clock, queue: u64, request: Request) {
        let write = match request.durability {
            Durability::Volatile => Operation::Write,
            Durability::Fua => Operation::WriteThrough,
        };
        let operation = match request.operation {
            block::Operation::Read => Operation::Read,
            block::Operation::Write | block::Operation::WriteZeroes(_) => write,
            block::Operation::Flush => Operation::Flush,
            block::Operation::Discard => {
                let completion = self.finish(request);
                self.done.push((queue, completion));
                return;
            }
        };
        let blocks = request.range.len() / BLOCK;
        if blocks == 0 && operation != Operation::Flush {
            let completion = self.finish(request);
            self.done.push((queue, completion));
            return;
        }
        let command = Command {
            tag: self.next_tag,
            operation,
            start: request.range.start() / BLOCK,
            count: u32::try_from(blocks).unwrap_or(u32::MAX),
        };
        self.next_tag += 1;
        self.flights.insert(command.tag, Flight { queue, request });
        let now_ns = clock.now_ns();
        self.drive.submit(now_ns, command);
        self.expect(clock, self.drive.wake());
    }
}

impl Drop for DiskQueue {
    fn drop(&mut self) {
        // What is in flight takes effect; nobody hears of it.
        let mut shared = lock(&self.shared);
        let own = |flight: &Flight| flight.queue == self.number;
        let tags: Vec<u64> = shared
            .flights
            .iter()
            .filter(|(_, flight)| own(flight))
            .map(|(tag, _)| *tag)
            .collect();
        for tag in tags {
            if let Some(flight) = shared.flights.remove(&tag) {
                shared.finish(flight.request);
            }
        }
        shared.done.retain(|(queue, _)| *queue != self.number);
        if shared.flights.is_empty() {
            shared.expect(&self.clock, None);
        }
    }
}

impl Device for DiskDevice {
    fn info(&self) -> Info {
        self.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> block::Result<Box<dyn Queue>> {
        let mut shared = lock(&self.shared);
        shared.next_queue += 1;
        let queue = DiskQueue {
            shared: Arc::clone(&self.shared),
            clock: self.clock.clone(),
            waker: driver.waker(),
            number: shared.next_queue,
            in_flight: 0,
        };
        Ok(Box::new(Checked::new(
            queue,
            driver,
            self.info(),
            self.latch.clone(),
        )))
    }
}

struct DiskQueue {
    shared: Arc<Mutex<Shared>>,
    clock: Clock,
    waker: Waker,
    number: u64,
    in_flight: usize,
}

impl Queue for DiskQueue {
    fn submit(&mut self, request: Request) {
        lock(&self.shared).submit(&self.clock, self.number, request);
        self.in_flight += 1;
        // Whoever waits is not to sleep: time passes by polling.
        self.waker.wake();
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.in_flight == 0 {
            return;
        }
        let mut shared = lock(&self.shared);
        let before = done.len();
        shared.advance(&self.clock);
        if !shared.done.iter().any(|(queue, _)| *queue == self.number) {
            self.clock.jump();
            shared.advance(&self.clock);
        }
        for (queue, completion) in std::mem::take(&mut shared.done) {
            if queue == self.number {
                done.push(completion);
            } else {
                shared.done.push((queue, completion));
            }
        }
        self.in_flight -= done.len() - before;
        if self.in_flight > 0 {
            self.waker.wake();
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

#[cfg(test)]
mod tests;
