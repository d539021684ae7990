//! Requests that write: cut into parts, each of one row or one chunk, and given to strokes.
//!
//! ```text
//!   request ─▸ parts, so many at a time ─▸ stroke of the row, if it waits still ─▸ … ─▸ part done
//!                                     ╲──▸ a new stroke ──────────────────────▸ … ─▸ part done
//! ```
//!
//! A row of parity has one stroke at a time. Parts that come meanwhile gather in the next one, so
//! that neighbours are written together, and a stream makes whole rows.

use block::{Buffer, Completion, Durability, Error, Operation, Range, Request};

use super::array::{Array, Steps};
use super::geometry::Scheme;
use super::jobs::Job;
use super::journal::Journal;
use super::sides::row_len;
use super::strokes::{Phase, Stroke};
use crate::locks::Mode;
use crate::machine::Step;

/// Parts of one request that are under way at once.
const PARTS_MAX: usize = 32;

/// A request that is being written.
#[derive(Debug)]
pub(super) struct Writing {
    tag: u64,
    range: Range,
    operation: Operation,
    durability: Durability,
    /// From where on nothing has begun.
    next: u64,
    /// The bytes from there on.
    ahead: Buffer,
    /// What is done: where it begins, and its bytes.
    done: Vec<(u64, Buffer)>,
    under_way: usize,
    error: Option<Error>,
}

/// A part of a request, in a stroke.
#[derive(Debug)]
pub(super) struct Part {
    /// The request.
    pub(super) writing: usize,
    /// Its bytes of the array.
    pub(super) range: Range,
    pub(super) durability: Durability,
    pub(super) bytes: Content,
}

/// What a part writes.
#[derive(Debug)]
pub(super) enum Content {
    /// These bytes.
    Bytes(Buffer),
    /// Zeros, by this operation.
    Zeros(Operation),
}

impl Array {
    pub(super) fn write(&mut self, request: Request, steps: &mut Steps) {
        if let Some(error) = self.refusal() {
            return steps.push(Step::Done(request.complete(Err(error))));
        }
        let id = self.writings.insert(Writing {
            tag: request.tag,
            range: request.range,
            operation: request.operation,
            durability: request.durability,
            next: request.range.start(),
            ahead: request.buffer,
            done: Vec::new(),
            under_way: 0,
            error: None,
        });
        self.go_on_writing(id, steps);
    }

    /// Begins parts of a request, or answers it.
    fn go_on_writing(&mut self, id: usize, steps: &mut Steps) {
        loop {
            let writing = self.writings.get(id);
            let is_over = writing.next == writing.range.end() || writing.error.is_some();
            if is_over || writing.under_way >= PARTS_MAX {
                break;
            }
            let (start, end) = (writing.next, writing.range.end());
            let len = self.part_len(start).min(end - start);
            let writing = self.writings.get_mut(id);
            let bytes = match writing.operation {
                Operation::Write => {
                    let rest = writing.ahead.split_off(len as usize);
                    Content::Bytes(std::mem::replace(&mut writing.ahead, rest))
                }
                other => Content::Zeros(other),
            };
            writing.next += len;
            writing.under_way += 1;
            let part = Part {
                writing: id,
                range: Range::new(start, len),
                durability: writing.durability,
                bytes,
            };
            self.begin_part(part, steps);
        }
        let writing = self.writings.get(id);
        if writing.under_way == 0 {
            let writing = self.writings.remove(id);
            steps.push(Step::Done(writing.answer()));
        }
    }

    /// Bytes of the array from `offset` on that are written together: to the end of its row, its
    /// chunk, or a piece of a mirror.
    fn part_len(&self, offset: u64) -> u64 {
        let view = self.view.as_ref().expect("it has started");
        let (geometry, _, left) = view.geometry_at(offset);
        let whole = match geometry.scheme() {
            Scheme::Parity(..) => row_len(geometry),
            Scheme::Mirror | Scheme::Copies(_) => self.locks.bucket(),
        };
        (whole - offset % whole).min(left)
    }

    /// The bytes that are kept in sync by which a part is locked.
    pub(super) fn lock_of(&self, range: Range) -> Range {
        let view = self.view.as_ref().expect("it has started");
        let (geometry, ..) = view.geometry_at(range.start());
        match geometry.scheme() {
            Scheme::Parity(..) => {
                let start = geometry.spot(range.start(), 0).start;
                let chunk = geometry.chunk();
                Range::new(start - start % chunk, chunk)
            }
            Scheme::Mirror | Scheme::Copies(_) => range,
        }
    }

