//! Reads that the machine serves: cut into parts, each from one leg or made up from others.
//!
//! ```text
//!   request ─▸ parts, so many at a time ─▸ a leg ──────────────────▸ part done ─▸ all done: answer
//!                                      ╲─▸ others of its row ─▸ sums ─▸ part done
//!                 a leg fails: the part is planned again without it
//! ```
//!
//! A part lies in one chunk. Its bytes are a piece of the request's buffer, which goes to the leg;
//! what it is made up from takes as much again for each leg that is read. So that a long request
//! does not take all memory, few of its parts are under way at once.

use std::collections::VecDeque;

use block::{Buffer, Completion, Error, Kind, Range, Request};

use super::array::{Array, Steps};
use super::jobs::{Job, Question};
use super::rows::make_up;
use super::update::members;
use super::view::{LegSet, Rebuild, Source};
use crate::locks::Mode;
use crate::machine::Step;

/// Parts of one request that are under way at once: enough for several full rows.
const PARTS_MAX: usize = 32;

/// What is read by itself where legs fail at different places of a part: they may have the rest.
pub(super) const PIECE: u64 = 4096;

/// A request that is being read.
#[derive(Debug)]
pub(super) struct Reading {
    tag: u64,
    /// The row of a reshape that it is for; `None`: somebody has asked.
    mover: Option<usize>,
    range: Range,
    /// What has not begun, in order.
    ahead: VecDeque<Part>,
    /// What is done: where it begins, and its bytes.
    done: Vec<(u64, Buffer)>,
    under_way: usize,
    error: Option<Error>,
    /// Some bytes are not where they were to be read to.
    is_scattered: bool,
}

/// A part of a request that has not begun.
#[derive(Debug)]
pub(super) struct Part {
    range: Range,
    buffer: Buffer,
    /// Legs that failed to answer it.
    without: LegSet,
}

/// A part that legs were asked for.
#[derive(Debug)]
pub(super) struct Asked {
    reading: usize,
    range: Range,
    without: LegSet,
    /// What others may not change meanwhile.
    lock: Option<Range>,
    from: From,
    /// Legs that have not answered.
    out: usize,
    /// Whether one of them failed.
    failed: bool,
}

/// From where a part comes.
#[derive(Debug)]
enum From {
    /// From others; it waits for its lock.
    Locking(Buffer),
    Leg(Buffer),
    Others {
        rebuild: Rebuild,
        /// Where its bytes belong.
        buffer: Buffer,
        /// What the sources answered, in their order.
        bytes: Vec<Buffer>,
    },
}

impl Array {
    pub(super) fn read(&mut self, request: Request, without: LegSet, steps: &mut Steps) {
        self.read_for(None, request, without, steps);
    }

    /// The same; for a row that is moved its old rows are locked.
    pub(super) fn read_for(
        &mut self,
        mover: Option<usize>,
        request: Request,
        without: LegSet,
        steps: &mut Steps,
    ) {
        let part = Part {
            range: request.range,
            buffer: request.buffer,
            without,
        };
        let reading = self.readings.insert(Reading {
            tag: request.tag,
            mover,
            range: request.range,
            ahead: VecDeque::from([part]),
            done: Vec::new(),
            under_way: 0,
            error: None,
            is_scattered: false,
        });
        self.go_on(reading, steps);
    }

    /// Begins parts of a request, or answers it.
    fn go_on(&mut self, id: usize, steps: &mut Steps) {
        loop {
            let reading = self.readings.get_mut(id);
            if reading.under_way >= PARTS_MAX || reading.error.is_some() {
                break;
            }
            let Some(part) = reading.ahead.pop_front() else {
                break;
            };
            self.begin(id, part, steps);
        }
        let reading = self.readings.get(id);
        if reading.under_way > 0 {
            return;
        }
        let reading = self.readings.remove(id);
        match reading.mover {
            Some(row) => self.row_read(row, reading.answer(), steps),
            None => steps.push(Step::Done(reading.answer())),
        }
    }

    /// Begins what of a part comes from one place; the rest comes next.
    fn begin(&mut self, id: usize, mut part: Part, steps: &mut Steps) {
        let view = self
            .view
            .clone()
            .expect("requests come when it has started");
        let (source, len) = view.source(part.range, part.without);
        let rest = part.range.len() - len;
        let reading = self.readings.get_mut(id);
        if rest > 0 {
            reading.ahead.push_front(Part {
                range: Range::new(part.range.start() + len, rest),
                buffer: part.buffer.split_off(len as usize),
                without: part.without,
            });
        }
        let range = Range::new(part.range.start(), len);
        let asked = Asked {
            reading: id,
            range,
            without: part.without,
            lock: None,
            from: From::Locking(part.buffer),
            out: 0,
            failed: false,
        };
        self.begin_source(asked, source, steps);
    }

