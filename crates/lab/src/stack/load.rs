//! fio's jobs against a model, in virtual time.
//!
//! Each process of a job keeps its depth of requests under way, or issues at its rate. Jobs run
//! together until one that waits for those before it. What counts is what is answered after the
//! ramp and before the end of the run time; a job without a run time ends with its volume.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::disk::drive::{Command, Model, Operation, Spent};
use crate::error::{Error, Kind, Result};
use crate::stats::Histogram;
use crate::workload::fio::{Direction, Job, Request, Requests};

const BLOCK: u64 = 512;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The jobs, as a job file has them.
    pub jobs: &'a [Job],
    /// Added to each job's own seed.
    pub seed: u64,
    /// Answers after which a run ends whatever its jobs say; `None`: no limit.
    pub requests_max: Option<u64>,
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Emulated nanoseconds that count.
    pub elapsed_ns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Times from issue to answer of reads, in nanoseconds.
    pub reads: Histogram,
    /// The same of writes.
    pub writes: Histogram,
    /// Flushes.
    pub flushes: u64,
    /// All answers, also those that do not count.
    pub answers: u64,
    /// Where time went, in the whole run.
    pub spent: Spent,
}

impl Outcome {
    /// Requests per second.
    pub fn per_second(&self) -> f64 {
        let count = self.reads.count() + self.writes.count();
        count as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }

    /// Megabytes (10^6) per second.
    pub fn megabytes(&self) -> f64 {
        (self.read_bytes + self.written_bytes) as f64 * 1e3 / self.elapsed_ns.max(1) as f64
    }

    /// Times of reads and writes together.
    pub fn all(&self) -> Histogram {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }

    /// The mean number of requests under way, by Little's law.
    pub fn outstanding(&self) -> f64 {
        self.per_second() * self.all().mean().unwrap_or(0.0) / 1e9
    }
}

/// A process of a job.
#[derive(Debug)]
struct Process {
    requests: Requests,
    next: Option<Request>,
    /// A flush goes before the next request.
    flush: bool,
    depth: u32,
    open: u32,
    think_ns: u64,
    /// Not before this, for want of a thought.
    free_ns: u64,
    /// When the timer that waits for it comes; one is enough.
    timer_ns: Option<u64>,
    /// When it begins no more requests.
    stop_ns: u64,
    count_from_ns: u64,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Flight {
    process: u32,
    issued_ns: u64,
    bytes: u64,
    direction: Option<Direction>,
}

struct Run<'a> {
    model: &'a mut dyn Model,
    begin_ns: u64,
    now_ns: u64,
    processes: Vec<Process>,
    /// Processes that wait for a time.
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    flights: Vec<Flight>,
    idle: Vec<u32>,
    open: usize,
    left: u64,
    outcome: Outcome,
}

/// Runs the jobs on a model whose time is 0.
pub fn run(model: &mut dyn Model, plan: &Plan<'_>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut now_ns = 0;
    let mut rest = plan.jobs;
    while !rest.is_empty() {
        let together = 1 + rest[1..].iter().take_while(|job| !job.waits).count();
        let (group, after) = rest.split_at(together);
        rest = after;
        let left = plan.requests_max.unwrap_or(u64::MAX);
        let mut run = Run {
            model: &mut *model,
            begin_ns: now_ns,
            now_ns,
            processes: Vec::new(),
            timers: BinaryHeap::new(),
            flights: Vec::new(),
            idle: Vec::new(),
            open: 0,
            left: left.saturating_sub(outcome.answers),
            outcome,
        };
        for job in group {
            run.add(job, plan.seed)?;
        }
        run.drive();
        now_ns = run.now_ns;
        outcome = run.outcome;
    }
    model.account(&mut outcome.spent);
    Ok(outcome)
}

