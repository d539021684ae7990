//! What an origin is in the middle of: requests, copies, and who waits for what.

use std::collections::BTreeMap;

use block::{Buffer, Error, Range, Request};

use super::store::EntryRun;

/// Who asked a leg for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sub {
    /// A request, for this part of its present piece.
    Part { request: usize, part: usize },
    /// A copy, for the origin's bytes.
    CopyRead(usize),
    /// A copy, for a part of what this one of its targets keeps.
    CopyWrite { copy: usize, target: usize },
    /// The round of this snapshot's store.
    Round(usize),
    /// The merge.
    Merge,
}

/// Who goes on when something has become durable, or has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiter {
    Request(usize),
    Merge,
}

/// Which device is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Port {
    Origin,
    /// By its place among the snapshots.
    Snapshot(usize),
}

/// A request that is being served, piece by piece.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) port: Port,
    /// Its buffer is in the next three.
    pub(super) request: Request,
    /// What was not yet given to a leg.
    pub(super) rest: Buffer,
    /// What came back, joined.
    pub(super) back: Buffer,
    /// What was given to legs, in order; empty while it is there.
    pub(super) parts: Vec<Buffer>,
    /// The bytes that are served now; empty, at the place where the next ones begin: none.
    pub(super) piece: Range,
    /// What the piece waits for before it is asked of the legs.
    pub(super) blocked: usize,
    /// Bytes of the piece that became exceptions by being written: they are where they belong.
    pub(super) filled: Vec<Range>,
    /// Parts that are with legs.
    pub(super) out: usize,
    /// A leg kept a part of the buffer.
    pub(super) is_torn: bool,
    pub(super) error: Option<Error>,
}

impl Serving {
    pub(super) fn new(port: Port, mut request: Request) -> Self {
        Self {
            port,
            rest: std::mem::take(&mut request.buffer),
            back: Buffer::empty(),
            parts: Vec::new(),
            piece: Range::new(request.range.start(), 0),
            blocked: 0,
            filled: Vec::new(),
            out: 0,
            is_torn: false,
            error: None,
            request,
        }
    }

    /// What was not yet begun, with the present piece.
    pub(super) fn ahead(&self) -> Range {
        let (start, end) = (self.piece.start(), self.request.range.end());
        Range::new(start, end - start)
    }

    /// The buffer for the next `len` bytes; empty where requests carry none.
    pub(super) fn take(&mut self, len: u64) -> Buffer {
        if self.rest.is_empty() {
            return Buffer::empty();
        }
        let mut front = std::mem::take(&mut self.rest);
        self.rest = front.split_off(len as usize);
        front
    }

    /// Joins what came back of the piece.
    pub(super) fn join(&mut self) {
        assert_eq!(self.out, 0, "all parts came back");
        for part in self.parts.drain(..) {
            if !self.is_torn {
                self.back.unsplit(part);
            }
        }
    }

    /// Ends it.
    pub(super) fn end(mut self) -> (Request, block::Result<()>) {
        assert!(self.blocked == 0 && self.out == 0, "it waits for nothing");
        self.join();
        if !self.is_torn {
            self.back.unsplit(self.rest);
            self.request.buffer = self.back;
        }
        (self.request, self.error.map_or(Ok(()), Err))
    }
}

/// Bytes of the origin that are being copied to stores.
#[derive(Debug)]
pub(super) struct Copy {
    /// What was or is read, for all targets at once.
    pub(super) range: Range,
    pub(super) targets: Vec<Target>,
    /// Writes that are with legs, or the read, also before it is.
    pub(super) out: usize,
    /// Bytes of memory that it takes at most.
    pub(super) weight: u64,
}

/// Chunks that one snapshot keeps of a copy.
#[derive(Debug)]
pub(super) struct Target {
    /// The snapshot's place.
    pub(super) member: usize,
    pub(super) old: u64,
    pub(super) count: u64,
    /// Where they go.
    pub(super) runs: Vec<EntryRun>,
    pub(super) out: usize,
    pub(super) error: Option<Error>,
}

/// Ranges that somebody reads or writes, and who waits until some of them are not any more.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    /// By the tag of the request to the leg.
    ranges: BTreeMap<usize, Range>,
    waiters: Vec<Waiter>,
}

impl Tracked {
    pub(super) fn begin(&mut self, tag: usize, range: Range) {
        assert!(!range.is_empty());
        let before = self.ranges.insert(tag, range);
        assert!(before.is_none(), "a tag is used once at a time");
    }

    /// Ends what was tracked with this tag, if it was; who waits for that has to look again.
    pub(super) fn end(&mut self, tag: usize) -> Vec<Waiter> {
        if self.ranges.remove(&tag).is_none() {
            return Vec::new();
        }
        std::mem::take(&mut self.waiters)
    }

    pub(super) fn overlaps(&self, range: Range) -> bool {
        let mut ranges = self.ranges.values();
        ranges.any(|tracked| tracked.intersection(range).is_some())
    }

    pub(super) fn wait(&mut self, waiter: Waiter) {
        assert!(!self.ranges.is_empty(), "there is something to wait for");
        self.waiters.push(waiter);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.waiters.is_empty()
    }
}