    /// Asks for a part, all of which comes from one place.
    fn begin_source(&mut self, mut asked: Asked, source: Source, steps: &mut Steps) {
        let From::Locking(buffer) = asked.from else {
            unreachable!("nobody was asked");
        };
        let len = asked.range.len();
        let is_locked = self.readings.get(asked.reading).mover.is_some();
        match source {
            Source::Nowhere(_) if asked.without != 0 && asked.range.len() > PIECE => {
                self.in_pieces(asked.reading, asked.range, buffer);
            }
            Source::Nowhere(why) => {
                let what = format!(
                    "{}: {} bytes at byte {} cannot be read: {why}{}",
                    self.config.name,
                    len,
                    asked.range.start(),
                    self.absent()
                );
                let reading = self.readings.get_mut(asked.reading);
                reading.error = Some(Error::new(Kind::Io, what));
                reading.done.push((asked.range.start(), buffer));
            }
            // What is read while all moves is not moved before it is.
            Source::Leg { .. }
                if self.record.is_some() && self.reshape().is_some() && !is_locked =>
            {
                asked.from = From::Locking(buffer);
                self.readings.get_mut(asked.reading).under_way += 1;
                self.lock_read(asked, steps);
            }
            Source::Leg { leg, start } => {
                asked.from = From::Leg(Buffer::empty());
                asked.out = 1;
                self.readings.get_mut(asked.reading).under_way += 1;
                let job = self.jobs.insert(Job::Read(asked));
                let question = Question { job, leg, slot: 0 };
                self.ask(question, Request::read(0, start, buffer), steps);
            }
            Source::Others(rebuild) => {
                asked.from = From::Locking(buffer);
                self.readings.get_mut(asked.reading).under_way += 1;
                if self.record.is_none() || is_locked {
                    let job = self.jobs.insert(Job::Read(asked));
                    return self.ask_others(job, rebuild, steps);
                }
                self.lock_read(asked, steps);
            }
        }
    }

    /// A part is read when nobody changes its row.
    fn lock_read(&mut self, mut asked: Asked, steps: &mut Steps) {
        let lock = self.lock_of(asked.range);
        asked.lock = Some(lock);
        let job = self.jobs.insert(Job::Read(asked));
        if self.locks.take(job, lock, Mode::Shared) {
            self.read_locked(job, steps);
        }
    }

    /// Too many legs failed somewhere in a part: each piece of it is read anew, from any of them.
    fn in_pieces(&mut self, id: usize, range: Range, mut buffer: Buffer) {
        let mut pieces = Vec::new();
        let mut start = range.start();
        while start < range.end() {
            let len = (PIECE - start % PIECE).min(range.end() - start);
            let rest = buffer.split_off(len as usize);
            pieces.push(Part {
                range: Range::new(start, len),
                buffer: std::mem::replace(&mut buffer, rest),
                without: 0,
            });
            start += len;
        }
        assert!(pieces.len() > 1, "it goes on with less");
        let reading = self.readings.get_mut(id);
        for piece in pieces.into_iter().rev() {
            reading.ahead.push_front(piece);
        }
    }

    /// Nobody changes the row of a part: what it is made up from is asked for, as it is known now.
    pub(super) fn read_locked(&mut self, job: usize, steps: &mut Steps) {
        let Job::Read(asked) = self.jobs.get(job) else {
            unreachable!("it is a read");
        };
        let view = self.view.as_ref().expect("it has started");
        let (source, len) = view.source(asked.range, asked.without);
        let is_here = asked.lock == Some(self.lock_of(asked.range));
        match source {
            Source::Others(rebuild) if len == asked.range.len() && is_here => {
                self.ask_others(job, rebuild, steps);
            }
            Source::Leg { leg, start }
                if len == asked.range.len() && is_here && self.reshape().is_some() =>
            {
                self.ask_locked_leg(job, (leg, start), steps);
            }
            // Something has changed meanwhile: it is planned anew.
            _ => self.finished.push_back(job),
        }
    }

    fn ask_locked_leg(&mut self, job: usize, (leg, start): (usize, u64), steps: &mut Steps) {
        let mut asked = self.take_read(job);
        let before = std::mem::replace(&mut asked.from, From::Leg(Buffer::empty()));
        let From::Locking(buffer) = before else {
            unreachable!("nobody was asked");
        };
        asked.out = 1;
        self.put(job, Job::Read(asked));
        let question = Question { job, leg, slot: 0 };
        self.ask(question, Request::read(0, start, buffer), steps);
    }

