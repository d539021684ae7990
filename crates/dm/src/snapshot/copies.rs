//! Copies what is about to be overwritten: read once from the origin, written to each store.

use block::{Buffer, Completion, Durability, Error, Kind, Range, Request};

use super::Origin;
use super::config::Overflow;
use super::control::Steps;
use super::member::{Gap, Health, Pending};
use super::operation::{Copy, Port, Sub, Target, Waiter};

impl Origin {
    /// Has all snapshots keep what the origin has in `range`; `waiter` is blocked by whatever is
    /// not durable in a store yet.
    pub(super) fn protect(&mut self, range: Range, waiter: Waiter, steps: &mut Steps) {
        let mut targets = Vec::new();
        for index in 0..self.members.len() {
            let Some(member) = self.members[index].as_mut() else {
                continue;
            };
            if !member.is_protected() {
                continue;
            }
            let gaps = member.gaps(range);
            if gaps.is_empty() {
                continue;
            }
            if member.health == Health::Valid {
                let missing = self.wait_for_gaps(index, &gaps, waiter);
                targets.extend(missing);
                continue;
            }
            // Its store has to say first that it is not valid; where that failed, once more.
            member.health = Health::Invalidating;
            member.mourners.push(waiter);
            self.block(waiter);
        }
        self.copy(targets, steps);
    }

    /// Blocks `waiter` until these chunks are durable in a store; those of which nothing is on
    /// the way.
    pub(super) fn wait_for_gaps(
        &mut self,
        index: usize,
        gaps: &[Gap],
        waiter: Waiter,
    ) -> Vec<Target> {
        let mut targets = Vec::new();
        for gap in gaps {
            match *gap {
                Gap::Pending(start) => {
                    let pending = self.member_mut(index).pending.get_mut(&start);
                    pending.expect("was just found").waiters.push(waiter);
                    self.block(waiter);
                }
                Gap::Missing { old, count } => {
                    targets.push(self.begin_pending(index, (old, count), waiter));
                }
            }
        }
        targets
    }

    /// Blocks `waiter` until chunks that were missing are durable in a store.
    pub(super) fn begin_pending(
        &mut self,
        index: usize,
        (old, count): (u64, u64),
        waiter: Waiter,
    ) -> Target {
        let member = self.member_mut(index);
        assert!(
            member.is_valid() && !member.config.merging,
            "it keeps things"
        );
        let pending = Pending {
            count,
            left: count,
            waiters: vec![waiter],
        };
        let before = member.pending.insert(old, pending);
        assert!(before.is_none(), "nothing was on the way");
        self.block(waiter);
        Target {
            member: index,
            old,
            count,
            runs: Vec::new(),
            out: 0,
            error: None,
        }
    }

    /// Copies what the targets want, each byte of the origin read once.
    pub(super) fn copy(&mut self, targets: Vec<Target>, steps: &mut Steps) {
        let mut wanted: Vec<(Range, Target)> = targets
            .into_iter()
            .map(|target| {
                let member = self.member(target.member);
                (member.bytes(target.old, target.count), target)
            })
            .collect();
        wanted.sort_by_key(|(range, _)| range.start());
        let mut copies: Vec<Copy> = Vec::new();
        for (range, target) in wanted {
            match copies.last_mut() {
                Some(copy) if range.start() <= copy.range.end() => {
                    let (start, end) = (copy.range.start(), copy.range.end().max(range.end()));
                    copy.range = Range::new(start, end - start);
                    copy.targets.push(target);
                    copy.weight = copy.range.len();
                }
                _ => copies.push(Copy {
                    range,
                    targets: vec![target],
                    out: 1,
                    weight: range.len(),
                }),
            }
        }
        for copy in copies {
            let id = self.copies.insert(copy);
            self.copies_waiting.push_back(id);
        }
        self.begin_copies(steps);
    }

    /// Begins copies that wait, as long as there is memory for them.
    fn begin_copies(&mut self, steps: &mut Steps) {
        while let Some(id) = self.copies_waiting.front().copied() {
            let Copy { range, weight, .. } = *self.copies.get(id);
            if self.copied > 0 && self.copied.saturating_add(weight) > self.limits.copied {
                return;
            }
            self.copied += weight;
            self.copies_waiting.pop_front();
            let buffer = self.pool.get(range.len() as usize);
            let request = Request::read(0, range.start(), buffer);
            self.ask(self.shape.origin, Sub::CopyRead(id), request, steps);
        }
    }

    /// Ends a copy of which nothing is with legs.
    fn end_copy(&mut self, id: usize, steps: &mut Steps) {
        let copy = self.copies.remove(id);
        assert_eq!(copy.out, 0, "it waits for nothing");
        self.copied -= copy.weight;
        self.begin_copies(steps);
    }

