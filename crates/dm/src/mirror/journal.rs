//! Writes the log, one round at a time; who needs a round waits for it.
//!
//! What changes while a round is being written goes into the next one, so many regions that are
//! written at once cost one write of the log. Log writes have FUA: when they are answered, they
//! are durable. A log that failed once is not written again: what it holds is not known.

use std::collections::VecDeque;
use std::time::Duration;

use block::{Buffer, Durability, Error, Request};

use super::Mirror;
use super::control::{Step, Steps};
use super::log_image::LogImage;
use super::operation::Operation;

/// The log of a mirror, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// `None`: in memory only, which is always durable enough.
    pub(super) log: Option<LogImage>,
    /// The device of the log.
    pub(super) device: usize,
    /// Writes of the present round that are not answered.
    running: usize,
    round: u64,
    waiting: VecDeque<(u64, Waiter)>,
    failed: Option<Error>,
    /// How the present round goes.
    round_failed: Option<Error>,
}

/// What goes on when the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiter {
    /// Writes to this region.
    Region(u64),
    /// Requests that wait until lost images are called out of sync.
    Drop,
    /// The start, which claims the log when the record is durable.
    Claim,
    /// The start, when the log is claimed.
    Start,
}

impl Journal {
    /// Why the log is not written any more.
    pub(super) fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// Whether nothing is being written or about to be.
    pub(super) fn is_idle(&self) -> bool {
        let changed = self.log.as_ref().is_some_and(LogImage::is_changed);
        self.running == 0 && self.waiting.is_empty() && (!changed || self.failed.is_some())
    }

    /// `waiter` goes on when all that the log holds now is durable.
    pub(super) fn wait(&mut self, waiter: Waiter) {
        self.waiting.push_back((self.round + 1, waiter));
    }

    /// Whether a round should begin.
    pub(super) fn wants_round(&self) -> bool {
        self.running == 0 && !self.is_idle()
    }
}

impl Mirror {
    /// Begins rounds as long as there is something to write and none is running.
    pub(super) fn pump_journal(&mut self, now: Duration, steps: &mut Steps) {
        while self.journal.wants_round() {
            if self.journal.failed.is_none() {
                self.begin_round(steps);
            }
            if self.journal.running == 0 {
                self.end_round(now, steps);
            }
        }
    }

    fn begin_round(&mut self, steps: &mut Steps) {
        let leg = self.journal.device;
        let Some(log) = &mut self.journal.log else {
            return;
        };
        let mut running = 0;
        for (start, bytes) in log.take_changed() {
            let mut buffer = self.pool.get(bytes.len());
            buffer.copy_from_slice(bytes);
            let id = self.operations.insert(Operation::LogWrite) as u64;
            let request = Request::write(id, start, Durability::Fua, buffer);
            running += 1;
            steps.push(Step::Sub { leg, request });
        }
        self.journal.running = running;
        self.journal.round += 1;
    }

    /// A piece of the round was answered.
    pub(super) fn log_written(
        &mut self,
        result: block::Result<()>,
        now: Duration,
        steps: &mut Steps,
    ) {
        self.journal.running -= 1;
        if let Err(error) = result {
            self.journal.round_failed.get_or_insert(error);
        }
        if self.journal.running == 0 {
            self.end_round(now, steps);
        }
    }

    fn end_round(&mut self, now: Duration, steps: &mut Steps) {
        if let Some(error) = self.journal.round_failed.take() {
            let what = format!("{}: the log cannot be written, ", self.config.name);
            self.journal
                .failed
                .get_or_insert(error.within(what + "give it another one"));
        }
        let failed = self.journal.failed.clone();
        let round = match failed {
            None => self.journal.round,
            // Nobody is waited for any more.
            Some(_) => u64::MAX,
        };
        while let Some((_, waiter)) = self
            .journal
            .waiting
            .pop_front_if(|(when, _)| *when <= round)
        {
            let result = failed.clone().map_or(Ok(()), Err);
            match waiter {
                Waiter::Region(region) => self.region_marked(region, &result, now, steps),
                Waiter::Drop => self.drop_recorded(&result, now, steps),
                Waiter::Claim => self.claim_log(result, now, steps),
                Waiter::Start => self.log_claimed(result, now, steps),
            }
        }
    }

    /// Clears the bits of `regions`, which open when that is durable.
    pub(super) fn mark(&mut self, regions: &[u64], now: Duration, steps: &mut Steps) {
        let Some(log) = &mut self.journal.log else {
            for region in regions {
                self.region_marked(*region, &Ok(()), now, steps);
            }
            return;
        };
        for region in regions {
            log.set(*region, false);
        }
        for region in regions {
            self.journal.wait(Waiter::Region(*region));
        }
    }

    fn region_marked(
        &mut self,
        region: u64,
        result: &block::Result<()>,
        now: Duration,
        steps: &mut Steps,
    ) {
        let waiters = match result {
            Ok(()) => self.regions.open(region),
            Err(_) => self.regions.refuse(region),
        };
        for id in waiters {
            if let Err(error) = result {
                let write = self.operations.write(id);
                write.error.get_or_insert_with(|| error.clone());
            }
            self.unblock(id, now, steps);
        }
    }

    /// Asks for `len` bytes of the log from byte `at`, at the start.
    pub(super) fn read_log(&mut self, at: u64, len: usize, steps: &mut Steps) {
        let id = self.operations.insert(Operation::LoadLog { at }) as u64;
        let request = Request::read(id, at, Buffer::zeroed(len));
        let leg = self.journal.device;
        steps.push(Step::Sub { leg, request });
    }
}
