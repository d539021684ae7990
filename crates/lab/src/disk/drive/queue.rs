//! Who is next.
//!
//! What needs no head (hits, and writes into the cache) goes first where the drive can serve it
//! while the head is busy. Of the rest, the scheduler picks when the head is free: the oldest
//! (FCFS), the nearest in the direction of the arm (LOOK), or the one whose first sector comes
//! under the head first (SPTF), seek, settling and rotation included. A command that has waited
//! longer than the age limit goes before all. A flush is a fence: nothing behind it passes it.
//!
//! A cached write that begins where the head has just stopped writing is the next to be written
//! back: the head goes on without leaving the track, even while the controller takes more data in.
//! Otherwise the one that the head can reach first is, or what it continues, from its begin.
//!
//! SPTF looks at each command of the queue, O(depth); the place of each was worked out when it
//! came, so that a look costs a load from the seek table and a multiplication.

use super::{Drive, Operation, Waiting};
use crate::disk::geometry::Place;
use crate::disk::profile::{Scheduler, WritePolicy};
use crate::disk::seek::Direction;

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// Serve a command of the queue.
    Command(usize),
    /// Write back some cached data.
    Destage(usize),
    /// Nothing before this time.
    Later(u64),
    /// Nothing until a command comes.
    Nothing,
}

impl Drive {
    /// What to do at `now_ns`.
    pub(super) fn pick(&mut self, now_ns: u64) -> Pick {
        if self.waiting.is_empty() && self.dirty.is_empty() {
            return Pick::Nothing;
        }
        let depth = self.candidates();
        if now_ns < self.front_free_ns {
            return self.pick_meanwhile(now_ns, depth);
        }
        if let Some(index) = self.without_head(now_ns, depth) {
            return Pick::Command(index);
        }
        if now_ns < self.head_free_ns {
            return Pick::Later(self.head_free_ns);
        }
        if depth == 0 {
            return self.pick_dirty(now_ns);
        }
        if self.stuck(now_ns) {
            return self.pick_dirty(now_ns);
        }
        let first = &self.waiting[0];
        let flush = first.command.operation == Operation::Flush;
        let aged = self
            .profile
            .queue
            .age_limit_ns
            .is_some_and(|limit| now_ns.saturating_sub(first.arrival_ns) >= limit);
        if flush || aged || depth == 1 {
            return Pick::Command(0);
        }
        let index = match self.profile.queue.scheduler {
            Scheduler::Fcfs => 0,
            Scheduler::Look => self.look(now_ns, depth),
            Scheduler::Sptf => self.nearest(now_ns, depth),
        };
        if self.lacks_room(now_ns, &self.waiting[index]) {
            self.pick_dirty(now_ns)
        } else {
            Pick::Command(index)
        }
    }

    /// What the head does while the controller is busy: it goes on with what it writes, unless
    /// somebody else waits for it.
    fn pick_meanwhile(&self, now_ns: u64, depth: usize) -> Pick {
        let front = Pick::Later(self.front_free_ns);
        let Some(next) = self.continuation() else {
            return front;
        };
        let needs_head = |waiting: &Waiting| {
            matches!(
                waiting.command.operation,
                Operation::Read | Operation::WriteThrough
            )
        };
        if !self.stuck(now_ns) && self.waiting.iter().take(depth).any(needs_head) {
            return front;
        }
        if self.writes_until(now_ns) {
            Pick::Destage(next)
        } else if now_ns < self.head_free_ns {
            Pick::Later(self.front_free_ns.min(self.head_free_ns))
        } else {
            front
        }
    }

    /// Whether the first command waits for cached writes to reach the medium.
    fn stuck(&self, now_ns: u64) -> bool {
        !self.dirty.is_empty()
            && self.waiting.front().is_some_and(|first| {
                first.command.operation == Operation::Flush || self.lacks_room(now_ns, first)
            })
    }

    /// How many commands the scheduler may choose from: up to the queue depth, and to a flush.
    fn candidates(&self) -> usize {
        let depth = self.waiting.len().min(self.profile.queue.depth);
        if self
            .waiting
            .front()
            .is_some_and(|first| first.command.operation == Operation::Flush)
        {
            return 1;
        }
        self.waiting
            .iter()
            .take(depth)
            .position(|waiting| waiting.command.operation == Operation::Flush)
            .unwrap_or(depth)
    }

    /// A command that can be served while the head is busy.
    fn without_head(&mut self, now_ns: u64, depth: usize) -> Option<usize> {
        match self.profile.cache.write_policy {
            WritePolicy::Through => None,
            WritePolicy::BehindWhenIdle => {
                let busy = now_ns < self.head_free_ns && depth > 0;
                (busy && self.appends(&self.waiting[0])).then_some(0)
            }
            WritePolicy::Behind => (0..depth).find(|&index| {
                let waiting = self.waiting[index];
                let start = waiting.command.start;
                let end = start + u64::from(waiting.command.count);
                match waiting.command.operation {
                    Operation::Write => !self.lacks_room(now_ns, &waiting),
                    Operation::Read => {
                        now_ns < self.head_free_ns
                            && self
                                .segments
                                .find(start, end)
                                .is_some_and(|found| self.segments.get(found).end >= end)
                    }
                    Operation::WriteThrough | Operation::Flush => false,
                }
            }),
        }
    }

