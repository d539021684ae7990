//! A mirror, its simulated disks, its description, and a scheduler that decides what happens next.
//!
//! The disks fail as it is arranged ([`World::arrange`]). After a failed flush, or write with FUA,
//! a disk fails all others, those in flight too: [`block::Checked`] sees to that where disks are
//! real.

use std::collections::BTreeSet;
use std::time::Duration;

use block::sim::{Disk, Random, Ticket};
use block::{Completion, Durability, Kind, Operation, Request};

use crate::machine::Machine;
use crate::mirror::control::{Event, Step, Steps};
use crate::mirror::{Control, ImageOrder, Mirror, Notice};

/// One run of a mirror, from its start to a cut.
pub(super) struct World {
    pub(super) mirror: Mirror,
    /// The devices of the mirror, by number.
    pub(super) disks: Vec<Disk>,
    /// What was answered and not looked at.
    pub(super) done: Vec<Completion>,
    pub(super) started: Option<block::Result<()>>,
    pub(super) suspended: bool,
    pub(super) stopped: bool,
    /// How the mirror is described to whoever runs it next.
    pub(super) described: Described,
    /// How it is about to be described.
    pub(super) wanted: Option<Described>,
    /// The description was written, and nobody has said so yet.
    written: bool,
    /// How it was described when it was started: in this order it speaks of its legs.
    started_as: Described,
    /// Whether the next description will be said to have failed.
    pub(super) undescribable: bool,
    /// It was said to have failed.
    pub(super) undescribed: bool,
    arranged: Vec<(usize, Sort)>,
    /// Disks that failed a flush or a write with FUA.
    latched: Vec<bool>,
    /// Flushes and writes with FUA that are in flight.
    durable: BTreeSet<(usize, Ticket)>,
    /// Disks that failed a write or a flush.
    pub(super) failed: Vec<bool>,
    /// How many requests there were.
    pub(super) requests: u64,
    timers: Vec<(Duration, u64)>,
    now: Duration,
    steps: Steps,
}

/// What everybody knows of a mirror.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Described {
    /// The legs, by their disks; where they may differ the first one is right.
    pub(super) order: Vec<usize>,
    /// They do not differ, wherever nothing else is known.
    pub(super) assumed: bool,
    /// How many of the sectors that are looked at there are.
    pub(super) sectors: u64,
}

/// A sort of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Read,
    Write,
    Flush,
}

impl Sort {
    fn of(request: &Request) -> Self {
        match request.operation {
            Operation::Read => Self::Read,
            Operation::Flush => Self::Flush,
            _ => Self::Write,
        }
    }
}

impl Described {
    /// In another order of what are its legs now.
    fn reordered(&self, order: &ImageOrder) -> Self {
        let all = order.in_sync.iter().chain(&order.out_of_sync);
        Self {
            order: all.map(|leg| self.order[*leg]).collect(),
            assumed: false,
            sectors: self.sectors,
        }
    }
}

impl World {
    /// `described` is what the mirror was made from: its legs are in that order.
    pub(super) fn start(mirror: Mirror, disks: Vec<Disk>, described: Described) -> Self {
        let count = disks.len();
        let mut world = Self {
            mirror,
            disks,
            done: Vec::new(),
            started: None,
            suspended: false,
            stopped: false,
            started_as: described.clone(),
            described,
            wanted: None,
            written: false,
            undescribable: false,
            undescribed: false,
            arranged: Vec::new(),
            latched: vec![false; count],
            durable: BTreeSet::new(),
            failed: vec![false; count],
            requests: 0,
            timers: Vec::new(),
            now: Duration::ZERO,
            steps: Steps::default(),
        };
        world.tell(Event::Start);
        world
    }

    /// Whether nothing is in flight.
    pub(super) fn is_quiet(&self) -> bool {
        let idle = |disk: &Disk| disk.in_flight().count() == 0;
        self.disks.iter().all(idle)
    }

