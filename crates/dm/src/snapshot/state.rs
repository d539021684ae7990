//! The machine: what it is told, and what follows from it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use block::{BufferPool, Completion, Info, Request};

use super::config::{OriginConfig, SnapshotConfig};
use super::control::{Control, Event, Notice, Status, Step, Steps};
use super::limits::{Limits, POOL_MAX};
use super::map::OriginMap;
use super::member::{Health, Member};
use super::merge::{MERGE_TIMER, Merge};
use super::operation::{Copy, Serving, Sub, Tracked, Waiter};
use crate::Result;
use crate::machine::sealed::Sealed;
use crate::machine::{Face, Machine};
use crate::slab::Slab;
use crate::volume::Access;

/// An origin and its snapshots. Give it to a [`crate::home::Home`], with the devices that it was
/// made for.
#[derive(Debug)]
pub struct Origin {
    pub(super) shape: Shape,
    /// Snapshot `i` is face `1 + i`.
    pub(super) members: Vec<Option<Member>>,
    pub(super) requests: Slab<Serving>,
    pub(super) copies: Slab<Copy>,
    /// Copies that are not begun, as others take the memory.
    pub(super) copies_waiting: VecDeque<usize>,
    /// Bytes that the others take at most.
    pub(super) copied: u64,
    /// What legs were asked, by its tag.
    pub(super) subs: Slab<Sub>,
    /// Reads of snapshots from the origin, which what they read is not overwritten before.
    pub(super) reads: Tracked,
    /// Writes to the origin that go to the store of what is merged.
    pub(super) kept_writes: Tracked,
    /// Requests that came before what stores were read as is durable.
    pub(super) early: Vec<Waiter>,
    /// Who goes on in this event.
    pub(super) ready: VecDeque<Waiter>,
    pub(super) merge: Option<Merge>,
    /// Bytes per second.
    pub(super) merge_rate: Option<u64>,
    /// When the next step may begin.
    pub(super) merge_due: Duration,
    pub(super) merge_timer: bool,
    pub(super) pool: BufferPool,
    pub(super) limits: Limits,
    /// What may be asked without it.
    pub(super) map: Arc<OriginMap>,
    /// Counters of the map that somebody waits for.
    pub(super) awaited: Vec<usize>,
    /// Who waits for them.
    pub(super) waiters: Vec<Waiter>,
    phase: Phase,
}

/// What the origin itself is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) origin: usize,
    pub(super) access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It was not started.
    New,
    /// What its stores were read as becomes durable.
    Starting,
    Running,
    /// All that goes on ends, and then this is said.
    Ending(Last),
    Suspended,
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Suspended,
    Stopped,
}

impl Origin {
    /// What `config` says, on legs that say `legs` of themselves. Asks nothing of them: what the
    /// stores hold is part of `config`.
    ///
    /// # Errors
    ///
    /// It cannot be served: sizes, chunks or legs that do not fit, a store that is smaller than
    /// what it holds, or an invalid snapshot that is to be merged.
    pub fn new(config: OriginConfig, legs: &[Info]) -> Result<Self> {
        config.validate(legs, SnapshotConfig::chunk)?;
        let shape = Shape {
            name: String::new(),
            size: 0,
            origin: config.origin,
            access: config.access,
        };
        let mut origin = Self {
            map: Arc::new(OriginMap::new(&shape, &[])),
            awaited: Vec::new(),
            waiters: Vec::new(),
            shape,
            members: Vec::new(),
            requests: Slab::default(),
            copies: Slab::default(),
            copies_waiting: VecDeque::new(),
            copied: 0,
            subs: Slab::default(),
            reads: Tracked::default(),
            kept_writes: Tracked::default(),
            early: Vec::new(),
            ready: VecDeque::new(),
            merge: None,
            merge_rate: None,
            merge_due: Duration::ZERO,
            merge_timer: false,
            pool: BufferPool::new(POOL_MAX),
            limits: Limits::default(),
            phase: Phase::New,
        };
        origin.become_of(config)?;
        Ok(origin)
    }

