//! A mirror, its simulated disks, and a scheduler that decides what happens next.

use std::time::Duration;

use block::sim::{Disk, Random, Ticket};
use block::{Completion, Request};

use crate::machine::{Event, Machine, Step, Steps};
use crate::mirror::Mirror;

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
    timers: Vec<(Duration, u64)>,
    now: Duration,
    steps: Steps,
}

impl World {
    pub(super) fn start(mirror: Mirror, disks: Vec<Disk>) -> Self {
        let mut world = Self {
            mirror,
            disks,
            done: Vec::new(),
            started: None,
            suspended: false,
            stopped: false,
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
        let late = waiting.is_empty() || random.chance(1, patience);
        if late && !self.timers.is_empty() {
            self.timers.sort_unstable();
            let (at, key) = self.timers.remove(0);
            self.now = self.now.max(at);
            self.tell(Event::Timer(key));
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
}
