//! A capped volume, as clouds sell them: so many operations and bytes per second of any kind.
//!
//! Commands are admitted in order. Each takes its share of both budgets, and the one that is
//! exhausted first delays it; then it is answered after the latency of the service behind.
//!
//! ```text
//!   admitted = max(arrival, operations' clock, bytes' clock)
//!   clock   += 1 / rate,  amount / rate          answered = admitted + latency
//! ```
//!
//! A budget that is not used may be saved up to a burst, after which it is lost. A volume with a
//! burst of one operation and no bytes limit is the constant server of queueing theory.

use std::collections::VecDeque;

use super::drive::{Answer, Command, Model, Operation, Served};
use crate::error::{Error, Kind, Result};

/// Bytes of a block.
const BLOCK: u64 = 512;

const SECOND_NS: u64 = 1_000_000_000;

/// What a capped volume promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap {
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Operations per second; `None` is no limit.
    pub operations: Option<u64>,
    /// Bytes per second; `None` is no limit.
    pub bytes: Option<u64>,
    /// How much unused time of the budgets is kept.
    pub burst_ns: u64,
    /// What each operation takes besides.
    pub latency_ns: u64,
}

/// A capped volume.
#[derive(Debug, Clone)]
pub struct Capped {
    cap: Cap,
    /// When the next operation, and the next byte, may be admitted.
    operations: Budget,
    bytes: Budget,
    /// In the order of their times, which is that of arrival.
    answers: VecDeque<Answer>,
    serial: u64,
    now_ns: u64,
}

/// A rate, as the time until which it is used up. What is less than a nanosecond is carried.
#[derive(Debug, Clone, Copy, Default)]
struct Budget {
    used_ns: u64,
    carried: u64,
}

impl Budget {
    /// Takes `amount` at `per_second`; when it may begin.
    fn take(&mut self, now_ns: u64, burst_ns: u64, amount: u64, per_second: u64) -> u64 {
        let oldest = now_ns.saturating_sub(burst_ns);
        if self.used_ns < oldest {
            (self.used_ns, self.carried) = (oldest, 0);
        }
        let begin = self.used_ns.max(now_ns);
        let total = u128::from(amount) * u128::from(SECOND_NS) + u128::from(self.carried);
        self.used_ns += (total / u128::from(per_second)) as u64;
        self.carried = (total % u128::from(per_second)) as u64;
        begin
    }
}

impl Capped {
    /// An unused volume; fails if a limit is 0.
    pub fn new(cap: Cap) -> Result<Self> {
        if cap.blocks == 0 || cap.operations == Some(0) || cap.bytes == Some(0) {
            return Err(Error::new(
                Kind::Impossible,
                "a volume of no blocks, or one that may do nothing: leave the limit out",
            ));
        }
        Ok(Self {
            cap,
            operations: Budget::default(),
            bytes: Budget::default(),
            answers: VecDeque::new(),
            serial: 0,
            now_ns: 0,
        })
    }
}

impl Model for Capped {
    fn blocks(&self) -> u64 {
        self.cap.blocks
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        assert!(now_ns >= self.now_ns, "time does not go back");
        self.now_ns = now_ns;
        let mut begin = now_ns;
        let burst_ns = self.cap.burst_ns;
        if let Some(rate) = self.cap.operations {
            begin = begin.max(self.operations.take(now_ns, burst_ns, 1, rate));
        }
        if let Some(rate) = self.cap.bytes
            && command.operation != Operation::Flush
        {
            let bytes = u64::from(command.count) * BLOCK;
            begin = begin.max(self.bytes.take(now_ns, burst_ns, bytes, rate));
        }
        let last = self.answers.back().map_or(0, |answer| answer.at_ns);
        // With a limit an operation is done when its share of it is used up.
        let done = match self.cap.operations {
            Some(_) => begin.max(self.operations.used_ns),
            None => begin,
        };
        let done = match self.cap.bytes {
            Some(_) => done.max(self.bytes.used_ns),
            None => done,
        };
        self.serial += 1;
        let at_ns = (done + self.cap.latency_ns).max(last);
        self.answers
            .push_back(Answer::new(at_ns, self.serial, command.tag, Served::Medium));
    }

    fn wake(&self) -> Option<u64> {
        self.answers.front().map(|answer| answer.at_ns)
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.now_ns = self.now_ns.max(now_ns);
        self.answers
            .front()
            .filter(|answer| answer.at_ns <= now_ns)?;
        self.answers.pop_front()
    }
}

#[cfg(test)]
mod tests;
