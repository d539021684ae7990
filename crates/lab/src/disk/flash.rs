//! A flash disk: units that work at the same time, and a cache in front of them.
//!
//! ```text
//!   command ─ overhead ─ [ cache ] ─ page p on unit p mod n ─ [ bus ] ─ answer
//!                                     each unit: first come, first served
//! ```
//!
//! A unit (a die, or a plane of one) reads or programs one page at a time. A program costs more
//! than its own time: what the cleaner moves (write amplification) and, once per erase block, an
//! erase; both keep the unit busy, so that reads behind them wait. A write is reported when it has
//! a place in the cache, which it keeps until its program ends. A write of part of a page reads the
//! page first.
//!
//! Simple on purpose: pages do not move, cleaning is an even tax and not a burst, reads do not
//! overtake programs, and there is no limit to the queue. It tells parallelism, caches and mixed
//! loads apart; it does not predict the tail of a given product.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::drive::{Answer, Command, Model, Operation, Served};
use crate::error::{Error, Kind, Result};

/// Units that a profile may claim.
const UNITS_MAX: usize = 1 << 16;

/// One model of flash disk. Times are nanoseconds, blocks are 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlashProfile {
    /// Blocks that it offers.
    pub blocks: u64,
    /// Blocks of a page.
    pub page_blocks: u32,
    /// Units that work at the same time.
    pub units: usize,
    /// To read a page.
    pub read_ns: u64,
    /// To program a page.
    pub program_ns: u64,
    /// To erase a block.
    pub erase_ns: u64,
    /// Pages of an erase block.
    pub erase_pages: u64,
    /// Pages programmed for each page written, in thousandths; 1000 is a fresh disk.
    pub amplification_thousandths: u64,
    /// Pages of the write cache; 0 reports writes when they are programmed.
    pub cache_pages: usize,
    /// What the controller spends on each command.
    pub overhead_ns: u64,
    /// To transfer a block.
    pub block_ns: u64,
}

/// A flash disk.
#[derive(Debug, Clone)]
pub struct Flash {
    profile: FlashProfile,
    units: Vec<Unit>,
    /// When the places of the cache that are taken become free.
    cached: BinaryHeap<Reverse<u64>>,
    /// Until when the newest content of a page is in the cache.
    fresh: BTreeMap<u64, u64>,
    bus_free_ns: u64,
    /// When all programs that were begun have ended.
    settled_ns: u64,
    answers: BinaryHeap<Reverse<Answer>>,
    serial: u64,
    now_ns: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    free_ns: u64,
    /// Thousandths of pages since the last erase.
    worn: u64,
}

impl Flash {
    /// An unused disk; fails if the profile is impossible.
    pub fn new(profile: FlashProfile) -> Result<Self> {
        let wrong = |what: &str| Err(Error::new(Kind::Impossible, format!("flash: {what}")));
        if profile.blocks == 0 || profile.page_blocks == 0 || profile.erase_pages == 0 {
            return wrong("no blocks, or pages or erase blocks of nothing");
        }
        if !(1..=UNITS_MAX).contains(&profile.units) {
            return wrong("the number of units is out of range");
        }
        if profile.amplification_thousandths < 1000 {
            return wrong("it programs less than is written");
        }
        Ok(Self {
            profile,
            units: vec![Unit::default(); profile.units],
            cached: BinaryHeap::new(),
            fresh: BTreeMap::new(),
            bus_free_ns: 0,
            settled_ns: 0,
            answers: BinaryHeap::new(),
            serial: 0,
            now_ns: 0,
        })
    }

    fn unit(&mut self, page: u64) -> &mut Unit {
        let index = (page % self.profile.units as u64) as usize;
        &mut self.units[index]
    }

    /// Reads a page, not before `ready_ns`; when it is there.
    fn read(&mut self, page: u64, ready_ns: u64) -> u64 {
        if self.fresh.get(&page).is_some_and(|&until| until > ready_ns) {
            return ready_ns;
        }
        let read_ns = self.profile.read_ns;
        let unit = self.unit(page);
        unit.free_ns = unit.free_ns.max(ready_ns) + read_ns;
        unit.free_ns
    }