    /// Whether a cached write must wait until others are on the medium.
    fn lacks_room(&self, now_ns: u64, waiting: &Waiting) -> bool {
        self.fills_while_busy()
            && waiting.command.operation == Operation::Write
            && self.dirty_count(now_ns) >= self.profile.cache.write_segments
    }

    /// Whether a write continues what the head is writing.
    pub(super) fn appends(&self, waiting: &Waiting) -> bool {
        waiting.command.operation == Operation::Write
            && self.written_on() == Some(waiting.command.start)
    }

    /// The block at which a write goes on with what the head writes, if the drive combines writes.
    fn written_on(&self) -> Option<u64> {
        let stream = self.stream.as_ref()?;
        let combines = self.profile.cache.combine_writes.is_yes();
        (combines && stream.direction() == Direction::Write).then(|| stream.next())
    }

    /// The cached write that goes on with what the head writes.
    fn continuation(&self) -> Option<usize> {
        let next = self.written_on()?;
        self.dirty.iter().position(|dirty| dirty.start == next)
    }

    /// Whether the head stops writing just now.
    fn writes_until(&self, now_ns: u64) -> bool {
        self.stream
            .as_ref()
            .is_some_and(|stream| stream.end_ns() == now_ns)
    }

    /// Whether the head, which has written until now, goes on at block `start`.
    pub(super) fn goes_on(&self, now_ns: u64, start: u64) -> bool {
        self.written_on() == Some(start) && self.writes_until(now_ns)
    }

    fn pick_dirty(&self, now_ns: u64) -> Pick {
        if self.writes_until(now_ns)
            && let Some(next) = self.continuation()
        {
            return Pick::Destage(next);
        }
        let track = self.track_at(now_ns);
        let nearest = (0..self.dirty.len()).min_by_key(|&index| {
            self.reach(now_ns, track, &self.dirty[index].place, Direction::Write)
        });
        nearest.map_or(Pick::Later(self.head_free_ns), |index| {
            Pick::Destage(self.first_of(index))
        })
    }

    /// The first of the cached writes that run on to this one, if the drive combines writes.
    fn first_of(&self, mut index: usize) -> usize {
        if !self.profile.cache.combine_writes.is_yes() {
            return index;
        }
        let before = |start| self.dirty.iter().position(|dirty| dirty.end() == start);
        while let Some(earlier) = before(self.dirty[index].start) {
            index = earlier;
        }
        index
    }

    /// Where the head is.
    pub(super) fn track_at(&self, now_ns: u64) -> (u32, u32) {
        self.stream
            .as_ref()
            .map_or((0, 0), |stream| stream.track_at(now_ns))
    }

    fn nearest(&self, now_ns: u64, depth: usize) -> usize {
        let track = self.track_at(now_ns);
        let cost = |waiting: &Waiting| {
            let direction = match waiting.command.operation {
                Operation::Read => Direction::Read,
                _ => Direction::Write,
            };
            self.reach(now_ns, track, &waiting.place, direction)
        };
        let mut best = (u64::MAX, 0);
        for (index, waiting) in self.waiting.iter().take(depth).enumerate() {
            best = best.min((cost(waiting), index));
        }
        best.1
    }

    /// How far the platter turns until the head is at `place`: seek, settling and rotation.
    fn reach(&self, now_ns: u64, from: (u32, u32), place: &Place, direction: Direction) -> u64 {
        let rotation = &self.mechanism.rotation;
        let to = (place.cylinder, place.head);
        let seek = self.mechanism.arm.begin_ns(from, to, direction);
        let turn = rotation.angle_at(now_ns + seek).until(place.angle);
        seek * u64::from(rotation.rpm()) + turn.units()
    }

    /// The nearest cylinder in the direction of the arm, which turns at the last one.
    fn look(&mut self, now_ns: u64, depth: usize) -> usize {
        let cylinder = self.track_at(now_ns).0;
        for _ in 0..2 {
            let upwards = self.upwards;
            let ahead = |waiting: &Waiting| {
                let at = waiting.place.cylinder;
                if upwards {
                    at.checked_sub(cylinder)
                } else {
                    cylinder.checked_sub(at)
                }
            };
            let nearest = (0..depth)
                .filter_map(|index| Some((ahead(&self.waiting[index])?, index)))
                .min();
            match nearest {
                Some((_, index)) => return index,
                None => self.upwards = !self.upwards,
            }
        }
        0
    }
}
