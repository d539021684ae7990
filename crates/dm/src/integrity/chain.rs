//! What is written to the legs, one thing after the other: stages, each of requests that go
//! together, and what follows waits for all of them.
//!
//! ```text
//!   writes    (flush ─▸) section or bits, durably ─▸ data and checksums ─▸ answers
//!                        └ checksums beside these are read meanwhile
//!   others    checksums of what has none; bits that are cleared; what a start or an end has to do
//! ```
//!
//! So checksums that share a sector are never written by two.

use std::collections::VecDeque;

use block::{Buffer, Completion, Durability, Error, Range, Request};

use super::config::{DATA, METADATA};
use super::device::{Ask, Integrity, Steps};
use super::places::Places;
use super::sums::TAG;
use super::writes::Batch;

/// See the module.
#[derive(Debug)]
pub(super) struct Chain {
    work: Work,
    out: usize,
    error: Option<Error>,
    parts: Vec<Piece>,
}

/// What is going on.
#[derive(Debug)]
pub(super) enum Work {
    Batch(Batch),
    /// A job gets checksums, which are being written or not yet.
    Recalculate {
        id: usize,
        is_written: bool,
    },
    Stages {
        rest: VecDeque<Stage>,
        then: Then,
    },
}

/// What follows the last stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Opened,
    /// The superblock says that so many blocks are computed.
    Noted(u64),
    Cleaned,
    Closed,
}

/// Requests that go together.
#[derive(Debug, Default)]
pub(super) struct Stage {
    pub(super) reads: Vec<(usize, Range)>,
    pub(super) requests: Vec<(usize, Request)>,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) leg: usize,
    pub(super) start: u64,
    pub(super) bytes: Buffer,
}

impl Stage {
    /// All that was written is durable.
    pub(super) fn flush() -> Self {
        Self {
            reads: Vec::new(),
            requests: [DATA, METADATA].map(|leg| (leg, Request::flush(0))).into(),
        }
    }

    /// These bytes are durable beside the data.
    pub(super) fn durable(pieces: impl IntoIterator<Item = (u64, Buffer)>) -> Self {
        let mut stage = Self::default();
        for (start, bytes) in pieces {
            stage.write(METADATA, start, (Durability::Fua, bytes));
        }
        stage
    }

    pub(super) fn write(&mut self, leg: usize, start: u64, (how, bytes): (Durability, Buffer)) {
        let request = Request::write(0, start, how, bytes);
        self.requests.push((leg, request));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.requests.is_empty()
    }
}

impl Integrity {
    /// Begins a stage of what is going on.
    pub(super) fn begin(&mut self, work: Work, stage: Stage, steps: &mut Steps) {
        assert!(self.chain.is_none(), "one after the other");
        assert!(!stage.is_empty(), "something is asked for");
        let out = stage.reads.len() + stage.requests.len();
        let mut parts = Vec::with_capacity(stage.reads.len());
        for (number, (leg, range)) in stage.reads.into_iter().enumerate() {
            let buffer = self.pool.get(range.len() as usize);
            let request = Request::read(0, range.start(), buffer);
            self.ask(Ask::Part(number), leg, request, steps);
            parts.push(Piece {
                leg,
                start: range.start(),
                bytes: Buffer::empty(),
            });
        }
        for (leg, request) in stage.requests {
            self.ask(Ask::Chain, leg, request, steps);
        }
        let error = None;
        self.chain = Some(Chain {
            work,
            out,
            error,
            parts,
        });
    }

    /// Begins the first of some stages that has anything to do.
    pub(super) fn begin_stages(
        &mut self,
        mut rest: VecDeque<Stage>,
        then: Then,
        steps: &mut Steps,
    ) {
        while let Some(stage) = rest.pop_front() {
            if !stage.is_empty() {
                return self.begin(Work::Stages { rest, then }, stage, steps);
            }
        }
        self.stages_done(then, Ok(()), steps);
    }

    pub(super) fn chain_answered(
        &mut self,
        part: Option<usize>,
        answer: Completion,
        steps: &mut Steps,
    ) {
        let chain = self.chain.as_mut().expect("it is going on");
        if let Some(part) = part {
            chain.parts[part].bytes = answer.buffer;
        }
        if let Err(error) = answer.result {
            chain.error.get_or_insert(error);
        }
        chain.out = chain.out.checked_sub(1).expect("it was asked");
        if chain.out > 0 {
            return;
        }
        let Chain {
            work, error, parts, ..
        } = self.chain.take().expect("it is going on");
        match work {
            Work::Batch(batch) => self.batch_went_on(batch, parts, error, steps),
            Work::Recalculate { id, is_written } => {
                self.recalculation_went_on((id, is_written), parts, error, steps);
            }
            Work::Stages { rest, then } => match error {
                None => self.begin_stages(rest, then, steps),
                Some(error) => self.stages_done(then, Err(error), steps),
            },
        }
    }

    /// The sectors in which the checksums of these blocks are, each once.
    pub(super) fn tag_sectors(
        &self,
        places: &Places,
        blocks: impl Iterator<Item = std::ops::Range<u64>>,
    ) -> Vec<(usize, Range)> {
        let ranges = blocks.map(|blocks| {
            let count = blocks.end - blocks.start;
            self.whole(places.tags_of(blocks.start, count))
        });
        let mut ranges: Vec<Range> = ranges.collect();
        ranges.sort_unstable_by_key(|range| range.start());
        let mut merged: Vec<Range> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start() <= last.end() => {
                    let end = last.end().max(range.end());
                    *last = Range::new(last.start(), end - last.start());
                }
                _ => merged.push(range),
            }
        }
        let merged = merged.into_iter();
        merged.map(|range| (METADATA, range)).collect()
    }
}

/// Puts the checksums of blocks from `first` on into what was read.
pub(super) fn put_tags(places: &Places, parts: &mut [Piece], first: u64, tags: &[[u8; TAG]]) {
    let range = places.tags_of(first, tags.len() as u64);
    let holds = |part: &&mut Piece| {
        let all = Range::new(part.start, part.bytes.len() as u64);
        part.leg == METADATA && all.contains(range)
    };
    let part = parts.iter_mut().find(holds).expect("it was read");
    let at = (range.start() - part.start) as usize;
    part.bytes[at..at + range.len() as usize].copy_from_slice(tags.as_flattened());
}
