//! Writes: those that are there go together, and each is answered when it may be.
//!
//! ```text
//!   journal    ─▸ sections, durably ─▸ answered ─▸ data and checksums in place
//!                 └ written again behind a flush of both legs
//!   bitmap     ─▸ bits, durably, if they are not set ─▸ data and checksums in place ─▸ answered
//! ```
//!
//! With a journal nothing is in place before it is in the journal, durably: behind a loss of power
//! it is put there once more, data and checksum. So what was answered is durable, and who was
//! killed has lost nothing of it. What comes while a run of writes is under way goes with the next.
//! A write is cut into as much as goes at once.

use block::{Buffer, Completion, Durability, Error, Operation, Range, Request};

use super::chain::{Piece, Stage, Work, put_tags};
use super::config::{DATA, METADATA};
use super::device::{Integrity, Job, Steps};
use super::places::Places;
use super::ring::Ring;
use super::sums::{TAG, tag};
use super::writer::Way;
use crate::locks::Mode as Lock;
use crate::machine::Step;

/// A write that holds a lock, or waits for it.
#[derive(Debug)]
pub(super) struct Writing {
    tag: u64,
    range: Range,
    is_durable: bool,
    /// Its bytes from `next` on; `None`: zeros.
    ahead: Option<Buffer>,
    next: u64,
    /// The buffer to be given back; `None`: it was answered.
    answer: Option<Buffer>,
}

/// Writes that go together.
#[derive(Debug)]
pub(super) struct Batch {
    parts: Vec<Part>,
    phase: BatchPhase,
    is_durable: bool,
    is_replay: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchPhase {
    /// What the journal held is made durable in its place.
    Reclaim,
    /// It is in the journal, or marked.
    Log,
    Place,
    Settle,
}

/// A piece of a write.
#[derive(Debug)]
struct Part {
    /// Who wrote it; `None`: it was in the journal.
    job: Option<usize>,
    is_last: bool,
    first: u64,
    bytes: Buffer,
    tags: Vec<[u8; TAG]>,
}

impl Part {
    fn new(places: &Places, job: Option<usize>, first: u64, bytes: Buffer) -> Self {
        let blocks = bytes.chunks(places.block as usize);
        let tags = (first..).zip(blocks);
        let tags = tags.map(|(number, block)| tag(places.sector_of(number), block));
        Self {
            job,
            is_last: false,
            first,
            tags: tags.collect(),
            bytes,
        }
    }

    fn blocks(&self) -> std::ops::Range<u64> {
        self.first..self.first + self.tags.len() as u64
    }
}

impl Integrity {
    /// Blocks that are written at once, at most.
    pub(super) fn batch_max(&self) -> u64 {
        let Some(places) = &self.known().places else {
            return 1;
        };
        if self.has_journal() {
            (places.sections / 2).clamp(1, self.limits.sections) * places.section_entries
        } else {
            (self.limits.batch / places.block).max(1)
        }
    }

    pub(super) fn write(&mut self, request: Request, steps: &mut Steps) {
        if let Some(error) = self.writer().broken() {
            return steps.push(Step::Done(request.complete(Err(error))));
        }
        let range = request.range;
        let ahead = match request.operation {
            Operation::Write => Some(request.buffer.share()),
            _ => None,
        };
        let id = self.jobs.insert(Job::Write(Writing {
            tag: request.tag,
            range,
            is_durable: request.durability == Durability::Fua,
            ahead,
            next: range.start(),
            answer: Some(request.buffer),
        }));
        self.lock(id, range, Lock::Alone, steps);
    }

    fn writing(&mut self, id: usize) -> &mut Writing {
        match self.jobs.get_mut(id) {
            Job::Write(writing) => writing,
            other => unreachable!("{other:?} writes nothing"),
        }
    }

    /// Nobody else reads or writes these blocks.
    pub(super) fn write_locked(&mut self, id: usize) {
        let block = u64::from(self.config.block);
        let count = self.writing(id).range.len() / block;
        assert!(count > 0, "something is written");
        let writer = self.writer();
        writer.ready.push_back(id);
        writer.ready_blocks += count;
    }

    /// Begins with what is ready, as much as goes at once.
    pub(super) fn begin_batch(&mut self, steps: &mut Steps) {
        let places = self.known().places.clone().expect("it has a superblock");
        let mut room = self.batch_max();
        let (mut parts, mut is_durable) = (Vec::new(), false);
        while room > 0 {
            let Some(id) = self.writer().ready.front().copied() else {
                break;
            };
            let writing = self.writing(id);
            let len = (writing.range.end() - writing.next).min(room * places.block);
            let bytes = match &mut writing.ahead {
                Some(ahead) => {
                    let rest = ahead.split_off(len as usize);
                    std::mem::replace(ahead, rest)
                }
                None => Buffer::zeroed(len as usize),
            };
            let first = writing.next / places.block;
            writing.next += len;
            is_durable |= writing.is_durable;
            let is_last = writing.next == writing.range.end();
            let mut part = Part::new(&places, Some(id), first, bytes);
            part.is_last = is_last;
            parts.push(part);
            let writer = self.writer();
            writer.ready_blocks -= len / places.block;
            room -= len / places.block;
            if is_last {
                writer.ready.pop_front();
            }
        }
        let blocks = parts.iter().map(|part| part.tags.len() as u64).sum();
        assert!(blocks > 0, "something is ready");
        assert!(blocks <= self.batch_max(), "no more than goes at once");
        let batch = Batch {
            parts,
            phase: BatchPhase::Log,
            is_durable,
            is_replay: false,
        };
        let writer = self.writer();
        writer.is_loose = true;
        if let Way::Journal(ring) = &writer.way
            && ring.is_full(&places, Ring::needed(&places, blocks))
        {
            let phase = BatchPhase::Reclaim;
            let work = Work::Batch(Batch { phase, ..batch });
            return self.begin(work, Stage::flush(), steps);
        }
        self.log(batch, steps);
    }

