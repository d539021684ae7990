//! Requests between the file system and the device: made of blocks, sent, answered, accounted.
//!
//! Blocks that are handed in one after the other become one request while they follow each other
//! on the device, are of the same kind and for the same purpose. So many writes may be outstanding;
//! reads are few, since one caller makes them. Sorting them is the device's business: the
//! [`super::Elevator`] in front of a drive does it, below any mapping, as in the kernel.

use super::account::Account;
use super::options::BLOCK;
use crate::component::Component;
use crate::disk::drive::{Command, Model, Operation};

/// 512-byte blocks of a block of the file system.
const SECTORS: u64 = BLOCK / 512;

/// Who asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The caller reads.
    Read,
    /// Writing back what is dirty.
    WriteBack,
    /// A commit: data, log and record.
    Commit,
    /// Emptying the log.
    Checkpoint,
    /// The caller reads or writes past the cache.
    Direct,
}

impl Purpose {
    const COUNT: usize = 5;
}

/// A request of consecutive blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) purpose: Purpose,
    pub(super) operation: Operation,
    pub(super) class: Component,
    pub(super) start: u32,
    pub(super) count: u32,
}

/// Requests that are not answered.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    /// Handed in and not sent.
    staged: Vec<Request>,
    /// Sent, by tag.
    sent: Vec<Option<Request>>,
    unused: Vec<u64>,
    outstanding: usize,
    writes: usize,
    by_purpose: [usize; Purpose::COUNT],
    /// Up to where the device's time is accounted.
    accounted_ns: u64,
    most_writes: usize,
    most_blocks: u32,
    /// Whose request was answered last.
    served: Component,
}

impl Queue {
    pub(super) fn new(most_writes: usize, most_bytes: u64) -> Self {
        Self {
            staged: Vec::new(),
            sent: Vec::new(),
            unused: Vec::new(),
            outstanding: 0,
            writes: 0,
            by_purpose: [0; Purpose::COUNT],
            accounted_ns: 0,
            most_writes: most_writes.max(1),
            most_blocks: (most_bytes / BLOCK).max(1) as u32,
            served: Component::FileData,
        }
    }

    /// Whether another write may be handed in.
    pub(super) fn has_room(&self) -> bool {
        self.writes < self.most_writes
    }

    /// Requests of this purpose that are not answered.
    pub(super) fn count(&self, purpose: Purpose) -> usize {
        self.by_purpose[purpose as usize]
    }

    /// Whose request was answered last.
    pub(super) fn served(&self) -> Component {
        self.served
    }

    /// Hands a block in.
    pub(super) fn add(
        &mut self,
        purpose: Purpose,
        operation: Operation,
        class: Component,
        block: u32,
    ) {
        if let Some(last) = self.staged.last_mut()
            && (last.purpose, last.operation, last.class) == (purpose, operation, class)
            && last.start + last.count == block
            && last.count < self.most_blocks
            && operation != Operation::Flush
        {
            last.count += 1;
            return;
        }
        self.writes += usize::from(operation != Operation::Read);
        self.by_purpose[purpose as usize] += 1;
        self.staged.push(Request {
            purpose,
            operation,
            class,
            start: block,
            count: u32::from(operation != Operation::Flush),
        });
    }

    /// Sends what was handed in; whether there was anything.
    pub(super) fn send(
        &mut self,
        now_ns: u64,
        device: &mut dyn Model,
        account: &mut Account,
    ) -> bool {
        if self.staged.is_empty() {
            return false;
        }
        if self.outstanding == 0 {
            account.idle_ns += now_ns - self.accounted_ns;
            self.accounted_ns = now_ns;
        }
        for request in self.staged.drain(..) {
            let tag = self.unused.pop().unwrap_or_else(|| {
                self.sent.push(None);
                self.sent.len() as u64 - 1
            });
            self.sent[tag as usize] = Some(request);
            self.outstanding += 1;
            let tally = account.class_mut(request.class);
            let bytes = u64::from(request.count) * BLOCK;
            match request.operation {
                Operation::Read => {
                    tally.reads += 1;
                    tally.read_bytes += bytes;
                }
                Operation::Flush => account.flushes += 1,
                Operation::Write | Operation::WriteThrough => {
                    tally.writes += 1;
                    tally.written_bytes += bytes;
                }
            }
            let command = Command {
                tag,
                operation: request.operation,
                start: u64::from(request.start) * SECTORS,
                count: request.count * SECTORS as u32,
            };
            device.submit(now_ns, command);
        }
        true
    }

    /// Takes the answers of the next moment that has any, if it has come.
    pub(super) fn collect(
        &mut self,
        now_ns: u64,
        device: &mut dyn Model,
        account: &mut Account,
    ) -> Vec<Request> {
        let mut requests = Vec::new();
        let mut at_ns = now_ns;
        while let Some(answer) = device.answer(now_ns) {
            at_ns = answer.at_ns.max(self.accounted_ns);
            let slot = &mut self.sent[answer.tag as usize];
            let request = slot.take().expect("a request is answered once");
            self.unused.push(answer.tag);
            self.outstanding -= 1;
            self.writes -= usize::from(request.operation != Operation::Read);
            self.by_purpose[request.purpose as usize] -= 1;
            requests.push(request);
        }
        if let Some(last) = requests.last() {
            self.served = last.class;
            self.share(at_ns, &requests, account);
        }
        requests
    }

    /// Shares the device's time since the last answer among those of this moment, by blocks.
    fn share(&mut self, at_ns: u64, requests: &[Request], account: &mut Account) {
        let total_ns = at_ns - self.accounted_ns;
        self.accounted_ns = at_ns;
        let weight = |request: &Request| u64::from(request.count.max(1));
        let all: u64 = requests.iter().map(weight).sum();
        let (mut passed, mut given_ns) = (0, 0);
        for request in requests {
            passed += weight(request);
            let until = (u128::from(total_ns) * u128::from(passed) / u128::from(all)) as u64;
            account.class_mut(request.class).busy_ns += until - given_ns;
            given_ns = until;
        }
    }

    /// Accounts for the device's time until now, though its requests may not be answered.
    pub(super) fn settle(&self, now_ns: u64, account: &mut Account) {
        let rest = now_ns - self.accounted_ns;
        let oldest = self.sent.iter().flatten().next();
        match oldest.or(self.staged.first()) {
            Some(request) => account.class_mut(request.class).busy_ns += rest,
            None => account.idle_ns += rest,
        }
    }
}
