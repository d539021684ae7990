//! A mirror, its simulated disks, its description, and a scheduler that decides what happens next.

use std::time::Duration;

use block::sim::{Disk, Random, Ticket};
use block::{Completion, Request};

use crate::machine::{Event, Machine, Step, Steps};
use crate::mirror::{Mirror, Order, ordered};

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
}

impl Described {
    /// In another order of what are its legs now.
    fn reordered(&self, order: &Order) -> Self {
        let all = order.believed.iter().chain(&order.stale);
        Self {
            order: all.map(|leg| self.order[*leg]).collect(),
            assumed: false,
        }
    }
}

impl World {
    /// `described` is what the mirror was made from: its legs are in that order.
    pub(super) fn start(mirror: Mirror, disks: Vec<Disk>, described: Described) -> Self {
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
            timers: Vec::new(),
            now: Duration::ZERO,
            steps: Steps::default(),
        };
        world.tell(Event::Start);
        world
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.now += Duration::from_micros(1);
        self.mirror.event(event, self.now, &mut self.steps);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Started(result) => self.started = Some(result),
                Step::Done(answer) => self.done.push(answer),
                Step::Sub { leg, request } => {
                    self.disks[leg].begin(request);
                }
                Step::Timer { at, key } => self.timers.push((at, key)),
                Step::Suspended => self.suspended = true,
                Step::Stopped => self.stopped = true,
                Step::Notice(text) => {
                    let order = Order::of_notice(&text).expect("mirrors say nothing else");
                    assert!(self.wanted.is_none(), "one question at a time");
                    self.wanted = Some(self.started_as.reordered(&order));
                }
                Step::Reply { .. } => {}
            }
        }
    }

    pub(super) fn submit(&mut self, request: Request) {
        self.tell(Event::Request(request));
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
            self.describe();
            return true;
        }
        if waiting.is_empty() {
            return false;
        }
        let (leg, ticket) = waiting.swap_remove(random.index(waiting.len()));
        let answer = self.disks[leg].finish(ticket);
        self.tell(Event::Answer { leg, answer });
        true
    }

    /// Writes the description that was asked for; the next time, says so.
    fn describe(&mut self) {
        if !std::mem::replace(&mut self.written, true) {
            self.described = self.wanted.clone().expect("somebody asked");
            return;
        }
        self.written = false;
        self.wanted = None;
        let (id, text) = (0, ordered());
        self.tell(Event::Message { id, text });
    }
}