    fn ask_others(&mut self, job: usize, rebuild: Rebuild, steps: &mut Steps) {
        let mut asked = self.take_read(job);
        let From::Locking(buffer) = asked.from else {
            unreachable!("nobody was asked");
        };
        let (len, start) = (buffer.len(), rebuild.start);
        let sources = rebuild.sources.clone();
        asked.out = sources.len();
        asked.from = From::Others {
            bytes: sources.iter().map(|_| Buffer::empty()).collect(),
            rebuild,
            buffer,
        };
        self.put(job, Job::Read(asked));
        for (slot, leg) in sources.into_iter().enumerate() {
            let question = Question { job, leg, slot };
            let request = Request::read(0, start, self.pool.get(len));
            self.ask(question, request, steps);
        }
    }

    pub(super) fn read_answered(&mut self, question: Question, answer: Completion) {
        let Job::Read(asked) = self.jobs.get_mut(question.job) else {
            unreachable!("it is a read");
        };
        match &mut asked.from {
            From::Locking(_) => unreachable!("nobody was asked"),
            From::Leg(buffer) => *buffer = answer.buffer,
            From::Others { bytes, .. } => bytes[question.slot] = answer.buffer,
        }
        if answer.result.is_err() {
            self.errors[question.leg] += 1;
            asked.without |= 1 << question.leg;
            asked.failed = true;
        }
        asked.out -= 1;
        if asked.out == 0 {
            self.finished.push_back(question.job);
        }
    }

    /// All that a part needs was answered: it is done, or planned again.
    pub(super) fn read_finished(&mut self, job: usize, steps: &mut Steps) {
        let Job::Read(asked) = self.jobs.remove(job) else {
            unreachable!("it is a read");
        };
        if let Some(lock) = asked.lock {
            self.turns.extend(self.locks.release(job, lock));
        }
        let id = asked.reading;
        self.readings.get_mut(id).under_way -= 1;
        self.part_answered(asked);
        self.go_on(id, steps);
    }

    fn part_answered(&mut self, asked: Asked) {
        let mut is_again = asked.failed;
        let len = asked.range.len() as usize;
        let buffer = match asked.from {
            From::Locking(buffer) => {
                is_again = true;
                buffer
            }
            From::Leg(buffer) => buffer,
            From::Others {
                rebuild,
                mut buffer,
                bytes,
            } => {
                if !is_again {
                    make_up(&rebuild, &mut buffer, &bytes);
                }
                buffer
            }
        };
        if !is_again {
            self.fix(asked.without, asked.range);
            let reading = self.readings.get_mut(asked.reading);
            return reading.done.push((asked.range.start(), buffer));
        }
        let reading = self.readings.get_mut(asked.reading);
        // A leg that failed may have kept what it got.
        let buffer = if buffer.len() == len {
            buffer
        } else {
            reading.is_scattered = true;
            self.pool.get(len)
        };
        reading.ahead.push_front(Part {
            range: asked.range,
            buffer,
            without: asked.without,
        });
    }

    /// Legs that could not be read here get what they should hold.
    fn fix(&mut self, legs: LegSet, range: Range) {
        if self.record.is_none() || legs == 0 {
            return;
        }
        let lock = self.lock_of(range);
        let mut start = lock.start();
        while start < lock.end() {
            let bucket = self.piece_len(start);
            let end = ((start / bucket + 1) * bucket).min(lock.end());
            let sync = Range::new(start, end - start);
            members(legs).for_each(|leg| self.mending.fix(leg, sync));
            start = end;
        }
    }

    /// A clause about the legs that are not read.
    pub(super) fn absent(&self) -> String {
        let view = self.view.as_ref().expect("it has started");
        let legs = view.assembly().legs.iter().zip(&self.config.leg_names);
        let absent: Vec<String> = legs
            .filter_map(|(state, name)| state.absence(name))
            .collect();
        if absent.is_empty() {
            return String::new();
        }
        format!(" ({})", absent.join("; "))
    }
}

impl Reading {
    fn answer(mut self) -> Completion {
        self.done.extend(
            self.ahead
                .into_iter()
                .map(|part| (part.range.start(), part.buffer)),
        );
        self.done.sort_unstable_by_key(|(start, _)| *start);
        let mut buffer = Buffer::empty();
        if self.is_scattered {
            let parts: Vec<&[u8]> = self.done.iter().map(|(_, part)| &**part).collect();
            buffer = Buffer::copy_of(&parts.concat());
        } else {
            for (_, part) in self.done {
                buffer.unsplit(part);
            }
        }
        assert_eq!(buffer.len() as u64, self.range.len(), "all parts came back");
        Completion {
            tag: self.tag,
            result: self.error.map_or(Ok(()), Err),
            buffer,
        }
    }
}