    /// The next request of this sort to this disk fails.
    pub(super) fn arrange(&mut self, disk: usize, sort: Sort) {
        self.arranged.push((disk, sort));
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.now += Duration::from_micros(1);
        self.mirror.event(event, self.now, &mut self.steps);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Started(result) => self.started = Some(result),
                Step::Done(answer) => self.done.push(answer),
                Step::Sub { leg, request } => self.begin(leg, request),
                Step::Timer { at, key } => self.timers.push((at, key)),
                Step::Suspended => self.suspended = true,
                Step::Stopped => self.stopped = true,
                Step::Notice(Notice::Persist(order)) => {
                    assert!(self.wanted.is_none(), "one question at a time");
                    self.wanted = Some(Described {
                        sectors: self.described.sectors,
                        ..self.started_as.reordered(&order)
                    });
                }
                // Asks for nothing.
                Step::Notice(Notice::Lost(_)) | Step::Obeyed { .. } => {}
            }
        }
    }

    fn begin(&mut self, leg: usize, request: Request) {
        let sort = Sort::of(&request);
        let durable = sort == Sort::Flush || request.durability == Durability::Fua;
        let arranged = self.arranged.iter().position(|one| *one == (leg, sort));
        if let Some(arranged) = arranged {
            self.arranged.remove(arranged);
        }
        let disk = &mut self.disks[leg];
        if arranged.is_some() || (durable && self.latched[leg]) {
            let next = disk.begun() + 1;
            disk.faults_mut().failing.insert(next, Kind::Io);
            self.failed[leg] |= sort != Sort::Read;
        }
        self.requests += 1;
        let ticket = disk.begin(request);
        if durable {
            self.durable.insert((leg, ticket));
        }
    }

    pub(super) fn submit(&mut self, request: Request) {
        self.tell(Event::Request { face: 0, request });
    }

    /// Lets one thing happen: some disk answers, or, if `patience` is over, time passes. Whether
    /// there was anything.
    pub(super) fn step(&mut self, random: &mut Random, patience: u64) -> bool {
        let disks = self.disks.iter().enumerate();
        let mut waiting: Vec<(usize, Ticket)> = disks
            .flat_map(|(leg, disk)| disk.in_flight().map(move |ticket| (leg, ticket)))
            .collect();
        let idle = waiting.is_empty() && self.wanted.is_none();
        let late = idle || random.chance(1, patience);
        if late && !self.timers.is_empty() {
            self.timers.sort_unstable();
            let (at, key) = self.timers.remove(0);
            self.now = self.now.max(at);
            self.tell(Event::Timer(key));
            return true;
        }
        if self.wanted.is_some() && (waiting.is_empty() || random.chance(1, 8)) {
            self.describe(random);
            return true;
        }
        if waiting.is_empty() {
            return false;
        }
        let (leg, ticket) = waiting.swap_remove(random.index(waiting.len()));
        let mut answer = self.disks[leg].finish(ticket);
        if self.durable.remove(&(leg, ticket)) {
            self.latched[leg] |= answer.result.is_err();
            if self.latched[leg] && answer.result.is_ok() {
                let what = "another flush failed";
                answer.result = Err(block::Error::new(Kind::FlushFailed, what));
                self.failed[leg] = true;
            }
        }
        self.tell(Event::Answer { leg, answer });
        true
    }

    /// Writes the description that was asked for; the next time, says so. Where that fails, it may
    /// be written all the same.
    fn describe(&mut self, random: &mut Random) {
        let fails = self.undescribable;
        if !self.written {
            self.written = true;
            if !fails || random.chance(1, 2) {
                self.described = self.wanted.clone().expect("somebody asked");
            }
            return;
        }
        self.written = false;
        self.wanted = None;
        self.undescribable = false;
        self.undescribed |= fails;
        let control = if fails {
            Control::PersistFailed("there is no room".to_owned())
        } else {
            Control::Persisted
        };
        self.tell(Event::Control { id: 0, control });
    }
}