    pub(super) fn member(&self, index: usize) -> &Member {
        self.members[index].as_ref().expect("the snapshot is there")
    }

    pub(super) fn member_mut(&mut self, index: usize) -> &mut Member {
        self.members[index].as_mut().expect("the snapshot is there")
    }

    pub(super) fn merge_mut(&mut self) -> &mut Merge {
        self.merge.as_mut().expect("something is merged")
    }

    /// The place of what is merged; an invalid snapshot is not.
    pub(super) fn merging(&self) -> Option<usize> {
        let merge = self.merge.as_ref();
        let place = merge.map(|merge| merge.member);
        place.filter(|place| self.member(*place).is_valid())
    }

    /// Whether there are snapshots.
    pub(super) fn is_shared(&self) -> bool {
        self.members.iter().any(Option::is_some)
    }

    /// Asks a leg; the tag that its answer has.
    pub(super) fn ask(
        &mut self,
        leg: usize,
        sub: Sub,
        mut request: Request,
        steps: &mut Steps,
    ) -> usize {
        let tag = self.subs.insert(sub);
        request.tag = tag as u64;
        steps.push(Step::Sub { leg, request });
        tag
    }

    fn answer(&mut self, answer: Completion, now: Duration, steps: &mut Steps) {
        let tag = answer.tag as usize;
        let mut waiters = self.reads.end(tag);
        waiters.extend(self.kept_writes.end(tag));
        match self.subs.remove(tag) {
            Sub::Part { request, part } => self.part_answered((request, part), answer, steps),
            Sub::CopyRead(copy) => self.copy_read(copy, &answer, steps),
            Sub::CopyWrite { copy, target } => {
                self.copy_written((copy, target), answer.result, steps);
            }
            Sub::Round(member) => self.round_answered(member, answer.result, steps),
            Sub::Merge => self.merge_answered(answer, now, steps),
        }
        for waiter in waiters {
            self.release(waiter, None);
        }
    }

