//! A simulated disk as a device: its requests end at once, or in the time of a clock.
//!
//! In virtual time nothing sleeps: a queue that is polled while nothing is due moves the clock to
//! the earliest moment that anything on the clock waits for. So several disks on one clock answer
//! in the order of their times, as long as whoever uses them polls them all.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, Image, Random, Ticket};
use crate::clock::Clock;
use crate::{Checked, Completion, Device, Driver, FlushLatch, Info, Queue, Request, Result};

/// A simulated disk, shared by all queues on it. Clones share it too.
#[derive(Debug, Clone)]
pub struct SimDevice {
    disk: Arc<Mutex<Disk>>,
    clock: Clock,
    info: Info,
    latch: FlushLatch,
}

impl SimDevice {
    /// Serves `disk` in the time of `clock`.
    pub fn new(disk: Disk, clock: Clock) -> Self {
        Self {
            info: disk.info().clone(),
            disk: Arc::new(Mutex::new(disk)),
            clock,
            latch: FlushLatch::default(),
        }
    }

    /// A flawless disk that holds `image` and answers at once.
    pub fn of_image(name: impl Into<String>, image: Image) -> Self {
        let disk = Disk::new(name, image, 512, super::Faults::default(), 0);
        Self::new(disk, Clock::virtual_time())
    }

    /// The same with logical and physical blocks of so many bytes.
    pub fn with_blocks(image: Image, logical: u32, physical: u32) -> Self {
        let mut disk = Disk::new("disk", image, logical, super::Faults::default(), 0);
        disk.set_physical_block(physical);
        Self::new(disk, Clock::virtual_time())
    }

    /// Looks at the disk, or interferes with it.
    pub fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a power cut now could leave, as a disk that was just switched on: the same clock and
    /// faults, no open failure. This one is not touched.
    pub fn after_cut(&self, random: &mut Random) -> Image {
        self.disk().cut(random)
    }
}

impl Device for SimDevice {
    fn info(&self) -> Info {
        self.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        let queue = SimQueue {
            disk: Arc::clone(&self.disk),
            clock: self.clock.clone(),
            driver: driver.clone(),
            waiting: BTreeSet::new(),
        };
        let checked = Checked::new(queue, driver, self.info(), self.latch.clone());
        Ok(Box::new(checked))
    }
}

struct SimQueue {
    disk: Arc<Mutex<Disk>>,
    clock: Clock,
    driver: Driver,
    /// When requests in flight are due.
    waiting: BTreeSet<(u64, Ticket)>,
}

impl SimQueue {
    /// Takes the earliest request, if it is due.
    fn due(&mut self, now_ns: u64) -> Option<Ticket> {
        let (at_ns, ticket) = *self.waiting.first()?;
        if at_ns > now_ns {
            return None;
        }
        self.forget(at_ns, ticket);
        Some(ticket)
    }

    fn forget(&mut self, at_ns: u64, ticket: Ticket) {
        self.waiting.remove(&(at_ns, ticket));
        self.clock.forget(at_ns);
        self.driver.count_ready(-1);
    }
}

impl Queue for SimQueue {
    fn submit(&mut self, request: Request) {
        let mut disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        let at_ns = self.clock.now_ns().saturating_add(disk.latency_ns());
        let ticket = disk.begin(request);
        self.clock.expect(at_ns);
        self.waiting.insert((at_ns, ticket));
        // Whoever waits is not to sleep: time passes by polling.
        self.driver.count_ready(1);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.waiting.is_empty() {
            return;
        }
        let mut now_ns = self.clock.now_ns();
        if self.waiting.first().is_some_and(|(at, _)| *at > now_ns) {
            now_ns = self.clock.jump();
        }
        while let Some(ticket) = self.due(now_ns) {
            let mut disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
            done.push(disk.finish(ticket));
        }
    }

    fn in_flight(&self) -> usize {
        self.waiting.len()
    }
}

impl Drop for SimQueue {
    fn drop(&mut self) {
        while let Some((at_ns, ticket)) = self.waiting.first().copied() {
            self.forget(at_ns, ticket);
            let mut disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
            disk.finish(ticket);
        }
    }
}
