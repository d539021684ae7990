//! Asks a device and waits for answers, never longer than [`PATIENCE`].

use std::collections::HashSet;
use std::time::{Duration, Instant};

use block::{
    Buffer, Completion, Device, Driver, Durability, EngineKind, Operation, Queue, Range, Request,
    Result,
};

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A device, and the engine through which its queues work.
#[derive(Clone, Copy)]
pub(super) struct Subject<'device> {
    pub(super) device: &'device dyn Device,
    /// `None`: what a driver chooses by itself.
    pub(super) engine: Option<EngineKind>,
}

impl Subject<'_> {
    /// A queue of the device, on a new driver of this thread.
    pub(super) fn asker(self) -> Asker {
        let driver = match self.engine {
            None => Driver::new(),
            Some(engine) => Driver::with_engine(engine),
        };
        let driver = driver.expect("a driver opens");
        let queue = self.device.open_queue(&driver).expect("a queue opens");
        Asker {
            driver,
            queue,
            open: HashSet::new(),
            next_tag: 1 << 40,
            done: Vec::new(),
        }
    }
}

/// A queue with the thread's driver, and what it was asked.
pub(super) struct Asker {
    driver: Driver,
    queue: Box<dyn Queue>,
    open: HashSet<u64>,
    next_tag: u64,
    done: Vec<Completion>,
}

impl Asker {
    /// Submits a request under a new tag, which is returned.
    pub(super) fn submit(&mut self, mut request: Request) -> u64 {
        self.next_tag += 1;
        request.tag = self.next_tag;
        assert!(self.open.insert(request.tag));
        self.queue.submit(request);
        self.check_count();
        self.next_tag
    }

    /// The answers that are there, after waiting for at least one if any is to come.
    pub(super) fn answers(&mut self) -> std::vec::Drain<'_, Completion> {
        let start = Instant::now();
        self.queue.poll(&mut self.done);
        while self.done.is_empty() && !self.open.is_empty() {
            assert!(start.elapsed() < PATIENCE, "no answer within {PATIENCE:?}");
            let slice = Some(Duration::from_millis(200));
            self.driver.wait(&mut [], slice).expect("waiting works");
            self.queue.poll(&mut self.done);
        }
        for answer in &self.done {
            assert!(
                self.open.remove(&answer.tag),
                "tag {} was answered twice, or never asked",
                answer.tag
            );
        }
        self.check_count();
        self.done.drain(..)
    }

    /// Requests that have not been answered.
    pub(super) fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Submits one request and waits for it; nothing else may be in flight.
    pub(super) fn ask(&mut self, request: Request) -> Completion {
        assert!(self.open.is_empty(), "one request at a time");
        let tag = self.submit(request);
        let answer = self.answers().next().expect("one answer for one request");
        assert_eq!(answer.tag, tag, "the answer has the request's tag");
        answer
    }

    pub(super) fn read(&mut self, range: Range) -> Result<Vec<u8>> {
        let buffer = Buffer::copy_of(&vec![0xa5; range.len() as usize]);
        let answer = self.ask(Request::read(0, range.start(), buffer));
        assert_eq!(
            answer.buffer.len() as u64,
            range.len(),
            "the buffer comes back"
        );
        answer.result.map(|()| answer.buffer.to_vec())
    }

    pub(super) fn write(&mut self, start: u64, durability: Durability, bytes: &[u8]) -> Result<()> {
        let buffer = Buffer::copy_of(bytes);
        let answer = self.ask(Request::write(0, start, durability, buffer));
        assert_eq!(&*answer.buffer, bytes, "a write leaves its buffer alone");
        answer.result
    }

    pub(super) fn bare(&mut self, operation: Operation, range: Range) -> Result<()> {
        self.ask(Request::bare(0, operation, range)).result
    }

    /// Leaves requests behind: the queue waits for them when it is dropped.
    pub(super) fn abandon(mut self) {
        self.open.clear();
    }

    fn check_count(&self) {
        let (said, known) = (self.queue.in_flight(), self.open.len());
        assert_eq!(said, known, "in_flight counts what is not answered");
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.open.is_empty(), "requests were left behind");
        }
    }
}