    /// Does what can be done now, after each event.
    fn pump(&mut self, now: Duration, steps: &mut Steps) {
        loop {
            while let Some(waiter) = self.ready.pop_front() {
                match waiter {
                    Waiter::Request(id) => self.advance(id, steps),
                    Waiter::Merge => self.advance_merge(now, steps),
                }
            }
            if !matches!(self.phase, Phase::Suspended | Phase::Stopped) {
                self.pump_commits(steps);
            }
            if !self.is_doubting() {
                self.admit();
                self.pump_started(steps);
                if self.phase == Phase::Running {
                    self.pump_merge(now, steps);
                }
            }
            if self.ready.is_empty() {
                break;
            }
        }
        self.map
            .open(self.phase == Phase::Running && !self.is_doubting());
        self.pump_notices(steps);
        self.pump_ending(steps);
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    fn pump_started(&mut self, steps: &mut Steps) {
        if self.phase == Phase::Starting {
            self.phase = Phase::Running;
            steps.push(Step::Started(Ok(())));
        }
    }

    fn pump_ending(&mut self, steps: &mut Steps) {
        let Phase::Ending(last) = self.phase else {
            return;
        };
        if !self.requests.is_empty() || !self.subs.is_empty() {
            return;
        }
        assert!(
            self.is_quiet(),
            "nothing goes on without somebody asking for it"
        );
        let (phase, step) = match last {
            Last::Suspended => (Phase::Suspended, Step::Suspended),
            Last::Stopped => (Phase::Stopped, Step::Stopped),
        };
        self.phase = phase;
        steps.push(step);
    }

    /// Whether nothing goes on.
    pub(super) fn is_quiet(&self) -> bool {
        let rests = |member: &Member| {
            let is_written = member.copied.is_empty() && member.round.is_none();
            is_written && member.health != Health::Invalidating && member.pending.is_empty()
        };
        let is_asked = !(self.requests.is_empty() && self.subs.is_empty());
        let is_copied = !self.copies.is_empty();
        let is_merged = self.merge.as_ref().is_some_and(|merge| !merge.is_resting());
        !is_asked && !is_copied && !is_merged && self.members.iter().flatten().all(rests)
    }

    /// What is always so between events.
    pub(super) fn check(&self) {
        for member in self.members.iter().flatten() {
            member.check();
        }
        self.requests.check();
        self.copies.check();
        self.subs.check();
        if let Some(merge) = &self.merge {
            merge.check();
            assert!(self.member(merge.member).config.merging);
        }
        let merging = self
            .members
            .iter()
            .flatten()
            .filter(|member| member.config.merging);
        assert_eq!(merging.count(), usize::from(self.merge.is_some()));
        assert!(self.ready.is_empty(), "who may go on has gone on");
        let is_early = self.early.is_empty() || self.is_doubting();
        assert!(is_early, "who waits for doubts waits for some");
        for serving in self.requests.iter() {
            assert!(
                serving.blocked > 0 || serving.out > 0,
                "a request waits for something"
            );
            assert!(
                serving.blocked == 0 || serving.out == 0,
                "and for one thing at a time"
            );
        }
        for copy in self.copies.iter() {
            assert!(copy.out > 0, "a copy waits for something");
        }
        let waiting = self
            .copies_waiting
            .iter()
            .map(|id| self.copies.get(*id).weight);
        let weight: u64 = self.copies.iter().map(|copy| copy.weight).sum();
        assert_eq!(
            weight,
            self.copied + waiting.sum::<u64>(),
            "memory is counted"
        );
        let is_stuck = self.copied == 0 && !self.copies_waiting.is_empty();
        assert!(!is_stuck, "copies that wait wait for others");
        let is_tracked = !(self.reads.is_empty() && self.kept_writes.is_empty());
        assert!(
            !is_tracked || !self.requests.is_empty(),
            "requests are tracked"
        );
        assert!(
            self.waiters.is_empty() || !self.awaited.is_empty(),
            "who waits waits for something"
        );
    }
}

impl Sealed for Origin {}

impl Machine for Origin {
    type Control = Control;
    type Status = Status;
    type Notice = Notice;
    type Config = OriginConfig;
    type Map = OriginMap;

    fn map(&self) -> Arc<OriginMap> {
        Arc::clone(&self.map)
    }

    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        self.config().faces(legs)
    }

    fn foresee(&self, config: &OriginConfig, legs: &[Info]) -> Result<Vec<Option<Face>>> {
        self.allows(config, legs)?;
        Ok(config.faces(legs))
    }

    fn status(&self) -> Status {
        self.describe()
    }

    fn event(&mut self, event: Event, now: Duration, steps: &mut Steps) {
        match event {
            Event::Start => {
                assert_eq!(self.phase, Phase::New, "it is started once");
                self.phase = Phase::Starting;
                self.doubt_marks();
            }
            Event::Request { face, request } => {
                assert_eq!(self.phase, Phase::Running, "requests come while it runs");
                self.request(face, request, steps);
            }
            Event::Answer { answer, .. } => self.answer(answer, now, steps),
            Event::Timer(MERGE_TIMER) => self.merge_timer = false,
            Event::Timer(key) => unreachable!("there is no timer {key}"),
            Event::Suspend => self.phase = Phase::Ending(Last::Suspended),
            Event::Reload(config) => {
                assert_eq!(self.phase, Phase::Suspended);
                self.reload(config);
            }
            Event::Resume => {
                self.phase = Phase::Running;
                self.merge.iter_mut().for_each(Merge::forgive);
                self.doubt_marks();
            }
            Event::Control { id, control } => {
                self.obey(&control, now);
                steps.push(Step::Obeyed { id, result: Ok(()) });
            }
            Event::Returned { face, returned } => self.returned(face, returned, steps),
            Event::Freed => self.freed(),
            Event::Stop => self.phase = Phase::Ending(Last::Stopped),
        }
        self.pump(now, steps);
    }
}
