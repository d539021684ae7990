//! The load: seeded requests over several links, and a look at every block after each lost one.
//!
//! Requests that touch the same block never overlap. A link that fails is a cut: all links are
//! given up, and the load comes back as soon as somebody answers again.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::history::{Durability, Event};
use super::journal::Journal;
use super::link::{Answer, Command, Link, Work};
use super::pattern::{BLOCK, Content, fill};
use super::random::Random;

/// How long a server that was killed may stay away.
const ABSENCE_MAX: Duration = Duration::from_mins(3);
const PERIOD: Duration = Duration::from_millis(2);
/// Requests in flight over all links.
const DEPTH: usize = 24;
/// Of these, reads: all their answers fit into a socket, so that nobody waits for the other.
const READS_MAX: usize = 2;
/// The longest request, in blocks.
const RUN_MAX: u64 = 8;
/// Blocks read at once when all are looked at.
const LOOK: u64 = 64;

/// What a load did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Writes and zeroings that were answered.
    pub writes: u64,
    /// Of these, with FUA.
    pub fua: u64,
    /// Flushes that were answered.
    pub flushes: u64,
    /// Blocks that were read and found right.
    pub blocks_read: u64,
    /// Times that the links were lost.
    pub cuts: u64,
    /// Writes that were in flight at a cut.
    pub in_doubt: u64,
    /// What was wrong.
    pub problems: Vec<String>,
}

/// A running load.
#[derive(Debug)]
pub struct Load {
    journal: Journal,
    random: Random,
    next: u64,
    in_flight: HashMap<u64, Flight>,
    start: Start,
    progress: Arc<AtomicU64>,
    report: Report,
}

/// What the device holds when the load begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// What the history says.
    Known,
    /// Anything.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    link: usize,
    kind: Kind,
    first: u64,
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write(Durability),
    Flush,
}

/// Why a stretch of load ended.
enum Ended {
    Asked,
    Cut,
}

impl Load {
    /// A load whose requests follow from the journal's seed.
    pub fn new(journal: Journal) -> Self {
        let random = Random::new(journal.history().seed());
        Load {
            journal,
            random,
            next: 1,
            in_flight: HashMap::new(),
            start: Start::Known,
            progress: Arc::default(),
            report: Report::default(),
        }
    }

    /// The same for a device that may hold anything: it is zeroed first.
    #[must_use]
    pub fn wiping(mut self) -> Self {
        self.start = Start::Unknown;
        self
    }

