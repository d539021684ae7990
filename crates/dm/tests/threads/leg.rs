//! A device in memory that answers late and in any order, forgets what it has not begun when its
//! queue goes, dies when it is told to, and knows when it was asked what it should not be.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use block::{
    Completion, Device, Driver, Error, Info, Kind, Operation, Queue, Request, Result, Waker,
};

/// See the module.
pub(crate) struct TestLeg {
    info: Info,
    content: Arc<Mutex<Vec<u8>>>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    in_flight: AtomicUsize,
    is_frozen: AtomicBool,
    is_dead: AtomicBool,
    violations: AtomicUsize,
    past_home: AtomicUsize,
    queues: AtomicU64,
}

impl TestLeg {
    pub(crate) fn new(name: &str, size: u64) -> Arc<Self> {
        Arc::new(Self {
            info: Info::new(name, size),
            content: Arc::new(Mutex::new(vec![0; size as usize])),
            state: Arc::default(),
        })
    }

    /// Another device with the same bytes.
    pub(crate) fn successor(&self) -> Arc<Self> {
        let state = State::default();
        let is_dead = self.state.is_dead.load(Ordering::SeqCst);
        state.is_dead.store(is_dead, Ordering::SeqCst);
        Arc::new(Self {
            info: self.info.clone(),
            content: Arc::clone(&self.content),
            state: Arc::new(state),
        })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.content.lock().unwrap().clone()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::SeqCst)
    }

    /// From now on nobody may ask it.
    pub(crate) fn freeze(&self, is_frozen: bool) {
        self.state.is_frozen.store(is_frozen, Ordering::SeqCst);
    }

    pub(crate) fn die(&self) {
        self.state.is_dead.store(true, Ordering::SeqCst);
    }

    /// How often it was asked all the same.
    pub(crate) fn violations(&self) -> usize {
        self.state.violations.load(Ordering::SeqCst)
    }

    /// How often another thread asked it than a home's.
    pub(crate) fn asked_past_home(&self) -> usize {
        self.state.past_home.load(Ordering::SeqCst)
    }
}

impl Device for TestLeg {
    fn info(&self) -> Info {
        self.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        let number = self.state.queues.fetch_add(1, Ordering::SeqCst);
        let thread = std::thread::current();
        Ok(Box::new(TestQueue {
            content: Arc::clone(&self.content),
            state: Arc::clone(&self.state),
            waker: driver.waker(),
            pending: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15 ^ (number + 1),
            is_past_home: !thread.name().is_some_and(|name| name.starts_with("home ")),
        }))
    }
}

struct TestQueue {
    content: Arc<Mutex<Vec<u8>>>,
    state: Arc<State>,
    waker: Waker,
    pending: Vec<Pending>,
    random: u64,
    is_past_home: bool,
}

struct Pending {
    request: Request,
    /// What it was done with, if it was.
    result: Option<Result<()>>,
    /// Polls until it is answered.
    polls: u64,
}

impl TestQueue {
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn carry_out(&self, request: &mut Request) -> Result<()> {
        if self.state.is_dead.load(Ordering::SeqCst) {
            return Err(Error::new(Kind::Gone, "it is dead"));
        }
        let mut content = self.content.lock().unwrap();
        let range = request.range.start() as usize..request.range.end() as usize;
        match request.operation {
            Operation::Read => request.buffer.copy_from_slice(&content[range]),
            Operation::Write => content[range].copy_from_slice(&request.buffer),
            Operation::Flush => {}
            _ => content[range].fill(0),
        }
        Ok(())
    }
}

impl Queue for TestQueue {
    fn submit(&mut self, mut request: Request) {
        self.state.in_flight.fetch_add(1, Ordering::SeqCst);
        let is_frozen = self.state.is_frozen.load(Ordering::SeqCst);
        let count = |counter: &AtomicUsize, is: bool| {
            counter.fetch_add(usize::from(is), Ordering::SeqCst);
        };
        count(&self.state.violations, is_frozen);
        count(&self.state.past_home, self.is_past_home);
        let chance = self.random();
        let result = chance
            .is_multiple_of(2)
            .then(|| self.carry_out(&mut request));
        // Most are fast, and some that the home does not wait for very slow.
        let is_slow = self.is_past_home && (chance / 8).is_multiple_of(8);
        let slowest = if is_slow { 512 } else { 4 };
        self.pending.push(Pending {
            request,
            result,
            polls: chance / 256 % slowest,
        });
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let mut pending = std::mem::take(&mut self.pending);
        for mut one in pending.drain(..) {
            if one.polls > 0 {
                one.polls -= 1;
                self.pending.push(one);
                continue;
            }
            let result = match one.result.take() {
                Some(result) => result,
                None => self.carry_out(&mut one.request),
            };
            done.push(one.request.complete(result));
            self.state.in_flight.fetch_sub(1, Ordering::SeqCst);
        }
        if !self.pending.is_empty() {
            // Nobody else does.
            self.waker.wake();
        }
    }

    fn in_flight(&self) -> usize {
        self.pending.len()
    }
}

impl Drop for TestQueue {
    fn drop(&mut self) {
        // As a volume does that is suspended: some were never begun.
        while let Some(mut one) = self.pending.pop() {
            if one.result.is_none() && self.random().is_multiple_of(2) {
                let _ = self.carry_out(&mut one.request);
            }
            self.state.in_flight.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
