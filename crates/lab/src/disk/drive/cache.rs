//! What the segments of the buffer hold.
//!
//! A segment is a window of consecutive blocks. A read fills one and its read-ahead goes on into
//! it; when it is full, its oldest blocks make room. A new read or write takes an empty segment,
//! else the one that was used least recently. Written blocks stay readable until the segment is
//! needed, and empty every other segment that held older content of them.
//!
//! Only windows are kept here: which one the head is filling, and how far, the drive knows.

use crate::disk::profile::{Cache, Habit};

/// One segment: blocks `start`..`end`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    written: bool,
    /// Larger is more recent.
    used: u64,
}

/// All segments.
#[derive(Debug, Clone)]
pub(super) struct Segments {
    list: Vec<Segment>,
    blocks: u64,
    /// Segment 0 takes all writes and nothing else.
    separate: Habit,
    hits_on_written: Habit,
    clock: u64,
}

impl Segments {
    pub(super) fn new(cache: &Cache) -> Self {
        Self {
            list: vec![Segment::default(); cache.segments],
            blocks: u64::from(cache.segment_blocks),
            separate: cache.separate_write_segment,
            hits_on_written: cache.read_hits_on_written,
            clock: 0,
        }
    }

    pub(super) fn get(&self, index: usize) -> &Segment {
        &self.list[index]
    }

    /// Blocks of a segment.
    pub(super) fn size(&self) -> u64 {
        self.blocks
    }

    fn readable(&self, index: usize) -> bool {
        let segment = &self.list[index];
        segment.end > segment.start
            && (!segment.written || self.hits_on_written.is_yes())
            && !(index == 0 && self.separate.is_yes())
    }

    /// The segment that holds `block`; of several, one that holds all up to `end`.
    pub(super) fn find(&self, block: u64, end: u64) -> Option<usize> {
        let mut found: Option<usize> = None;
        for index in 0..self.list.len() {
            let segment = &self.list[index];
            if segment.start <= block && block < segment.end && self.readable(index) {
                if segment.end >= end {
                    return Some(index);
                }
                if found.is_none_or(|other| self.list[other].end < segment.end) {
                    found = Some(index);
                }
            }
        }
        found
    }

    /// The segment that a read takes, emptied to begin at `block`.
    pub(super) fn take_for_read(&mut self, block: u64) -> Option<usize> {
        let first = usize::from(self.separate.is_yes());
        let index = self.victim(first..self.list.len())?;
        self.set(index, block, block, false);
        Some(index)
    }

    /// The segment that a write of `start`..`end` takes; other content of these blocks is gone.
    pub(super) fn take_for_write(&mut self, start: u64, end: u64) -> Option<usize> {
        let index = if self.separate.is_yes() {
            Some(0)
        } else {
            let overlap = (0..self.list.len()).find(|&index| self.overlaps(index, start, end));
            overlap.or_else(|| self.victim(0..self.list.len()))
        };
        self.forget(start, end);
        if let Some(index) = index {
            self.set(index, start, end, true);
            self.slide(index);
        }
        index
    }

    /// Empties all segments that hold any of `start`..`end`.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        for index in 0..self.list.len() {
            if self.overlaps(index, start, end) {
                self.list[index].end = self.list[index].start;
            }
        }
    }

    /// Whether a segment holds any of `start`..`end`.
    pub(super) fn overlaps(&self, index: usize, start: u64, end: u64) -> bool {
        let segment = &self.list[index];
        segment.start < end && start < segment.end
    }

    fn victim(&self, range: std::ops::Range<usize>) -> Option<usize> {
        range.min_by_key(|&index| {
            let segment = &self.list[index];
            (segment.end > segment.start, segment.used)
        })
    }

    fn set(&mut self, index: usize, start: u64, end: u64, written: bool) {
        self.clock += 1;
        self.list[index] = Segment {
            start,
            end,
            written,
            used: self.clock,
        };
    }

    /// Marks a segment as just used.
    pub(super) fn touch(&mut self, index: usize) {
        self.clock += 1;
        self.list[index].used = self.clock;
    }

    /// Notes that the window now reaches to `end`, and drops what no longer fits.
    pub(super) fn grow(&mut self, index: usize, end: u64) {
        self.list[index].end = self.list[index].end.max(end);
        self.slide(index);
    }

    /// Notes that the window begins at `start` already.
    pub(super) fn open_at(&mut self, index: usize, start: u64) {
        self.list[index].start = start;
        self.list[index].end = self.list[index].end.max(start);
    }

    /// Drops what lies before `end`, which the host was given.
    pub(super) fn discard(&mut self, index: usize, end: u64) {
        let segment = &mut self.list[index];
        segment.start = segment.start.max(end);
        segment.end = segment.end.max(segment.start);
    }

    fn slide(&mut self, index: usize) {
        let segment = &mut self.list[index];
        segment.start = segment.start.max(segment.end.saturating_sub(self.blocks));
    }

    pub(super) fn check(&self) {
        for segment in &self.list {
            assert!(segment.start <= segment.end, "a window has two ends");
            assert!(
                segment.end - segment.start <= self.blocks,
                "a window fits its segment"
            );
        }
    }
}
