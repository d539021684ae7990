//! The head over the platter: which block is under it when.
//!
//! A [`Stream`] is the head reading or writing blocks in order. It is cut into [`Run`]s, each over
//! consecutive sectors of one track. Between runs the head switches or seeks, and waits for the
//! first sector to come round. Runs of reads are worked out only as far as somebody asks, so that
//! reading ahead costs nothing until the next command wants to know how far it came.
//!
//! A zero-latency run begins at whatever sector the head lands on. Blocks are still handed over in
//! order: the ones at the front come when the track has turned on, and then the rest is there.
//!
//! A write can only put down blocks that have arrived from the host. If the next one has not when
//! its sector passes, the head waits a whole turn.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::disk::geometry::{Geometry, Place};
use crate::disk::model::Spent;
use crate::disk::profile::ZeroLatency;
use crate::disk::rotation::Rotation;
use crate::disk::seek::{Arm, Direction};

/// Arm and platter.
#[derive(Debug, Clone)]
pub(super) struct Mechanism {
    pub(super) geometry: Arc<Geometry>,
    pub(super) arm: Arc<Arm>,
    pub(super) rotation: Rotation,
}

/// When the blocks of a write come from the host: block `first` + i at
/// `start_ns` + (i + 1) · `block_ns`, and none is written before `hold_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) first: u64,
    pub(super) start_ns: u64,
    pub(super) block_ns: u64,
    pub(super) hold_ns: u64,
}

/// Consecutive sectors of a track, passing under the head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) first: u64,
    pub(super) count: u32,
    per_track: u32,
    /// Cylinder and head.
    track: (u32, u32),
    /// When the head is on the track.
    settled_ns: u64,
    /// When the first sector begins to pass.
    start_ns: u64,
    /// How many blocks pass from `start_ns` on; the rest passed before.
    jump: u32,
}

/// The head, reading or writing blocks in order.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    direction: Direction,
    zero_latency: ZeroLatency,
    /// The segment that a read fills.
    pub(super) segment: Option<usize>,
    /// The first block that is not in a run yet.
    next: u64,
    /// A read works out runs up to here.
    pub(super) limit: u64,
    /// Zero-latency runs do not reach over this block, which ends what was asked for.
    demand: u64,
    runs: VecDeque<Run>,
    /// The first block of the only track, and when the whole of it has passed.
    front: Option<(u64, u64)>,
    /// Where and when the head is after the last run.
    track: (u32, u32),
    time_ns: u64,
    head: Spent,
}

impl Arrival {
    fn of(&self, block: u64) -> u64 {
        (self.start_ns + (block - self.first + 1) * self.block_ns).max(self.hold_ns)
    }

    /// Nothing is written before `block` has come.
    pub(super) fn held_until(self, block: u64) -> Self {
        Self {
            hold_ns: self.of(block),
            ..self
        }
    }
}

impl Run {
    /// When the first `count` blocks have passed.
    fn done_ns(&self, rotation: &Rotation, count: u32) -> u64 {
        self.start_ns + rotation.pass_ns(u64::from(count.min(self.jump)), self.per_track)
    }

    fn end_ns(&self, rotation: &Rotation) -> u64 {
        self.done_ns(rotation, self.count)
    }

    /// How many blocks, in order, have passed at `now_ns`.
    fn passed(&self, rotation: &Rotation, now_ns: u64) -> u32 {
        if now_ns < self.start_ns {
            return 0;
        }
        let sectors = u64::from(self.per_track) * u64::from(rotation.rpm());
        let passed = (now_ns - self.start_ns)
            .saturating_add(1)
            .saturating_mul(sectors)
            / crate::disk::rotation::CIRCLE;
        let mut passed = passed.min(u64::from(self.jump)) as u32;
        while passed > 0 && self.done_ns(rotation, passed) > now_ns {
            passed -= 1;
        }
        if passed == self.jump {
            self.count
        } else {
            passed
        }
    }
}

impl Stream {
    /// A head on `track` that may move from `time_ns` on, to read or write from block `next`.
    pub(super) fn new(
        direction: Direction,
        zero_latency: ZeroLatency,
        track: (u32, u32),
        time_ns: u64,
        next: u64,
    ) -> Self {
        Self {
            direction,
            zero_latency,
            segment: None,
            next,
            limit: next,
            demand: next,
            runs: VecDeque::new(),
            front: None,
            track,
            time_ns,
            head: Spent::default(),
        }
    }

