//! A machine, disks that take their time, and a clock that jumps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use ashlar_dm::machine::{Event, EventOf, Machine, Step, Steps};
use block::{Completion, Request};

use super::kind;

/// How long a disk takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Disk {
    /// What each request takes.
    pub(super) request: Duration,
    /// What one takes besides that does not begin where the last one ended; not flushes.
    pub(super) seek: Duration,
    pub(super) bytes_per_second: u64,
}

impl Disk {
    /// Bytes in a second, in order, so many at a time.
    pub(super) fn rate_in_order(&self, bytes: u64) -> f64 {
        bytes as f64 / (self.request + self.transfer(bytes)).as_secs_f64()
    }

    fn transfer(&self, bytes: u64) -> Duration {
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        Duration::from_nanos(nanoseconds as u64)
    }
}

/// A disk at work.
struct Busy {
    disk: Disk,
    free_at: Duration,
    /// Where the head is: which leg's byte.
    head: (usize, u64),
}

/// What will happen, and when.
struct Due<M: Machine> {
    at: Duration,
    /// Those of one moment happen in the order in which they were asked for.
    number: u64,
    event: EventOf<M>,
}

/// Reads, writes, flushes.
pub(super) type Counts = [u64; 3];

pub(super) struct World<M: Machine> {
    machine: M,
    now: Duration,
    disk_of: Vec<usize>,
    disks: Vec<Busy>,
    due: BinaryHeap<Reverse<Due<M>>>,
    number: u64,
    counts: Vec<Counts>,
    written: Vec<u64>,
    /// Answered, and when.
    done: Vec<(Completion, Duration)>,
    steps: Steps<M::Notice>,
    has_started: bool,
}

impl<M: Machine> World<M> {
    /// Starts a machine whose legs are parts of these disks.
    pub(super) fn start(machine: M, disk_of: &[usize], disks: Vec<Disk>) -> Self {
        let busy = |disk| Busy {
            disk,
            free_at: Duration::ZERO,
            head: (0, 0),
        };
        let mut world = Self {
            machine,
            now: Duration::ZERO,
            disk_of: disk_of.to_vec(),
            disks: disks.into_iter().map(busy).collect(),
            due: BinaryHeap::new(),
            number: 0,
            counts: vec![Counts::default(); disk_of.len()],
            written: vec![0; disk_of.len()],
            done: Vec::new(),
            steps: Steps::default(),
            has_started: false,
        };
        world.tell(Event::Start);
        world.run_until(|world| world.has_started);
        world
    }

    pub(super) fn now(&self) -> Duration {
        self.now
    }

    /// What each leg was asked.
    pub(super) fn counts(&self) -> Vec<Counts> {
        self.counts.clone()
    }

    /// Bytes that were written to a leg.
    pub(super) fn bytes_written(&self, leg: usize) -> u64 {
        self.written[leg]
    }

    /// Goes on until `done`.
    pub(super) fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            self.step();
        }
    }

    /// Asks face 0 `count` requests, `depth` at a time; how long each took.
    pub(super) fn ask(
        &mut self,
        depth: usize,
        count: u64,
        request: impl Fn(u64) -> Request,
    ) -> Vec<Duration> {
        let mut begun = vec![Duration::ZERO; count as usize];
        let (mut asked, mut took) = (0, Vec::new());
        while took.len() < count as usize {
            while asked < count && asked - (took.len() as u64) < depth as u64 {
                begun[asked as usize] = self.now;
                let request = request(asked);
                assert_eq!(request.tag, asked, "requests are numbered");
                asked += 1;
                self.tell(Event::Request { face: 0, request });
            }
            if self.done.is_empty() {
                self.step();
            }
            for (answer, at) in self.done.drain(..) {
                answer.result.expect("disks work");
                took.push(at.saturating_sub(begun[answer.tag as usize]));
            }
        }
        took
    }

    fn step(&mut self) {
        let Reverse(due) = self.due.pop().expect("something is to happen");
        self.now = due.at;
        self.tell(due.event);
    }

    fn tell(&mut self, event: EventOf<M>) {
        self.machine.event(event, self.now, &mut self.steps);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Started(result) => {
                    result.expect("it starts");
                    self.has_started = true;
                }
                Step::Done(answer) => self.done.push((answer, self.now)),
                Step::Sub { leg, request } => self.sub(leg, request),
                Step::Timer { at, key } => self.push(at.max(self.now), Event::Timer(key)),
                Step::Notice(_) => {}
                _ => panic!("nobody asked for that"),
            }
        }
    }

    fn sub(&mut self, leg: usize, request: Request) {
        let kind = kind(request.operation);
        self.counts[leg][kind] += 1;
        if kind == 1 {
            self.written[leg] += request.range.len();
        }
        let busy = &mut self.disks[self.disk_of[leg]];
        let mut took = busy.disk.request + busy.disk.transfer(request.range.len());
        if kind != 2 {
            if busy.head != (leg, request.range.start()) {
                took += busy.disk.seek;
            }
            busy.head = (leg, request.range.end());
        }
        busy.free_at = busy.free_at.max(self.now) + took;
        let (at, answer) = (busy.free_at, request.complete(Ok(())));
        self.push(at, Event::Answer { leg, answer });
    }

    fn push(&mut self, at: Duration, event: EventOf<M>) {
        self.number += 1;
        let number = self.number;
        self.due.push(Reverse(Due { at, number, event }));
    }
}

impl<M: Machine> PartialEq for Due<M> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<M: Machine> Eq for Due<M> {}

impl<M: Machine> PartialOrd for Due<M> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<M: Machine> Ord for Due<M> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
