//! A layer that records what a device is asked.
//!
//! [`Traced`] stands before any device and notes each request when it is answered: what, where,
//! when, for how long, and how it ended. The newest records are kept, up to a number; the lab
//! reads them to learn a workload, and tests to see what really reached a disk and in which order.
//!
//! Costs: a lock and two clock readings per request. Does not see data.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::{
    Completion, Device, Driver, Durability, Extent, Info, Kind, Operation, Queue, Range, Request,
    Result,
};

/// One answered request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// What was asked.
    pub operation: Operation,
    /// Where, in bytes.
    pub range: Range,
    /// When it was to count as done.
    pub durability: Durability,
    /// When it was submitted, in nanoseconds since the trace began.
    pub submitted_ns: u64,
    /// When its answer was seen, in nanoseconds since the trace began.
    pub completed_ns: u64,
    /// How it ended.
    pub result: std::result::Result<(), Kind>,
}

/// The newest records of one or more devices. Clones share them.
#[derive(Debug, Clone)]
pub struct Trace {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    begin: Instant,
    kept_max: usize,
    records: Mutex<Records>,
}

#[derive(Debug)]
struct Records {
    kept: VecDeque<Record>,
    forgotten: u64,
}

impl Trace {
    /// A trace that begins now and keeps `kept_max` records.
    pub fn new(kept_max: usize) -> Self {
        let records = Records {
            kept: VecDeque::with_capacity(kept_max),
            forgotten: 0,
        };
        Self {
            shared: Arc::new(Shared {
                begin: Instant::now(),
                kept_max,
                records: Mutex::new(records),
            }),
        }
    }

    /// What is kept, in the order of the answers.
    pub fn records(&self) -> Vec<Record> {
        self.lock().kept.iter().copied().collect()
    }

    /// What is kept, which is not kept any longer.
    pub fn take(&self) -> Vec<Record> {
        self.lock().kept.drain(..).collect()
    }

    /// How many records had to make room for newer ones.
    pub fn forgotten(&self) -> u64 {
        self.lock().forgotten
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.shared
            .records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.shared.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn keep(&self, record: Record) {
        let mut records = self.lock();
        if records.kept.len() >= self.shared.kept_max {
            records.forgotten += 1;
            records.kept.pop_front();
        }
        if self.shared.kept_max > 0 {
            records.kept.push_back(record);
            debug_assert!(records.kept.len() <= self.shared.kept_max, "the oldest go");
        }
    }
}

/// A device whose requests are recorded.
pub struct Traced {
    device: Arc<dyn Device>,
    trace: Trace,
}

impl Traced {
    /// Records in `trace` what `device` is asked through this.
    pub fn new(device: Arc<dyn Device>, trace: Trace) -> Self {
        Self { device, trace }
    }
}

impl Device for Traced {
    fn info(&self) -> Info {
        self.device.info()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        Ok(Box::new(TracedQueue {
            queue: self.device.open_queue(driver)?,
            trace: self.trace.clone(),
            slots: Vec::new(),
            free: Vec::new(),
            answered: Vec::new(),
        }))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        self.device.extents(range, count_max)
    }
}

struct TracedQueue {
    queue: Box<dyn Queue>,
    trace: Trace,
    /// By the tag that the queue below sees: the tag to answer with, and what is known so far.
    slots: Vec<(u64, Record)>,
    free: Vec<usize>,
    answered: Vec<Completion>,
}

impl Queue for TracedQueue {
    fn submit(&mut self, mut request: Request) {
        let record = Record {
            operation: request.operation,
            range: request.range,
            durability: request.durability,
            submitted_ns: self.trace.now_ns(),
            completed_ns: 0,
            result: Ok(()),
        };
        let entry = (request.tag, record);
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot] = entry;
            slot
        } else {
            self.slots.push(entry);
            self.slots.len() - 1
        };
        request.tag = slot as u64;
        self.queue.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.queue.poll(&mut self.answered);
        for mut completion in self.answered.drain(..) {
            let slot = completion.tag as usize;
            let (tag, mut record) = self.slots[slot];
            debug_assert!(self.free.len() < self.slots.len(), "a number is free once");
            self.free.push(slot);
            record.completed_ns = self.trace.now_ns();
            record.result = completion
                .result
                .as_ref()
                .copied()
                .map_err(crate::Error::kind);
            self.trace.keep(record);
            completion.tag = tag;
            done.push(completion);
        }
    }

    fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }
}

#[cfg(test)]
mod tests;
