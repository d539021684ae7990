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

use block::{Buffer, Completion, Error, Kind, Range, Request, parity};

use super::array::{Array, Steps};
use super::view::{LegSet, Rebuild, Source};
use crate::machine::Step;

/// Parts of one request that are under way at once: enough for several full rows.
const PARTS_MAX: usize = 32;

/// A request that is being read.
#[derive(Debug)]
pub(super) struct Reading {
    tag: u64,
    range: Range,
    /// What has not begun, in order.
    ahead: VecDeque<Part>,
    /// What is done: where it begins, and its bytes.
    done: Vec<(u64, Buffer)>,
    under_way: usize,
    error: Option<Error>,
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
    from: From,
    /// Legs that have not answered.
    out: usize,
    /// Whether one of them failed.
    failed: bool,
}

/// From where a part comes.
#[derive(Debug)]
enum From {
    Leg(Buffer),
    Others {
        rebuild: Rebuild,
        /// Where its bytes belong.
        buffer: Buffer,
        /// What the sources answered, in their order.
        bytes: Vec<Buffer>,
    },
}

/// One question to a leg.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    asked: usize,
    leg: usize,
    /// Which of the sources it is.
    source: usize,
}

impl Array {
    pub(super) fn read(&mut self, request: Request, without: LegSet, steps: &mut Steps) {
        let part = Part {
            range: request.range,
            buffer: request.buffer,
            without,
        };
        let reading = self.readings.insert(Reading {
            tag: request.tag,
            range: request.range,
            ahead: VecDeque::from([part]),
            done: Vec::new(),
            under_way: 0,
            error: None,
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
        steps.push(Step::Done(reading.answer()));
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
        let (from, questions) = match source {
            Source::Nowhere(why) => {
                let what = format!(
                    "{}: {} bytes at byte {} cannot be read: {why}{}",
                    self.config.name,
                    len,
                    range.start(),
                    self.absent()
                );
                let reading = self.readings.get_mut(id);
                reading.error = Some(Error::new(Kind::Io, what));
                reading.done.push((range.start(), part.buffer));
                return;
            }
            Source::Leg { leg, start } => {
                let buffer = std::mem::take(&mut part.buffer);
                (From::Leg(Buffer::empty()), vec![(leg, start, buffer)])
            }
            Source::Others(rebuild) => {
                let ask = |leg: &usize| (*leg, rebuild.start, self.pool.get(len as usize));
                let questions = rebuild.sources.iter().map(ask).collect::<Vec<_>>();
                let bytes = questions.iter().map(|_| Buffer::empty()).collect();
                let buffer = std::mem::take(&mut part.buffer);
                let from = From::Others {
                    rebuild,
                    buffer,
                    bytes,
                };
                (from, questions)
            }
        };
        self.readings.get_mut(id).under_way += 1;
        let asked = self.asked.insert(Asked {
            reading: id,
            range,
            without: part.without,
            from,
            out: questions.len(),
            failed: false,
        });
        for (source, (leg, start, buffer)) in questions.into_iter().enumerate() {
            let question = Question { asked, leg, source };
            self.ask(question, start, buffer, steps);
        }
    }

    /// Asks a leg.
    fn ask(&mut self, question: Question, start: u64, buffer: Buffer, steps: &mut Steps) {
        let device = self.config.legs[question.leg].data;
        let leg = device.expect("a leg that is valid is there");
        let tag = self.questions.insert(question) as u64;
        let request = Request::read(tag, start, buffer);
        steps.push(Step::Sub { leg, request });
    }

    pub(super) fn read_answered(&mut self, answer: Completion, steps: &mut Steps) {
        let question = self.questions.remove(answer.tag as usize);
        let asked = self.asked.get_mut(question.asked);
        match &mut asked.from {
            From::Leg(buffer) => *buffer = answer.buffer,
            From::Others { bytes, .. } => bytes[question.source] = answer.buffer,
        }
        if answer.result.is_err() {
            self.errors[question.leg] += 1;
            asked.without |= 1 << question.leg;
            asked.failed = true;
        }
        asked.out -= 1;
        if asked.out > 0 {
            return;
        }
        let asked = self.asked.remove(question.asked);
        let id = asked.reading;
        self.readings.get_mut(id).under_way -= 1;
        self.part_answered(asked);
        self.go_on(id, steps);
    }

    /// All that a part needs was answered: it is done, or planned again.
    fn part_answered(&mut self, asked: Asked) {
        let failed = asked.failed;
        let buffer = match asked.from {
            From::Leg(buffer) => buffer,
            From::Others {
                rebuild,
                mut buffer,
                bytes,
            } => {
                if !failed {
                    make_up(&rebuild, &mut buffer, &bytes);
                }
                buffer
            }
        };
        let reading = self.readings.get_mut(asked.reading);
        if failed {
            reading.ahead.push_front(Part {
                range: asked.range,
                buffer,
                without: asked.without,
            });
        } else {
            reading.done.push((asked.range.start(), buffer));
        }
    }

    /// A clause about the legs that are not read.
    fn absent(&self) -> String {
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
        for (_, part) in self.done {
            buffer.unsplit(part);
        }
        assert_eq!(buffer.len() as u64, self.range.len(), "all parts came back");
        Completion {
            tag: self.tag,
            result: self.error.map_or(Ok(()), Err),
            buffer,
        }
    }
}

/// The bytes of a leg from those of others of its row.
fn make_up(rebuild: &Rebuild, target: &mut [u8], bytes: &[Buffer]) {
    let Rebuild {
        row,
        leg,
        other,
        sources,
        ..
    } = rebuild;
    assert_eq!(sources.len(), bytes.len(), "each source was read");
    let sources = || sources.iter().copied().zip(bytes);
    let has = |leg: usize| sources().any(|(source, _)| source == leg);
    // What is missing from P is what is missing.
    let add_to_p = |sum: &mut [u8]| {
        sum.fill(0);
        let counted = sources().filter(|(source, _)| row.q != Some(*source));
        counted.for_each(|(_, bytes)| parity::xor_into(sum, bytes));
    };
    // What is missing from Q is its product with a power of 2.
    let add_to_q = |sum: &mut [u8]| {
        sum.fill(0);
        for (source, bytes) in sources().filter(|(source, _)| *source != row.p) {
            if row.q == Some(source) {
                parity::xor_into(sum, bytes);
            } else {
                parity::add_power(sum, bytes, row.power(source) as u8);
            }
        }
    };
    match other {
        None if has(row.p) => add_to_p(target),
        None => {
            add_to_q(target);
            parity::recover_with_q(target, row.power(*leg) as u8);
        }
        Some(other) => {
            let mut q = vec![0; target.len()];
            add_to_q(&mut q);
            add_to_p(target);
            let (x, y) = (row.power(*leg) as u8, row.power(*other) as u8);
            parity::recover_two(target, &mut q, x, y);
        }
    }
}
