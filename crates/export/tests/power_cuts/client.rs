//! A client with several requests in flight, and what it learns from the answers.

use std::sync::Mutex;
use std::time::Duration;

use block::sim::Random;
use block::{Buffer, Device, Driver, Durability, Operation, Queue, Range, Request, Result, Unmap};

use crate::world::{Model, SLOT, SLOTS, content, lock};

/// Requests in flight.
const DEPTH: usize = 6;
/// An answer that takes longer never comes.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a request in flight will mean when it is answered.
enum Asked {
    Write {
        slot: u64,
        version: u32,
        is_durable: bool,
    },
    Flush {
        covered: Vec<u32>,
    },
}

/// One queue, with the slots that only it writes.
pub(crate) struct Client<'a> {
    model: &'a Mutex<Model>,
    queue: Box<dyn Queue>,
    driver: Driver,
    random: Random,
    slots: Vec<u64>,
    asked: Vec<Option<Asked>>,
}

impl<'a> Client<'a> {
    /// The client `number` of `count`.
    pub(crate) fn new(
        device: &dyn Device,
        model: &'a Mutex<Model>,
        number: u64,
        count: u64,
        seed: u64,
    ) -> Result<Self> {
        let driver = Driver::new()?;
        Ok(Self {
            model,
            queue: device.open_queue(&driver)?,
            driver,
            random: Random::new(seed),
            slots: (0..SLOTS).filter(|slot| slot % count == number).collect(),
            asked: (0..DEPTH).map(|_| None).collect(),
        })
    }

    /// Asks for something, if it may, and takes the answers that are there.
    pub(crate) fn step(&mut self) {
        let free = self.asked.iter().position(Option::is_none);
        let slot = self.slots[self.random.index(self.slots.len())];
        let is_busy = |asked: &Option<Asked>| match asked {
            Some(Asked::Write { slot: of, .. }) => *of == slot,
            Some(Asked::Flush { .. }) | None => false,
        };
        match free {
            Some(tag) if !self.asked.iter().any(is_busy) => self.ask(tag, slot),
            Some(_) => {}
            None => {
                let _ = self.driver.wait(&mut [], Some(PATIENCE));
            }
        }
        self.take();
    }

    /// Flushes, after everything was answered.
    pub(crate) fn finish(&mut self) {
        self.drain();
        let covered = lock(self.model).covered();
        self.asked[0] = Some(Asked::Flush { covered });
        self.queue.submit(Request::flush(0));
        self.drain();
    }

    fn drain(&mut self) {
        while self.asked.iter().any(Option::is_some) {
            self.take();
            if self.asked.iter().any(Option::is_some) {
                let _ = self.driver.wait(&mut [], Some(PATIENCE));
            }
        }
    }

    fn ask(&mut self, tag: usize, slot: u64) {
        let kind = self.random.below(10);
        let (start, number) = (slot * SLOT, tag as u64);
        let mut model = lock(self.model);
        if kind < 2 {
            let covered = model.covered();
            self.asked[tag] = Some(Asked::Flush { covered });
            drop(model);
            return self.queue.submit(Request::flush(number));
        }
        let is_zeros = kind < 4;
        let version = model.begin(slot, is_zeros);
        drop(model);
        let is_durable = self.random.chance(1, 4);
        let mut request = if is_zeros {
            let zeroes = Operation::WriteZeroes(Unmap::Allowed);
            Request::bare(number, zeroes, Range::new(start, SLOT))
        } else {
            let data = Buffer::copy_of(&content(slot, version));
            Request::write(number, start, Durability::Volatile, data)
        };
        if is_durable {
            request.durability = Durability::Fua;
        }
        self.asked[tag] = Some(Asked::Write {
            slot,
            version,
            is_durable,
        });
        self.queue.submit(request);
    }

    fn take(&mut self) {
        let mut done = Vec::new();
        self.queue.poll(&mut done);
        let mut model = lock(self.model);
        for answer in done {
            answer.result.expect("nothing fails here");
            match self.asked[answer.tag as usize].take() {
                Some(Asked::Flush { covered }) => model.flushed(&covered),
                Some(Asked::Write {
                    slot,
                    version,
                    is_durable,
                }) => model.answer(slot, version, is_durable),
                None => panic!("an answer to nothing"),
            }
        }
    }
}
