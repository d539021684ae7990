//! The emulated drive: commands in, answers out, driven by a clock that somebody else owns.
//!
//! ```text
//!   submit(now, command) ──► queue ──► controller ──► head and platter
//!                                          │    ▲           │
//!                                          ▼    └── cache ◄─┘
//!   answer(now) ◄── reported ◄────────── bus
//! ```
//!
//! The drive does no I/O, has no threads and reads no clock. Whoever drives it submits commands at
//! times that never go back, asks [`Drive::wake`] when to look again, and takes answers with
//! [`Drive::answer`] once their time has come. The same drive serves a device in virtual time, a
//! discrete-event loop and a real timer; one seed (the platter's phase) gives the same nanoseconds
//! on every machine.
//!
//! A command is costed in one step when the drive takes it up: nothing that comes later changes
//! what was begun, but for reading ahead, which the next command may stop. So a command costs two
//! events, and hours of mechanical work take seconds.
//!
//! It has no data. Positions are known to the nanosecond, contents not at all: a device that wraps
//! the drive keeps the bytes.
//!
//! `media` moves the head over tracks, `cache` knows what the segments hold, `bus` who transfers
//! when; `queue` picks the next command, `service` costs it, `ahead` ends reading ahead.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use super::geometry::{Geometry, Place};
use super::profile::{Profile, WritePolicy};
use super::rotation::{Angle, Rotation};
use super::seek::{Arm, Direction};
use crate::error::Result;

mod ahead;
mod bus;
mod cache;
mod media;
mod queue;
mod service;

pub use super::model::{Model, Spent};
pub use bus::SharedBus;

use bus::{Calendar, Link};
use cache::Segments;
use media::{Mechanism, Stream};

/// What a drive is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read.
    Read,
    /// Write; reported as the drive's write policy says.
    Write,
    /// Write, reported when it is on the medium.
    WriteThrough,
    /// Report when all writes that were reported before are on the medium.
    Flush,
}

/// A command: blocks of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Given back with the answer.
    pub tag: u64,
    /// What to do.
    pub operation: Operation,
    /// First block.
    pub start: u64,
    /// How many blocks; at least one, but for a flush.
    pub count: u32,
}

/// Where the data of a command came from or went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Served {
    /// From the cache, at least the first block; or into it.
    Cache,
    /// From or to the medium.
    Medium,
}

/// A command that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// When it was reported, in nanoseconds.
    pub at_ns: u64,
    /// In the order in which the drive took commands up; makes the order of answers certain.
    serial: u64,
    /// The tag of the command.
    pub tag: u64,
    /// Whether the first block was in the cache.
    from_cache: bool,
}

impl Answer {
    /// An answer; `serial` orders answers of the same moment.
    pub(crate) fn new(at_ns: u64, serial: u64, tag: u64, served: Served) -> Self {
        Self {
            at_ns,
            serial,
            tag,
            from_cache: served == Served::Cache,
        }
    }

    /// Where the data came from or went to.
    pub fn served(&self) -> Served {
        if self.from_cache {
            Served::Cache
        } else {
            Served::Medium
        }
    }
}

impl Model for Drive {
    fn blocks(&self) -> u64 {
        self.geometry().blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        Drive::submit(self, now_ns, command);
    }

    fn wake(&self) -> Option<u64> {
        Drive::wake(self)
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        Drive::answer(self, now_ns)
    }

    fn account(&self, spent: &mut Spent) {
        let stream = self.stream.as_ref().map(Stream::head).unwrap_or_default();
        for head in [self.head, stream] {
            spent.seek_ns += head.seek_ns;
            spent.rotation_ns += head.rotation_ns;
            spent.transfer_ns += head.transfer_ns;
        }
    }
}

/// A command in the queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    command: Command,
    arrival_ns: u64,
    place: Place,
}

/// A write that was reported and is not on the medium yet.
#[derive(Debug, Clone, Copy)]
struct Dirty {
    start: u64,
    count: u32,
    place: Place,
    data: media::Arrival,
}

impl Dirty {
    /// The block after the last one.
    fn end(&self) -> u64 {
        self.start + u64::from(self.count)
    }
}

/// An emulated drive.
#[derive(Debug, Clone)]
pub struct Drive {
    profile: Arc<Profile>,
    mechanism: Mechanism,
    segments: Segments,
    /// What the head does, or did last.
    stream: Option<Stream>,
    /// What the head did before.
    head: Spent,
    /// When the controller can take up the next command.
    front_free_ns: u64,
    /// When the head has done what cannot be interrupted.
    head_free_ns: u64,
    bus: Link,
    waiting: VecDeque<Waiting>,
    dirty: Vec<Dirty>,
    /// When the write-back that is under way ends; it still takes a place among `dirty`.
    destaging_until_ns: u64,
    reported: BinaryHeap<Reverse<Answer>>,
    /// When to try again to start something.
    next_try_ns: Option<u64>,
    serial: u64,
    now_ns: u64,
    /// What the last command was.
    last: Direction,
    /// The block after the last write.
    last_write_end: Option<u64>,
    /// Where LOOK is heading.
    upwards: bool,
}