    /// Programs a page, with its share of cleaning; when it has ended.
    fn program(&mut self, page: u64, ready_ns: u64) -> u64 {
        let profile = self.profile;
        let unit = self.unit(page);
        unit.worn += profile.amplification_thousandths;
        let mut time = profile.program_ns * profile.amplification_thousandths / 1000;
        if unit.worn >= profile.erase_pages * 1000 {
            unit.worn -= profile.erase_pages * 1000;
            time += profile.erase_ns;
        }
        unit.free_ns = unit.free_ns.max(ready_ns) + time;
        let end = unit.free_ns;
        self.settled_ns = self.settled_ns.max(end);
        end
    }

    /// The pages of a command, and whether it covers each whole.
    fn pages(&self, command: &Command) -> impl Iterator<Item = (u64, bool)> + use<> {
        let size = u64::from(self.profile.page_blocks);
        let (start, end) = (command.start, command.start + u64::from(command.count));
        (start / size..end.div_ceil(size))
            .map(move |page| (page, page * size >= start && (page + 1) * size <= end))
    }

    /// When a read can go over the bus.
    fn serve_read(&mut self, command: &Command, ready_ns: u64) -> u64 {
        let mut done = ready_ns;
        for (page, _) in self.pages(command) {
            done = done.max(self.read(page, ready_ns));
        }
        done
    }

    /// When a write whose data is there at `ready_ns` is in the cache, and when on the medium.
    fn serve_write(&mut self, command: &Command, ready_ns: u64) -> (u64, u64) {
        let (mut taken, mut ended) = (ready_ns, ready_ns);
        for (page, whole) in self.pages(command) {
            if self.profile.cache_pages > 0 {
                while self.cached.peek().is_some_and(|free| free.0 <= taken) {
                    self.cached.pop();
                }
                if self.cached.len() >= self.profile.cache_pages
                    && let Some(Reverse(free)) = self.cached.pop()
                {
                    taken = taken.max(free);
                }
            }
            let old = if whole { taken } else { self.read(page, taken) };
            let end = self.program(page, old);
            ended = ended.max(end);
            if self.profile.cache_pages > 0 {
                self.cached.push(Reverse(end));
                self.fresh.insert(page, end);
            }
        }
        if self.fresh.len() > 2 * self.profile.cache_pages {
            self.fresh.retain(|_, until| *until > ready_ns);
        }
        (taken, ended)
    }
}

impl Model for Flash {
    fn blocks(&self) -> u64 {
        self.profile.blocks
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        assert!(now_ns >= self.now_ns, "time does not go back");
        self.now_ns = now_ns;
        let ready = now_ns + self.profile.overhead_ns;
        let transfer = u64::from(command.count) * self.profile.block_ns;
        let (at_ns, served) = match command.operation {
            Operation::Read => {
                let read = self.serve_read(&command, ready);
                self.bus_free_ns = self.bus_free_ns.max(read) + transfer;
                (
                    self.bus_free_ns,
                    if read == ready {
                        Served::Cache
                    } else {
                        Served::Medium
                    },
                )
            }
            Operation::Write | Operation::WriteThrough => {
                self.bus_free_ns = self.bus_free_ns.max(ready) + transfer;
                let (taken, ended) = self.serve_write(&command, self.bus_free_ns);
                if command.operation == Operation::Write && self.profile.cache_pages > 0 {
                    (taken, Served::Cache)
                } else {
                    (ended, Served::Medium)
                }
            }
            Operation::Flush => (self.settled_ns.max(ready), Served::Medium),
        };
        self.serial += 1;
        self.answers.push(Reverse(Answer::new(
            at_ns,
            self.serial,
            command.tag,
            served,
        )));
    }

    fn wake(&self) -> Option<u64> {
        self.answers.peek().map(|answer| answer.0.at_ns)
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.now_ns = self.now_ns.max(now_ns);
        self.answers
            .peek()
            .filter(|answer| answer.0.at_ns <= now_ns)?;
        self.answers.pop().map(|answer| answer.0)
    }
}

#[cfg(test)]
mod tests;