    /// What the head did in its runs.
    pub(super) fn head(&self) -> Spent {
        self.head
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    /// The first block that no run holds.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Lets a read go on to `limit`; blocks before `demand` are asked for.
    pub(super) fn reach(&mut self, demand: u64, limit: u64) {
        self.demand = self.demand.max(demand);
        self.limit = self.limit.max(limit).max(demand);
    }

    /// What is read from now on is not kept, and reading ahead ends.
    pub(super) fn detach(&mut self) {
        self.segment = None;
        self.limit = self.next;
        self.front = None;
    }

    /// Adds the next run of a read.
    fn read_run(&mut self, mechanism: &Mechanism) {
        let place = mechanism.geometry.locate(self.next);
        let end = match self.zero_latency {
            ZeroLatency::Yes if self.next < self.demand => self.demand,
            _ => self.limit,
        };
        let count = u64::from(place.run).min(end - self.next) as u32;
        let settled = self.move_to(mechanism, &place, 0);
        let (start, jump) = self.begin(mechanism, &place, settled, count);
        self.push(mechanism, &place, (settled, start), count, jump);
    }

    /// When the head is on the track of `place`; a move takes at least `least_ns`.
    fn move_to(&self, mechanism: &Mechanism, place: &Place, least_ns: u64) -> u64 {
        let to = (place.cylinder, place.head);
        let arm = &mechanism.arm;
        let time = if self.runs.is_empty() {
            arm.begin_ns(self.track, to, self.direction)
        } else {
            arm.reach_ns(self.track, to, self.direction)
        };
        self.time_ns + time.max(least_ns)
    }

    /// When the first of `count` sectors begins to pass, and how many pass from then on.
    fn begin(
        &self,
        mechanism: &Mechanism,
        place: &Place,
        settled_ns: u64,
        count: u32,
    ) -> (u64, u32) {
        let rotation = &mechanism.rotation;
        let wait = rotation.wait_ns(settled_ns, place.angle);
        if self.zero_latency == ZeroLatency::Yes && wait > 0 {
            let passed = rotation.period_ns().saturating_sub(wait);
            let sector = rotation.pass_ns(1, place.per_track).max(1);
            let skipped = passed.div_ceil(sector);
            if skipped < u64::from(count) {
                return (settled_ns + wait, (skipped as u32).max(1));
            }
        }
        (settled_ns + wait, count)
    }

    fn push(
        &mut self,
        mechanism: &Mechanism,
        place: &Place,
        (settled_ns, start_ns): (u64, u64),
        count: u32,
        jump: u32,
    ) {
        let run = Run {
            first: self.next,
            count,
            per_track: place.per_track,
            track: (place.cylinder, place.head),
            settled_ns,
            start_ns,
            jump,
        };
        self.next += u64::from(count);
        self.track = run.track;
        let begin_ns = self.time_ns;
        self.time_ns = run.end_ns(&mechanism.rotation);
        self.head.seek_ns += settled_ns.saturating_sub(begin_ns);
        self.head.rotation_ns += start_ns.saturating_sub(settled_ns);
        self.head.transfer_ns += self.time_ns.saturating_sub(start_ns);
        self.runs.push_back(run);
    }

    /// Works out the runs of a read up to block `end`, which the limit must allow.
    pub(super) fn extend_to(&mut self, mechanism: &Mechanism, end: u64) {
        while self.next < end.min(self.limit) {
            self.read_run(mechanism);
        }
    }

    /// Works out the runs of a read that begin until `now_ns`.
    fn extend_until(&mut self, mechanism: &Mechanism, now_ns: u64) {
        while self.next < self.limit && self.time_ns <= now_ns {
            self.read_run(mechanism);
        }
    }

    /// Writes blocks up to `end`, as they come; a first move takes at least `least_ns`.
    pub(super) fn write_to(
        &mut self,
        mechanism: &Mechanism,
        end: u64,
        data: Arrival,
        mut least_ns: u64,
    ) {
        while self.next < end {
            let place = mechanism.geometry.locate(self.next);
            let count = u64::from(place.run).min(end - self.next) as u32;
            let settled = self.move_to(mechanism, &place, least_ns);
            least_ns = 0;
            let last = data.of(self.next + u64::from(count) - 1);
            if last <= settled {
                let (start, jump) = self.begin(mechanism, &place, settled, count);
                self.push(mechanism, &place, (settled, start), count, jump);
                continue;
            }
            let rotation = &mechanism.rotation;
            // The head passes and passes until the next block is there.
            let mut start = settled + rotation.wait_ns(settled, place.angle);
            if data.of(self.next) > start {
                let ready = data.of(self.next);
                start = ready + rotation.wait_ns(ready, place.angle);
            }
            let fit = (1..count)
                .find(|&index| {
                    let passes = start + rotation.pass_ns(u64::from(index), place.per_track);
                    data.of(self.next + u64::from(index)) > passes
                })
                .unwrap_or(count);
            self.push(mechanism, &place, (settled, start), fit, fit);
        }
    }

    /// When all blocks of all runs have passed.
    pub(super) fn end_ns(&self) -> u64 {
        self.time_ns
    }

    /// When blocks up to `end` have passed, which must be in runs.
    pub(super) fn done_ns(&self, rotation: &Rotation, end: u64) -> u64 {
        let run = self.runs.iter().rev().find(|run| run.first < end);
        run.map_or(0, |run| {
            run.done_ns(rotation, (end - run.first).min(u64::from(run.count)) as u32)
        })
    }

    /// When the last of blocks `start`..`end` is over the bus, if the transfer begins at `from_ns`
    /// and takes `block_ns` for each, in order and none before it was read.
    pub(super) fn piped_ns(
        &self,
        rotation: &Rotation,
        (start, end): (u64, u64),
        from_ns: u64,
        block_ns: u64,
    ) -> u64 {
        let mut done = from_ns + (end - start) * block_ns;
        for run in self.runs.iter().rev() {
            let last = run.first + u64::from(run.count);
            if last <= start {
                break;
            }
            if run.first >= end {
                continue;
            }
            // The rate within a run is constant, so the first or the last block decides.
            let low = run.first.max(start);
            let high = last.min(end);
            for block in [low, high - 1] {
                let read = run.done_ns(rotation, (block - run.first + 1) as u32);
                done = done.max(read + (end - block) * block_ns);
            }
        }
        done
    }

    /// The block after the last one that was read, in order, at `now_ns`; `from` if none was.
    pub(super) fn read_by(&mut self, mechanism: &Mechanism, now_ns: u64) -> Option<u64> {
        self.extend_until(mechanism, now_ns);
        let rotation = &mechanism.rotation;
        // Only the last run can be under way.
        self.runs
            .iter()
            .rev()
            .map(|run| (run, run.passed(rotation, now_ns)))
            .find(|&(_, passed)| passed > 0)
            .map(|(run, passed)| run.first + u64::from(passed))
    }

    /// Whether the head still moves at `now_ns`, after [`Stream::read_by`].
    pub(super) fn active(&self, now_ns: u64) -> bool {
        self.time_ns > now_ns || self.next < self.limit
    }

    /// Where the head is at `now_ns`, or will be after the move that it is in.
    pub(super) fn track_at(&self, now_ns: u64) -> (u32, u32) {
        let run = self.runs.iter().rev().find(|run| run.settled_ns <= now_ns);
        let moving = self.runs.back().filter(|run| run.settled_ns > now_ns);
        moving.or(run).map_or(self.track, |run| run.track)
    }

    /// When the head can leave if it is called away at `now_ns`: after a move, and after the sector
    /// that passes.
    pub(super) fn leave_ns(&self, rotation: &Rotation, now_ns: u64, within_sector: bool) -> u64 {
        let Some(run) = self.runs.back() else {
            return now_ns.max(self.time_ns);
        };
        if now_ns < run.settled_ns {
            return run.settled_ns;
        }
        if within_sector || now_ns < run.start_ns || now_ns >= run.end_ns(rotation) {
            return now_ns;
        }
        run.done_ns(rotation, run.passed(rotation, now_ns) + 1)
            .max(now_ns)
    }

    /// How many sectors pass between the landing on the first track and the first block of it.
    pub(super) fn passed_before_first(&self, rotation: &Rotation) -> u64 {
        self.runs.front().map_or(0, |run| {
            let sector = rotation.pass_ns(1, run.per_track).max(1);
            (run.start_ns - run.settled_ns) / sector
        })
    }

    /// The head stays on its first track, which begins with block `first`, and keeps all of it.
    pub(super) fn turn_round(&mut self, rotation: &Rotation, first: u64) {
        self.front = self
            .runs
            .front()
            .map(|run| (first, run.settled_ns + rotation.period_ns()));
    }

    /// The first block of the track once all of it has passed; told once.
    pub(super) fn front(&mut self, now_ns: u64) -> Option<u64> {
        self.front
            .take_if(|&mut (_, at)| at <= now_ns)
            .map(|(first, _)| first)
    }

    /// Forgets runs that are long over.
    pub(super) fn trim(&mut self) {
        while self.runs.len() > 64 {
            self.runs.pop_front();
        }
    }
}
