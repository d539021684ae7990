//! Answers that are ready before anybody asked for them.
//!
//! A request may be done while it is submitted. Its answer then waits here until the queue is
//! polled, and the driver knows of it: [`Driver::wait`] does not sleep while an answer of one of
//! its queues is waiting to be polled.

use crate::{Completion, Driver};

/// A queue's answers that are ready to be handed out.
#[derive(Debug)]
pub struct Answers {
    driver: Driver,
    ready: Vec<Completion>,
}

impl Answers {
    /// No answers, for a queue on `driver`.
    pub fn new(driver: &Driver) -> Self {
        Self {
            driver: driver.clone(),
            ready: Vec::new(),
        }
    }

    /// Keeps an answer until the next poll.
    pub fn push(&mut self, completion: Completion) {
        self.ready.push(completion);
        self.driver.count_ready(1);
    }

    /// Hands all out.
    pub fn drain_into(&mut self, done: &mut Vec<Completion>) {
        self.driver.count_ready(-self.ready.len().cast_signed());
        done.append(&mut self.ready);
    }

    /// Makes room for `count` answers, so that keeping them will not allocate.
    pub fn reserve(&mut self, count: usize) {
        self.ready.reserve(count.saturating_sub(self.ready.len()));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.driver.count_ready(-self.ready.len().cast_signed());
    }
}