    /// What was to be copied is read.
    pub(super) fn copy_read(&mut self, id: usize, answer: &Completion, steps: &mut Steps) {
        let copy = self.copies.get_mut(id);
        copy.out -= 1;
        assert_eq!(copy.out, 0, "nothing is written before it is read");
        let count = copy.targets.len();
        for target in 0..count {
            match &answer.result {
                Ok(()) => self.store(id, target, &answer.buffer, steps),
                Err(error) => {
                    let target = &self.copies.get(id).targets[target];
                    let (member, old) = (target.member, target.old);
                    let name = &self.shape.name;
                    let what = format!("{name} cannot be read to be kept for a snapshot");
                    self.drop_pending(member, old, &error.clone().within(what));
                }
            }
        }
        if self.copies.get(id).out == 0 {
            self.end_copy(id, steps);
        }
    }

    /// Chunks become exceptions by being written with `bytes`, which are all of them.
    pub(super) fn fill(&mut self, target: Target, bytes: &Buffer, steps: &mut Steps) {
        let range = self.member(target.member).bytes(target.old, target.count);
        assert_eq!(range.len(), bytes.len() as u64, "whole chunks are filled");
        let id = self.copies.insert(Copy {
            range,
            targets: vec![target],
            out: 0,
            weight: range.len(),
        });
        // It has come with its bytes, so it does not wait.
        self.copied += range.len();
        self.store(id, 0, bytes, steps);
        if self.copies.get(id).out == 0 {
            self.end_copy(id, steps);
        }
    }

    /// Writes what a target keeps of `bytes`, which are those of the whole copy.
    fn store(&mut self, id: usize, place: usize, bytes: &Buffer, steps: &mut Steps) {
        let copy = self.copies.get_mut(id);
        let (start, target) = (copy.range.start(), &mut copy.targets[place]);
        let (index, old, count) = (target.member, target.old, target.count);
        let member = self.members[index].as_mut().expect("it keeps things");
        if !member.is_valid() {
            return;
        }
        let Some(runs) = member.allocate(old, count) else {
            return self.overflow(index, old);
        };
        target.out = runs.len();
        copy.out += runs.len();
        let (leg, chunk) = (member.config.store, member.geometry.chunk);
        let mut writes: Vec<(u64, Buffer)> = Vec::new();
        for run in &runs {
            let part = member.bytes(run.old, run.count);
            let mut buffer = bytes.share().split_off((part.start() - start) as usize);
            buffer.truncate(part.len() as usize);
            writes.push((run.new * chunk, buffer));
        }
        target.runs = runs;
        for (start, buffer) in writes {
            let sub = Sub::CopyWrite {
                copy: id,
                target: place,
            };
            let request = Request::write(0, start, Durability::Volatile, buffer);
            self.ask(leg, sub, request, steps);
        }
    }

    /// A part of what a target keeps is in its store, or is not.
    pub(super) fn copy_written(
        &mut self,
        (id, place): (usize, usize),
        result: block::Result<()>,
        steps: &mut Steps,
    ) {
        let copy = self.copies.get_mut(id);
        copy.out -= 1;
        let is_over = copy.out == 0;
        let target = &mut copy.targets[place];
        target.out -= 1;
        if let Err(error) = result {
            target.error.get_or_insert(error);
        }
        if target.out == 0 {
            let (index, error) = (target.member, target.error.take());
            let runs = std::mem::take(&mut target.runs);
            let member = self.member_mut(index);
            match error {
                _ if !member.is_valid() => {}
                None => member.copied.extend(runs),
                Some(error) => {
                    self.invalidate(index, &format!("its store cannot be written ({error})"));
                }
            }
        }
        if is_over {
            self.end_copy(id, steps);
        }
    }

    /// There is no room for chunks that were to be kept.
    fn overflow(&mut self, index: usize, old: u64) {
        let member = self.member(index);
        let waiters = member.pending[&old].waiters.clone();
        let by_origin = waiters.into_iter().any(|waiter| self.is_of_origin(waiter));
        let member = self.member_mut(index);
        if by_origin || member.config.overflow == Overflow::Invalidate {
            return self.invalidate(index, "its store is full");
        }
        member.is_overflowed = true;
        let name = &member.config.name;
        let what = format!("the store of {name} is full; make it larger (lvextend)");
        self.drop_pending(index, old, &Error::new(Kind::NoSpace, what));
    }

    /// Chunks do not become exceptions, but the snapshot goes on.
    fn drop_pending(&mut self, index: usize, old: u64, error: &Error) {
        let member = self.member_mut(index);
        if !member.is_valid() {
            return;
        }
        let pending = member.pending.remove(&old).expect("it is on the way");
        assert_eq!(pending.left, pending.count, "none of them has an entry");
        for waiter in pending.waiters {
            self.release(waiter, Some(error.clone()));
        }
    }

    /// Whether it is the origin that somebody is about to write.
    pub(super) fn is_of_origin(&self, waiter: Waiter) -> bool {
        match waiter {
            Waiter::Merge => true,
            Waiter::Request(id) => self.requests.get(id).port == Port::Origin,
        }
    }
}
