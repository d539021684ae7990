//! A device in memory: the simplest one, for tests, the bench's baseline and small tools.
//!
//! Requests are done while they are submitted. Content is shared by all queues behind one lock
//! that is held for a copy; racing writes to the same bytes end as one of them per request.

use std::sync::{Arc, PoisonError, RwLock};

use crate::{
    Answers, Checked, Completion, Device, Driver, FlushLatch, Info, Operation, Queue, Request,
    Result,
};

/// A device whose blocks are bytes in memory. Discarded bytes read as zeros.
#[derive(Debug)]
pub struct MemoryDevice {
    info: Info,
    content: Arc<RwLock<Vec<u8>>>,
}

impl MemoryDevice {
    /// A device of `size` zero bytes.
    pub fn new(name: impl Into<String>, size: u64) -> Self {
        Self::from_bytes(
            name,
            vec![0; usize::try_from(size).expect("fits in memory")],
        )
    }

    /// A device that holds `bytes`.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let mut info = Info::new(name, bytes.len() as u64);
        info.discard_granularity = 512;
        info.discard_zeroes = true;
        info.fua = true;
        Self {
            info,
            content: Arc::new(RwLock::new(bytes)),
        }
    }

    /// A copy of all that it holds.
    pub fn snapshot(&self) -> Vec<u8> {
        self.content
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Device for MemoryDevice {
    fn info(&self) -> Info {
        self.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        let queue = MemoryQueue {
            content: Arc::clone(&self.content),
            answers: Answers::new(driver),
        };
        let latch = FlushLatch::default();
        Ok(Box::new(Checked::new(queue, driver, self.info(), latch)))
    }
}

struct MemoryQueue {
    content: Arc<RwLock<Vec<u8>>>,
    answers: Answers,
}

impl MemoryQueue {
    fn run(&self, request: &mut Request) {
        let span = request.range.start() as usize..request.range.end() as usize;
        match request.operation {
            Operation::Read => {
                let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
                request.buffer.copy_from_slice(&content[span]);
            }
            Operation::Write => {
                let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
                content[span].copy_from_slice(&request.buffer);
            }
            Operation::WriteZeroes(_) | Operation::Discard => {
                let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
                content[span].fill(0);
            }
            Operation::Flush => {}
        }
    }
}

impl Queue for MemoryQueue {
    fn submit(&mut self, mut request: Request) {
        self.run(&mut request);
        self.answers.push(request.complete(Ok(())));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.answers.drain_into(done);
    }

    fn in_flight(&self) -> usize {
        self.answers.len()
    }
}