    /// Puts blocks of a journal in their places: where, and what they hold.
    pub(super) fn begin_replay(&mut self, blocks: Vec<(u64, Buffer)>, steps: &mut Steps) {
        let places = self.known().places.clone().expect("it has a superblock");
        let blocks = blocks.into_iter();
        let parts = blocks.map(|(block, bytes)| Part::new(&places, None, block, bytes));
        let batch = Batch {
            parts: parts.collect(),
            phase: BatchPhase::Log,
            is_durable: true,
            is_replay: true,
        };
        self.log(batch, steps);
    }

    /// Writes the journal, or the bits, and reads what the checksums lie among.
    fn log(&mut self, batch: Batch, steps: &mut Steps) {
        let batch = Batch {
            phase: BatchPhase::Log,
            ..batch
        };
        let places = self.known().places.clone().expect("it has a superblock");
        let mut stage = Stage::default();
        if !batch.is_replay {
            let pieces = match &mut self.writer().way {
                Way::Journal(ring) => {
                    let all = batch.parts.iter().flat_map(|part| {
                        let blocks = part.bytes.chunks(places.block as usize);
                        part.blocks().zip(blocks)
                    });
                    ring.write(&places, &all.collect::<Vec<_>>())
                }
                Way::Bitmap(marks) => marks.set(&places, batch.parts.iter().map(Part::blocks)),
            };
            stage = Stage::durable(pieces);
        }
        stage.reads = self.tag_sectors(&places, batch.parts.iter().map(Part::blocks));
        self.begin(Work::Batch(batch), stage, steps);
    }

    pub(super) fn batch_went_on(
        &mut self,
        batch: Batch,
        parts: Vec<Piece>,
        error: Option<Error>,
        steps: &mut Steps,
    ) {
        if let Some(error) = error {
            return self.batch_failed(&batch, error, steps);
        }
        match batch.phase {
            BatchPhase::Reclaim => {
                if let Way::Journal(ring) = &mut self.writer().way {
                    ring.reclaim();
                }
                self.log(batch, steps);
            }
            BatchPhase::Log => {
                if self.has_journal() && !batch.is_replay {
                    self.batch_is_durable(&batch, steps);
                }
                self.place(batch, parts, steps);
            }
            // What is in the journal is durable, but for what comes from there.
            BatchPhase::Place if batch.is_durable && (!self.has_journal() || batch.is_replay) => {
                let phase = BatchPhase::Settle;
                let work = Work::Batch(Batch { phase, ..batch });
                self.begin(work, Stage::flush(), steps);
            }
            BatchPhase::Place | BatchPhase::Settle => {
                for part in batch.parts {
                    if let (Some(id), true) = (part.job, part.is_last) {
                        self.end_write(id, None, steps);
                    }
                }
            }
        }
    }

    /// What is in the journal now is answered; until it is in its place nobody reads it.
    fn batch_is_durable(&mut self, batch: &Batch, steps: &mut Steps) {
        for part in batch.parts.iter().filter(|part| part.is_last) {
            let id = part.job.expect("somebody wrote it");
            let writing = self.writing(id);
            if let Some(buffer) = writing.answer.take() {
                let (tag, result) = (writing.tag, Ok(()));
                steps.push(Step::Done(Completion {
                    tag,
                    result,
                    buffer,
                }));
            }
        }
    }

    /// Writes data and checksums.
    fn place(&mut self, batch: Batch, mut read: Vec<Piece>, steps: &mut Steps) {
        let places = self.known().places.clone().expect("it has a superblock");
        let mut stage = Stage::default();
        for part in &batch.parts {
            put_tags(&places, &mut read, part.first, &part.tags);
            let start = part.first * places.block;
            stage.write(DATA, start, (Durability::Volatile, part.bytes.share()));
        }
        for piece in read {
            stage.write(METADATA, piece.start, (Durability::Volatile, piece.bytes));
        }
        let phase = BatchPhase::Place;
        self.begin(Work::Batch(Batch { phase, ..batch }), stage, steps);
    }

    fn batch_failed(&mut self, batch: &Batch, error: Error, steps: &mut Steps) {
        if batch.is_replay {
            return self.opening_failed(error, steps);
        }
        self.fail(&error);
        for part in &batch.parts {
            let Some(id) = part.job else { continue };
            // One that is not all begun is among those that are ready.
            if part.is_last {
                let error = self.writer().broken();
                self.end_write(id, error, steps);
            }
        }
    }

    /// A write holds nothing any more.
    pub(super) fn end_write(&mut self, id: usize, error: Option<Error>, steps: &mut Steps) {
        let Job::Write(writing) = self.jobs.remove(id) else {
            unreachable!("it writes");
        };
        if let Some(buffer) = writing.answer {
            steps.push(Step::Done(Completion {
                tag: writing.tag,
                result: error.map_or(Ok(()), Err),
                buffer,
            }));
        }
        self.unlock(id, writing.range, steps);
    }
}
