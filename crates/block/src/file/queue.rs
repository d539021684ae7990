//! A thread's queue on a file: which way each call goes, and which answer belongs to which task.

use std::sync::Arc;

use super::device::Shared;
use super::probe::Path;
use super::steps::{Next, Task};
use crate::engine::{Action, Done, Job};
use crate::{Answers, Completion, Driver, Queue, Request};

/// A queue on a file.
#[derive(Debug)]
pub(super) struct FileQueue {
    shared: Arc<Shared>,
    driver: Driver,
    /// Its number with the driver's engine, since the first call that went there: a file that is
    /// all in the page cache needs no engine.
    number: Option<u32>,
    read: Path,
    write: Path,
    /// Tasks with a call in the engine, which hold the memory that the kernel uses.
    slots: Vec<Option<Task>>,
    free: Vec<u32>,
    results: Vec<Done>,
    answers: Answers,
}

impl FileQueue {
    pub(super) fn new(shared: Arc<Shared>, driver: &Driver) -> Self {
        let (mut read, mut write) = (shared.read, shared.write);
        if driver.demanded_engine().is_some() {
            (read, write) = (Path::Engine, Path::Engine);
        }
        Self {
            shared,
            driver: driver.clone(),
            number: None,
            read,
            write,
            slots: Vec::new(),
            free: Vec::new(),
            results: Vec::new(),
            answers: Answers::new(driver),
        }
    }

    /// Makes calls for `task` until it is done or one of them is in the engine.
    fn drive(&mut self, mut task: Task) {
        loop {
            let call = task.call(&self.shared);
            let path = if task.reads() { self.read } else { self.write };
            let result = match path {
                Path::Inline => call.run(),
                Path::Engine => return self.hand_over(task),
                Path::CacheFirst => {
                    let result = call.with_action(Action::ReadCached).run();
                    if result == -libc::EOPNOTSUPP {
                        self.read = Path::Engine;
                    }
                    if result < 0 {
                        return self.hand_over(task);
                    }
                    result
                }
            };
            if let Next::Finished(result) = task.advance(&self.shared, result) {
                self.answers.push(task.complete(result));
                return;
            }
        }
    }

    fn hand_over(&mut self, mut task: Task) {
        let queue = match self.number.map_or_else(|| self.driver.open_queue(), Ok) {
            Ok(queue) => *self.number.insert(queue),
            Err(error) => return self.answers.push(task.complete(Err(error))),
        };
        let call = task.call(&self.shared);
        let slot = self.free.pop().unwrap_or_else(|| self.grow(queue));
        debug_assert!(
            self.slots[slot as usize].is_none(),
            "a free number names no task"
        );
        self.slots[slot as usize] = Some(task);
        self.driver.give(Job { queue, slot, call });
    }

    /// A new slot, and room wherever the answers to all slots may gather.
    fn grow(&mut self, queue: u32) -> u32 {
        self.slots.push(None);
        let count = self.slots.len();
        self.free.reserve(count - self.free.len());
        self.results.reserve(count);
        self.answers.reserve(count);
        self.driver.with(|engine| engine.reserve(queue, count));
        u32::try_from(count - 1).expect("fewer than 2^32 requests in flight")
    }

    fn settle(&mut self, done: Done) {
        let task = self.slots[done.slot as usize].take();
        let mut task = task.expect("the engine answers each call once");
        self.free.push(done.slot);
        debug_assert!(self.free.len() <= self.slots.len(), "a number is free once");
        match task.advance(&self.shared, done.result) {
            Next::Finished(result) => self.answers.push(task.complete(result)),
            Next::Call => self.drive(task),
        }
    }

    fn in_engine(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Gives calls to the engine and takes what it has done.
    fn turn(&mut self) {
        let Some(number) = self.number else { return };
        // A second round, if the first one's answers led to calls, gives those to the kernel.
        for _ in 0..2 {
            let mut results = std::mem::take(&mut self.results);
            self.driver.turn(number, &mut results);
            let any = !results.is_empty();
            for done in results.drain(..) {
                self.settle(done);
            }
            self.results = results;
            if !any || self.in_engine() == 0 {
                return;
            }
        }
    }
}

impl Queue for FileQueue {
    fn submit(&mut self, request: Request) {
        let task = Task::new(request, &self.shared);
        if let Some(error) = task.lost(&self.shared) {
            self.answers.push(task.complete(Err(error)));
        } else if task.done_at_once(&self.shared) {
            self.answers.push(task.complete(Ok(())));
        } else {
            self.drive(task);
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.turn();
        self.answers.drain_into(done);
    }

    fn in_flight(&self) -> usize {
        self.in_engine() + self.answers.len()
    }
}

impl Drop for FileQueue {
    /// Waits: the kernel may write to the memory of calls in flight until they are answered.
    fn drop(&mut self) {
        self.turn();
        while self.in_engine() > 0 {
            if self.driver.wait(&mut [], None).is_err() {
                // Nothing but the kernel knows when it is over; ask it again, slowly.
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            self.turn();
        }
        let is_idle = self.slots.iter().all(Option::is_none);
        assert!(is_idle, "the engine has no memory of this queue any more");
        if let Some(number) = self.number {
            self.driver.with(|engine| engine.close_queue(number));
        }
    }
}

#[cfg(test)]
mod tests;