    fn begin_part(&mut self, part: Part, steps: &mut Steps) {
        let lock = self.lock_of(part.range);
        let gathers = matches!(self.config.geometry().scheme(), Scheme::Parity(..));
        let is_partial = self.journal.as_ref().is_some_and(Journal::is_partial);
        if gathers && let Some(id) = self.gathering.get(&lock.start()).copied() {
            let Job::Write(stroke) = self.jobs.get_mut(id) else {
                unreachable!("a stroke gathers");
            };
            let is_apart = is_partial && !stroke.adjoins(part.range);
            if stroke.has_room_for(part.range) && !is_apart {
                return stroke.parts.push(part);
            }
        }
        let id = self.jobs.insert(Job::Write(Stroke::new(lock, part)));
        if gathers {
            self.gathering.entry(lock.start()).or_insert(id);
        }
        if self.locks.take(id, lock, Mode::Alone) {
            self.stroke_locked(id, steps);
        }
    }

    /// A stroke has its lock: its regions are marked first, if they are not.
    pub(super) fn stroke_locked(&mut self, id: usize, steps: &mut Steps) {
        let mut stroke = self.take_stroke(id);
        assert_eq!(stroke.phase, Phase::Locking);
        if self.reshape_error.is_some() || !self.is_there(&stroke) {
            return self.go_elsewhere(id, stroke, steps);
        }
        let record = self.record.as_mut().expect("it is written");
        let mut waits = record.claim != super::record::Claim::Held;
        record.claim();
        for region in self.regions.of(stroke.lock) {
            if !self.regions.hold(region) {
                record.mark(region);
                waits = true;
            }
        }
        if waits {
            stroke.phase = Phase::Marking;
            record.wait(id);
            self.put(id, Job::Write(stroke));
        } else {
            self.put(id, Job::Write(stroke));
            self.issue(id, steps);
        }
    }

    /// Whether parts of a stroke that waited for its lock are still in the row that it is of.
    fn is_there(&self, stroke: &Stroke) -> bool {
        let is_in = |part: &Part| {
            let fits = part.range.len() <= self.part_len(part.range.start());
            fits && self.lock_of(part.range) == stroke.lock
        };
        stroke.parts.iter().all(is_in)
    }

    /// A step of a reshape was in front of a stroke, and its parts are in other rows now.
    fn go_elsewhere(&mut self, id: usize, stroke: Stroke, steps: &mut Steps) {
        self.gathers_no_more(id, stroke.lock);
        self.turns.extend(self.locks.release(id, stroke.lock));
        self.jobs.remove(id);
        let error = self.reshape_error.clone();
        for part in stroke.parts {
            if error.is_some() {
                self.part_written(part, error.as_ref(), steps);
            } else {
                self.begin_again(part, steps);
            }
        }
    }

    /// Begins what is left of a part, row by row.
    fn begin_again(&mut self, mut part: Part, steps: &mut Steps) {
        loop {
            let (start, len) = (part.range.start(), part.range.len());
            let here = self.part_len(start).min(len);
            if here == len {
                return self.begin_part(part, steps);
            }
            let (bytes, rest) = part.bytes.split(here);
            let first = Part {
                range: Range::new(start, here),
                bytes,
                ..part
            };
            self.writings.get_mut(part.writing).under_way += 1;
            part = Part {
                range: Range::new(start + here, len - here),
                bytes: rest,
                ..part
            };
            self.begin_part(first, steps);
        }
    }

    /// A part has ended, with its bytes.
    pub(super) fn part_written(&mut self, part: Part, error: Option<&Error>, steps: &mut Steps) {
        let writing = self.writings.get_mut(part.writing);
        writing.under_way = writing.under_way.checked_sub(1).expect("it was under way");
        if let Content::Bytes(bytes) = part.bytes {
            writing.done.push((part.range.start(), bytes));
        }
        if let Some(error) = error {
            writing.error.get_or_insert_with(|| error.clone());
        }
        self.go_on_writing(part.writing, steps);
    }
}

impl Content {
    /// The first so many bytes, and the others.
    fn split(self, len: u64) -> (Self, Self) {
        match self {
            Self::Bytes(mut bytes) => {
                let rest = bytes.split_off(len as usize);
                (Self::Bytes(bytes), Self::Bytes(rest))
            }
            Self::Zeros(operation) => (Self::Zeros(operation), Self::Zeros(operation)),
        }
    }
}

impl Writing {
    fn answer(mut self) -> Completion {
        self.done.sort_unstable_by_key(|(start, _)| *start);
        let mut buffer = Buffer::empty();
        for (_, part) in self.done {
            buffer.unsplit(part);
        }
        buffer.unsplit(self.ahead);
        let has_bytes = self.operation == Operation::Write;
        let len = if has_bytes { self.range.len() } else { 0 };
        assert_eq!(buffer.len() as u64, len, "all parts came back");
        Completion {
            tag: self.tag,
            result: self.error.map_or(Ok(()), Err),
            buffer,
        }
    }
}