impl Run<'_> {
    fn add(&mut self, job: &Job, seed: u64) -> Result<()> {
        let wrong = |what: String| {
            let line = job.line;
            Error::new(
                Kind::Impossible,
                format!("job {} line {line}: {what}", job.name),
            )
        };
        let size = self.model.blocks() * BLOCK;
        let last = u64::from(job.processes - 1) * job.offset_increment;
        if job.offset + last + job.size > size {
            return Err(wrong(format!(
                "works past the end of the volume, byte {size}"
            )));
        }
        let whole = [job.block[0], job.block[1], job.offset, job.offset_increment];
        if whole.iter().any(|bytes| !bytes.is_multiple_of(BLOCK)) {
            return Err(wrong("works on parts of blocks of 512 bytes".to_owned()));
        }
        for number in 0..job.processes {
            let mut job = job.clone();
            job.seed = job.seed.wrapping_add(seed.wrapping_mul(0x1_0000_01b3));
            let requests = Requests::new(&job, number);
            let mut requests = requests.map_err(|error| wrong(error.to_string()))?;
            let end = job
                .runtime
                .map(|runtime| self.begin_ns + job.ramp + runtime);
            self.processes.push(Process {
                next: requests.next(),
                requests,
                flush: false,
                depth: job.depth,
                open: 0,
                think_ns: job.think,
                free_ns: 0,
                timer_ns: None,
                stop_ns: end.unwrap_or(u64::MAX),
                count_from_ns: self.begin_ns + job.ramp,
            });
        }
        Ok(())
    }

    fn drive(&mut self) {
        for process in 0..self.processes.len() {
            self.issue(process);
        }
        while self.open > 0 || !self.timers.is_empty() {
            let wake = self.model.wake();
            let timer = self.timers.peek().map(|timer| timer.0.0);
            let next = match (wake, timer) {
                (Some(wake), Some(timer)) => wake.min(timer),
                (wake, timer) => match wake.or(timer) {
                    Some(next) => next,
                    None => unreachable!("requests under way are answered"),
                },
            };
            self.now_ns = self.now_ns.max(next);
            while let Some(answer) = self.model.answer(self.now_ns) {
                self.answered(answer.tag as u32, answer.at_ns);
            }
            while let Some(Reverse((at, process))) = self.timers.peek().copied()
                && at <= self.now_ns
            {
                self.timers.pop();
                self.issue(process as usize);
            }
        }
        let ends = self.processes.iter().map(|process| process.stop_ns);
        let end = ends.max().unwrap_or(0).min(self.now_ns);
        let from = self.processes.iter().map(|process| process.count_from_ns);
        let from = from.min().unwrap_or(self.begin_ns);
        self.outcome.elapsed_ns += end.saturating_sub(from);
    }

    /// Lets a process issue what it may.
    fn issue(&mut self, index: usize) {
        loop {
            let process = &mut self.processes[index];
            let Some(request) = process.next else {
                return;
            };
            if process.open >= process.depth || self.now_ns >= process.stop_ns || self.left == 0 {
                return;
            }
            let at = process.free_ns.max(self.begin_ns + request.not_before);
            if at > self.now_ns {
                if at < process.stop_ns && process.timer_ns != Some(at) {
                    process.timer_ns = Some(at);
                    self.timers.push(Reverse((at, index as u32)));
                }
                return;
            }
            process.open += 1;
            let flush = std::mem::take(&mut process.flush);
            if !flush {
                process.flush = request.flush;
                process.next = process.requests.next();
            }
            self.submit(index, &request, flush);
        }
    }

    fn submit(&mut self, index: usize, request: &Request, flush: bool) {
        let flight = Flight {
            process: index as u32,
            issued_ns: self.now_ns,
            bytes: request.bytes,
            direction: (!flush).then_some(request.direction),
        };
        let number = if let Some(number) = self.idle.pop() {
            self.flights[number as usize] = flight;
            number
        } else {
            self.flights.push(flight);
            self.flights.len() as u32 - 1
        };
        self.open += 1;
        let operation = match flight.direction {
            None => Operation::Flush,
            Some(Direction::Read) => Operation::Read,
            Some(Direction::Write) => Operation::Write,
        };
        let command = Command {
            tag: u64::from(number),
            operation,
            start: if flush { 0 } else { request.offset / BLOCK },
            count: if flush {
                0
            } else {
                (request.bytes / BLOCK) as u32
            },
        };
        self.model.submit(self.now_ns, command);
    }

    fn answered(&mut self, number: u32, at_ns: u64) {
        let flight = self.flights[number as usize];
        self.idle.push(number);
        self.open -= 1;
        self.left = self.left.saturating_sub(1);
        self.outcome.answers += 1;
        let index = flight.process as usize;
        let process = &mut self.processes[index];
        process.open -= 1;
        if process.think_ns > 0 {
            process.free_ns = self.now_ns + process.think_ns;
        }
        if at_ns > process.count_from_ns && at_ns <= process.stop_ns {
            let took = at_ns - flight.issued_ns;
            match flight.direction {
                Some(Direction::Read) => {
                    self.outcome.read_bytes += flight.bytes;
                    self.outcome.reads.add(took);
                }
                Some(Direction::Write) => {
                    self.outcome.written_bytes += flight.bytes;
                    self.outcome.writes.add(took);
                }
                None => self.outcome.flushes += 1,
            }
        }
        self.issue(index);
    }
}
