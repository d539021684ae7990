//! The history of several disks: what they were asked to write and flush, and when it was done.
//!
//! A [`Recorder`] stands before devices and notes their writes and flushes in one [`Log`], in the
//! order in which they began and ended. The log keeps the data, so it is for histories of
//! megabytes, not of days.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Image;
use super::disk::{Data, data_of};
use super::faults::Discards;
use crate::{
    Completion, Device, Driver, Durability, Extent, Info, Operation, Queue, Range, Request, Result,
};

/// What happened, in order.
#[derive(Debug, Clone, Default)]
pub struct Log {
    pub(super) disks: Vec<Image>,
    pub(super) writes: Vec<Write>,
    pub(super) events: Vec<Event>,
}

/// A write of the history.
#[derive(Debug, Clone, Hash)]
pub(super) struct Write {
    pub(super) disk: usize,
    pub(super) range: Range,
    pub(super) data: Data,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Event {
    /// The write with this index began.
    Began(usize),
    /// It was answered; durable if it had FUA.
    Ended { write: usize, durable: bool },
    /// A flush was answered; it covers these writes.
    Flushed { covers: Vec<usize> },
    /// Whoever records said so.
    Mark,
}

impl Log {
    /// A history of disks that held this at first.
    pub fn new(disks: Vec<Image>) -> Self {
        Self {
            disks,
            ..Self::default()
        }
    }

    /// How many flushes were answered, of all disks.
    pub fn flushes(&self) -> usize {
        let events = self.events.iter();
        let is_flush = |event: &&Event| matches!(event, Event::Flushed { .. });
        events.filter(is_flush).count()
    }

    /// A write of `bytes` at byte `start` of a disk, answered at once.
    pub fn write(&mut self, disk: usize, start: u64, bytes: &[u8], durability: Durability) {
        let range = Range::new(start, bytes.len() as u64);
        let write = self.begin(disk, range, Data::Bytes(Arc::from(bytes)));
        self.end(write, durability);
    }

    /// A flush of a disk, answered at once.
    pub fn flush(&mut self, disk: usize) {
        let covers = self.answered(disk);
        self.events.push(Event::Flushed { covers });
    }

    /// Something was promised here ("the command succeeded"): [`super::State::marks`] counts what
    /// was promised before the cut.
    pub fn mark(&mut self) {
        self.events.push(Event::Mark);
    }

    /// How many writes there are.
    pub fn write_count(&self) -> usize {
        self.writes.len()
    }

    /// How many flushes were answered.
    pub fn flush_count(&self) -> usize {
        let is_flush = |event: &&Event| matches!(event, Event::Flushed { .. });
        self.events.iter().filter(is_flush).count()
    }

    /// What the disks hold if no power is lost.
    pub fn end_state(&self) -> Vec<Image> {
        let mut images = self.disks.clone();
        for write in &self.writes {
            super::disk::store(&mut images[write.disk], write.range, &write.data);
        }
        images
    }

    /// A number that is the same for histories of the same writes, flushes and marks, whatever the
    /// disks held before.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.writes, &self.events).hash(&mut hasher);
        hasher.finish()
    }

    /// The same history with one flush left out, counted from 0: a mistake to be found.
    pub fn without_flush(&self, index: usize) -> Self {
        let mut log = self.clone();
        let mut count = 0;
        log.events.retain(|event| {
            let flush = matches!(event, Event::Flushed { .. });
            count += usize::from(flush);
            !(flush && count == index + 1)
        });
        log
    }

    fn begin(&mut self, disk: usize, range: Range, data: Data) -> usize {
        let write = self.writes.len();
        self.writes.push(Write { disk, range, data });
        self.events.push(Event::Began(write));
        write
    }

    fn end(&mut self, write: usize, durability: Durability) {
        let durable = durability == Durability::Fua;
        self.events.push(Event::Ended { write, durable });
    }

    /// The answered writes of a disk that no earlier flush covers.
    fn answered(&self, disk: usize) -> Vec<usize> {
        let mut answered = Vec::new();
        for event in &self.events {
            match event {
                Event::Ended { write, .. } if self.writes[*write].disk == disk => {
                    answered.push(*write);
                }
                Event::Flushed { covers } => answered.retain(|write| !covers.contains(write)),
                _ => {}
            }
        }
        answered
    }
}

/// Records several devices in one log. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    log: Arc<Mutex<Log>>,
}

impl Recorder {
    /// The device, recorded from now on as the next disk of the log. Reads all that it holds.
    pub fn record(&self, device: Arc<dyn Device>) -> Result<Arc<dyn Device>> {
        let image = Image::of_device(&*device)?;
        let mut log = self.lock();
        log.disks.push(image);
        let disk = log.disks.len() - 1;
        drop(log);
        let log = Arc::clone(&self.log);
        Ok(Arc::new(Recorded { device, disk, log }))
    }

    /// See [`Log::mark`].
    pub fn mark(&self) {
        self.lock().mark();
    }

    /// What happened so far.
    pub fn log(&self) -> Log {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Recorded {
    device: Arc<dyn Device>,
    disk: usize,
    log: Arc<Mutex<Log>>,
}

impl Device for Recorded {
    fn info(&self) -> Info {
        self.device.info()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        Ok(Box::new(RecordedQueue {
            queue: self.device.open_queue(driver)?,
            disk: self.disk,
            log: Arc::clone(&self.log),
            slots: Vec::new(),
            free: Vec::new(),
            answered: Vec::new(),
        }))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        self.device.extents(range, count_max)
    }
}

struct RecordedQueue {
    queue: Box<dyn Queue>,
    disk: usize,
    log: Arc<Mutex<Log>>,
    /// By the tag that the queue below sees: the tag to answer with, and what it is.
    slots: Vec<(u64, Asked)>,
    free: Vec<usize>,
    answered: Vec<Completion>,
}

enum Asked {
    Nothing,
    Write(usize, Durability),
    Flush(Vec<usize>),
}

impl Queue for RecordedQueue {
    fn submit(&mut self, mut request: Request) {
        let mut log = lock(&self.log);
        let asked = if request.operation == Operation::Flush {
            Asked::Flush(log.answered(self.disk))
        } else if let Some(data) = data_of(&request, Discards::ReadZeroes) {
            let write = log.begin(self.disk, request.range, data);
            Asked::Write(write, request.durability)
        } else {
            Asked::Nothing
        };
        drop(log);
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let entry = (request.tag, asked);
        if slot == self.slots.len() {
            self.slots.push(entry);
        } else {
            self.slots[slot] = entry;
        }
        request.tag = slot as u64;
        self.queue.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.queue.poll(&mut self.answered);
        for mut completion in self.answered.drain(..) {
            let slot = completion.tag as usize;
            let (tag, asked) = std::mem::replace(&mut self.slots[slot], (0, Asked::Nothing));
            self.free.push(slot);
            completion.tag = tag;
            if completion.result.is_ok() {
                let mut log = lock(&self.log);
                match asked {
                    Asked::Nothing => {}
                    Asked::Write(write, durability) => log.end(write, durability),
                    Asked::Flush(covers) => log.events.push(Event::Flushed { covers }),
                }
            }
            done.push(completion);
        }
    }

    fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }
}