    /// How many requests were answered so far, looks aside.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.progress)
    }

    /// Loads until `stop`, then waits for the last answers and looks at every block once more.
    /// `connect` makes the links; it is called again after a cut.
    pub fn run<L: Link>(
        mut self,
        connect: impl Fn() -> io::Result<Vec<L>>,
        stop: &AtomicBool,
    ) -> Report {
        loop {
            let mut links = match patiently(&connect) {
                Ok(links) => links,
                Err(error) => {
                    let problem = format!("nobody answers any more: {error}");
                    self.report.problems.push(problem);
                    return self.report;
                }
            };
            let ended = self.stretch(&mut links, stop);
            drop(links);
            if !self.report.problems.is_empty() {
                return self.report;
            }
            match ended {
                Ended::Asked => return self.report,
                Ended::Cut => self.cut(),
            }
        }
    }

    /// Looks at every block, loads, and when asked to stop looks again.
    fn stretch<L: Link>(&mut self, links: &mut [L], stop: &AtomicBool) -> Ended {
        let mut go = || -> io::Result<()> {
            if self.start == Start::Unknown {
                self.wipe(&mut links[0])?;
                self.start = Start::Known;
            }
            self.look(&mut links[0])?;
            while !stop.load(Ordering::Relaxed) && self.report.problems.is_empty() {
                while self.in_flight.len() < DEPTH && self.submit(links)? {}
                self.receive(links)?;
            }
            while !self.in_flight.is_empty() {
                self.receive(links)?;
            }
            self.look(&mut links[0])
        };
        match go() {
            Ok(()) => Ended::Asked,
            Err(_) => Ended::Cut,
        }
    }

    fn cut(&mut self) {
        let writes = self
            .in_flight
            .values()
            .filter(|flight| flight.kind != Kind::Read);
        self.report.in_doubt += writes.count() as u64;
        self.report.cuts += 1;
        self.in_flight.clear();
        self.journal.add(Event::Cut);
    }

    /// Sends one more request. `false`: the blocks drawn are busy.
    fn submit<L: Link>(&mut self, links: &mut [L]) -> io::Result<bool> {
        let count = 1 + self.random.below(RUN_MAX);
        let first = self.random.below(self.journal.history().len() - count + 1);
        let (what, link) = (self.random.below(32), self.random.below(links.len() as u64));
        let link = link as usize;
        let overlaps =
            |flight: &Flight| first < flight.first + flight.count && flight.first < first + count;
        if self.in_flight.values().any(overlaps) {
            return Ok(false);
        }
        let reads = self.in_flight.values();
        let reads = reads.filter(|flight| flight.kind == Kind::Read).count();
        if (2..=6).contains(&what) && reads >= READS_MAX {
            return Ok(false);
        }
        let id = self.next;
        self.next += 1;
        let (work, flight) = match what {
            0 | 1 => {
                self.journal.add(Event::Flush { id });
                let flight = Flight {
                    link,
                    kind: Kind::Flush,
                    first: 0,
                    count: 0,
                };
                (Work::Flush, flight)
            }
            2..=6 => {
                let flight = Flight {
                    link,
                    kind: Kind::Read,
                    first,
                    count,
                };
                (Work::Read { first, count }, flight)
            }
            _ => {
                let content = if what < 10 {
                    Content::Zeros
                } else {
                    Content::Noise
                };
                let durability = if what % 5 == 0 {
                    Durability::Fua
                } else {
                    Durability::Volatile
                };
                let work = self.write(id, first, count, content, durability);
                let flight = Flight {
                    link,
                    kind: Kind::Write(durability),
                    first,
                    count,
                };
                (work, flight)
            }
        };
        self.in_flight.insert(id, flight);
        links[link].send(Command { id, work })?;
        Ok(true)
    }

    fn write(
        &mut self,
        id: u64,
        first: u64,
        count: u64,
        content: Content,
        durability: Durability,
    ) -> Work {
        self.journal.add(Event::Write {
            id,
            first,
            count,
            content,
            durability,
        });
        let seed = self.journal.history().seed();
        let mut bytes = vec![0; count as usize * BLOCK];
        for (block, bytes) in (first..).zip(bytes.chunks_exact_mut(BLOCK)) {
            fill(bytes, seed, block, id, content);
        }
        Work::Write {
            first,
            bytes,
            content,
            durability,
        }
    }

    /// Takes one answer, from the link that owes the oldest.
    fn receive<L: Link>(&mut self, links: &mut [L]) -> io::Result<()> {
        let Some(oldest) = self.in_flight.keys().min() else {
            return Ok(());
        };
        let link = self.in_flight[oldest].link;
        let answer = links[link].receive()?;
        self.progress.fetch_add(1, Ordering::Relaxed);
        let Some(flight) = self.in_flight.remove(&answer.id) else {
            let problem = format!("an answer to {}, which was not asked", answer.id);
            self.report.problems.push(problem);
            return Ok(());
        };
        match flight.kind {
            Kind::Read => self.judge(flight.first, &answer),
            Kind::Write(durability) => {
                self.journal.add(Event::Answered { id: answer.id });
                self.report.writes += 1;
                self.report.fua += u64::from(durability == Durability::Fua);
            }
            Kind::Flush => {
                self.journal.add(Event::Answered { id: answer.id });
                self.report.flushes += 1;
            }
        }
        Ok(())
    }

    /// Writes zeros to every block.
    fn wipe(&mut self, link: &mut impl Link) -> io::Result<()> {
        let blocks = self.journal.history().len();
        for first in (0..blocks).step_by(LOOK as usize) {
            let (id, count) = (self.next, LOOK.min(blocks - first));
            self.next += 1;
            let work = self.write(id, first, count, Content::Zeros, Durability::Volatile);
            link.send(Command { id, work })?;
            link.receive()?;
            self.journal.add(Event::Answered { id });
        }
        Ok(())
    }

    /// Reads every block while nothing is in flight.
    fn look(&mut self, link: &mut impl Link) -> io::Result<()> {
        let blocks = self.journal.history().len();
        for first in (0..blocks).step_by(LOOK as usize) {
            let (id, count) = (self.next, LOOK.min(blocks - first));
            self.next += 1;
            let work = Work::Read { first, count };
            link.send(Command { id, work })?;
            let answer = link.receive()?;
            self.judge(first, &answer);
        }
        Ok(())
    }

    fn judge(&mut self, first: u64, answer: &Answer) {
        for (block, bytes) in (first..).zip(answer.bytes.chunks_exact(BLOCK)) {
            match self.journal.history().judge(block, bytes) {
                Ok(version) => {
                    if self.journal.history().is_unsure(block) {
                        self.journal.add(Event::Read { block, version });
                    }
                    self.report.blocks_read += 1;
                }
                Err(problem) => self.report.problems.push(problem),
            }
        }
    }
}

fn patiently<L>(connect: impl Fn() -> io::Result<Vec<L>>) -> io::Result<Vec<L>> {
    let deadline = Instant::now() + ABSENCE_MAX;
    loop {
        match connect() {
            Err(_) if Instant::now() < deadline => thread::sleep(PERIOD),
            result => return result,
        }
    }
}