impl Drive {
    /// A drive of this profile whose platter is at `phase` at time 0, with the head on the outer
    /// edge and an empty cache. Fails if the profile is impossible.
    pub fn new(profile: Profile, phase: Angle) -> Result<Self> {
        profile.validate()?;
        let mechanics = &profile.mechanics;
        let geometry = Arc::new(profile.layout.clone().build()?);
        let arm = Arc::new(mechanics.arm(profile.layout.cylinders)?);
        let rotation = Rotation::new(mechanics.rpm, phase);
        let segments = Segments::new(&profile.cache);
        Ok(Self {
            mechanism: Mechanism {
                geometry,
                arm,
                rotation,
            },
            segments,
            stream: None,
            head: Spent::default(),
            front_free_ns: 0,
            head_free_ns: 0,
            bus: Link::Own(Calendar::default()),
            waiting: VecDeque::new(),
            dirty: Vec::new(),
            destaging_until_ns: 0,
            reported: BinaryHeap::new(),
            next_try_ns: None,
            serial: 0,
            now_ns: 0,
            last: Direction::Read,
            last_write_end: None,
            upwards: true,
            profile: Arc::new(profile),
        })
    }

    /// A drive like this one that was never used: the map and the curve are shared, the platter is
    /// at `phase` at time 0.
    #[must_use]
    pub fn sibling(&self, phase: Angle) -> Self {
        let mut drive = self.clone();
        drive.mechanism.rotation = Rotation::new(self.profile.mechanics.rpm, phase);
        drive.segments = Segments::new(&self.profile.cache);
        drive.stream = None;
        drive.head = Spent::default();
        (drive.front_free_ns, drive.head_free_ns) = (0, 0);
        drive.bus = Link::Own(Calendar::default());
        drive.waiting.clear();
        drive.dirty.clear();
        drive.reported.clear();
        drive.next_try_ns = None;
        (drive.serial, drive.now_ns, drive.destaging_until_ns) = (0, 0, 0);
        (drive.last, drive.last_write_end, drive.upwards) = (Direction::Read, None, true);
        drive
    }

    /// Puts the drive on a bus with others.
    #[must_use]
    pub fn on_bus(mut self, bus: &SharedBus) -> Self {
        self.bus = Link::Shared(bus.clone());
        self
    }

    /// What the drive is.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Where its blocks are.
    pub fn geometry(&self) -> &Geometry {
        &self.mechanism.geometry
    }

    /// How its arm moves.
    pub fn arm(&self) -> &Arm {
        &self.mechanism.arm
    }

    /// Commands that were submitted and whose answers were not taken.
    pub fn outstanding(&self) -> usize {
        self.waiting.len() + self.reported.len()
    }

    /// Gives the drive a command at `now_ns`.
    ///
    /// # Panics
    ///
    /// If time goes back, or the command has no blocks or some past the end.
    pub fn submit(&mut self, now_ns: u64, command: Command) {
        assert!(now_ns >= self.now_ns, "time does not go back");
        let blocks = self.geometry().blocks();
        let flush = command.operation == Operation::Flush;
        let end = command.start.checked_add(u64::from(command.count));
        assert!(
            flush || (command.count > 0 && end.is_some_and(|end| end <= blocks)),
            "blocks of the disk"
        );
        self.advance(now_ns);
        let place = self
            .geometry()
            .locate(if flush { 0 } else { command.start });
        self.waiting.push_back(Waiting {
            command,
            arrival_ns: now_ns,
            place,
        });
        self.start_work(now_ns);
    }

    /// When the drive has something to do or to answer; `None` until the next command.
    pub fn wake(&self) -> Option<u64> {
        let answer = self.reported.peek().map(|answer| answer.0.at_ns);
        match (answer, self.next_try_ns) {
            (Some(answer), Some(next)) => Some(answer.min(next)),
            (answer, next) => answer.or(next),
        }
    }

    /// The next answer whose time has come, in the order of their times.
    pub fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.advance(now_ns);
        if self.reported.peek()?.0.at_ns > now_ns {
            return None;
        }
        self.reported.pop().map(|answer| answer.0)
    }

    /// Does what is due until `now_ns`.
    pub fn advance(&mut self, now_ns: u64) {
        while let Some(next) = self.next_try_ns
            && next <= now_ns
        {
            self.next_try_ns = None;
            self.start_work(next);
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Takes up as much as is possible at `now_ns`, and notes when to try again.
    fn start_work(&mut self, now_ns: u64) {
        loop {
            match self.pick(now_ns) {
                queue::Pick::Command(index) => {
                    let waiting = self.waiting.remove(index).expect("a picked command waits");
                    self.serve(now_ns, waiting);
                }
                queue::Pick::Destage(index) => {
                    let dirty = self.dirty.swap_remove(index);
                    self.destage(now_ns, dirty);
                }
                queue::Pick::Later(time) => {
                    self.next_try_ns = Some(time);
                    return;
                }
                queue::Pick::Nothing => {
                    self.next_try_ns = None;
                    return;
                }
            }
        }
    }

    /// Notes that a command is reported at `at_ns`.
    fn report(&mut self, at_ns: u64, tag: u64, served: Served) {
        self.serial += 1;
        self.reported
            .push(Reverse(Answer::new(at_ns, self.serial, tag, served)));
    }

    /// Writes that wait for the medium.
    fn dirty_count(&self, now_ns: u64) -> usize {
        self.dirty.len() + usize::from(self.destaging_until_ns > now_ns)
    }

    fn fills_while_busy(&self) -> bool {
        self.profile.cache.write_policy == WritePolicy::Behind
    }

    /// What must always hold.
    pub fn check(&self) {
        self.segments.check();
        assert!(
            self.waiting.is_empty() || self.next_try_ns.is_some(),
            "a command that waits is tried again"
        );
    }
}

#[cfg(test)]
mod tests;
