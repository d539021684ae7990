//! Reads: data and checksums are asked for at once, and compared when both are there. Nobody
//! writes the same blocks meanwhile.
//!
//! ```text
//!   request ─▸ data ────────▸┐
//!          ╲─▸ checksums ────┴▸ each block: in the journal ─▸ taken from there
//!                                            no checksum yet ─▸ as it is
//!                                            compared ─▸ the same ─▸ answer
//!                                                     ╲▸ not ─▸ error: others have it, perhaps
//! ```

use block::{Buffer, Completion, Error, Kind, Range, Request};

use super::config::{DATA, Discards, METADATA};
use super::device::{Ask, Integrity, Job, Steps};
use super::journal;
use super::sums::{TAG, tag};
use crate::machine::Step;

/// What the checksum of a block is filled with that was discarded.
const FILLER: u8 = 0xf6;

/// A request that is being read.
#[derive(Debug)]
pub(super) struct Reading {
    tag: u64,
    range: Range,
    data: Buffer,
    /// The checksums, with what was read in front of them.
    tags: Buffer,
    tags_before: usize,
    out: u8,
    error: Option<Error>,
}

impl Reading {
    pub(super) fn new(request: Request) -> Self {
        Self {
            tag: request.tag,
            range: request.range,
            data: request.buffer,
            tags: Buffer::empty(),
            tags_before: 0,
            out: 0,
            error: None,
        }
    }
}

impl Integrity {
    /// Reads what nobody writes meanwhile.
    pub(super) fn begin_read(&mut self, id: usize, steps: &mut Steps) {
        let range = self.reading(id).range;
        let places = self.known().places.as_ref();
        // Without places there are no checksums, and nothing in a journal.
        let tags = places.map(|places| {
            let (first, count) = places.blocks_of(range);
            places.tags_of(first, count)
        });
        let reading = self.reading(id);
        reading.out = 1 + u8::from(tags.is_some());
        let buffer = std::mem::take(&mut reading.data);
        self.ask(
            Ask::Read(id),
            DATA,
            Request::read(0, range.start(), buffer),
            steps,
        );
        if let Some(tags) = tags {
            let whole = self.whole(tags);
            self.reading(id).tags_before = (tags.start() - whole.start()) as usize;
            let buffer = self.pool.get(whole.len() as usize);
            let request = Request::read(0, whole.start(), buffer);
            self.ask(Ask::Read(id), METADATA, request, steps);
        }
    }

    fn reading(&mut self, id: usize) -> &mut Reading {
        match self.jobs.get_mut(id) {
            Job::Read(reading) => reading,
            other => unreachable!("{other:?} reads nothing"),
        }
    }

    pub(super) fn read_answered(
        &mut self,
        id: usize,
        leg: usize,
        answer: Completion,
        steps: &mut Steps,
    ) {
        let reading = self.reading(id);
        match leg {
            DATA => reading.data = answer.buffer,
            _ => reading.tags = answer.buffer,
        }
        if let Err(error) = answer.result {
            reading.error.get_or_insert(error);
        }
        reading.out = reading.out.checked_sub(1).expect("it was asked");
        if reading.out > 0 {
            return;
        }
        let Job::Read(mut reading) = self.jobs.remove(id) else {
            unreachable!("it reads");
        };
        if reading.error.is_none() {
            reading.error = self.compare(&mut reading);
        }
        let range = reading.range;
        steps.push(Step::Done(Completion {
            tag: reading.tag,
            result: reading.error.map_or(Ok(()), Err),
            buffer: reading.data,
        }));
        self.unlock(id, range, steps);
    }

    /// Puts in what the journal has, and compares the rest; what is wrong.
    fn compare(&mut self, reading: &mut Reading) -> Option<Error> {
        let known = self.known();
        let places = known.places.as_ref()?;
        let (first, count) = places.blocks_of(reading.range);
        assert_eq!(
            reading.data.len() as u64,
            count * places.block,
            "all came back"
        );
        let (tags, _) = reading.tags[reading.tags_before..].as_chunks::<TAG>();
        assert!(tags.len() as u64 >= count, "each block has one");
        let blocks = reading.data.chunks_mut(places.block as usize).zip(tags);
        let mut wrong: Option<(u64, u64)> = None;
        for (number, (data, stored)) in (first..).zip(blocks) {
            let slot = known
                .found
                .as_ref()
                .and_then(|found| found.blocks.get(&number));
            if let Some(slot) = slot {
                journal::content(places, &known.journal, *slot, data);
            } else if known.trust.has(places, number)
                && *stored != tag(places.sector_of(number), data)
                && !self.is_discarded(*stored)
            {
                let (_, count) = wrong.get_or_insert((number, 0));
                *count += 1;
            }
        }
        let (number, count) = wrong?;
        let what = format!(
            "{}: {count} of {} blocks are not what their checksums say, the first at byte {}",
            self.config.name,
            reading.range.len() / places.block,
            number * places.block
        );
        self.mismatches += count;
        Some(Error::new(Kind::Io, what))
    }

    fn is_discarded(&self, stored: [u8; TAG]) -> bool {
        self.config.discards == Discards::Allowed && stored == [FILLER; TAG]
    }

    /// What is read or written of the metadata where these bytes are needed.
    pub(super) fn whole(&self, range: Range) -> Range {
        let block = u64::from(self.legs[METADATA].logical_block);
        let start = range.start() / block * block;
        let end = range.end().next_multiple_of(block);
        let end = end.min(self.legs[METADATA].size);
        Range::new(start, end - start)
    }
}
