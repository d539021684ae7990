//! Whole requests while their parts are at the devices.
//!
//! A slab: what was used once is used again with the vectors it grew, so that a steady state
//! allocates nothing. A part's tag names its request and its place in it.
//!
//! Most requests go to one device as a whole. Of these only the tag and the operation are kept, in
//! a slab of their own, so that mapping them costs little.

use block::{Buffer, Completion, Error, Operation};

/// How many parts' memory an idle entry keeps.
const PARTS_KEPT: usize = 256;

/// Requests by the number that their parts' tags carry.
#[derive(Default)]
pub(super) struct Gather {
    entries: Vec<Whole>,
    idle: Vec<u32>,
    singles: Vec<Option<Single>>,
    idle_singles: Vec<u32>,
}

/// In a part's tag: it is a request as a whole, with this number among `singles`.
const SINGLE: u64 = 1 << 63;

/// A request that is at one device as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Single {
    /// The request's own tag.
    pub(super) tag: u64,
    /// What it does.
    pub(super) operation: Operation,
}

/// A request whose parts are out.
#[derive(Default)]
struct Whole {
    tag: u64,
    operation: Option<Operation>,
    /// Parts that have not been answered.
    open: u32,
    error: Option<Error>,
    parts: Vec<Part>,
}

/// One part of a request.
#[derive(Default)]
struct Part {
    buffer: Buffer,
    /// For a flush: what it covers on its leg.
    covers: u64,
}

/// A part's answer in the terms of its request.
pub(super) struct Answered {
    /// The number of the request.
    pub(super) whole: u32,
    /// What it does.
    pub(super) operation: Operation,
    /// For a flush: what it covers on its leg.
    pub(super) covers: u64,
}

impl Gather {
    /// Begins a request that goes to one device as a whole; the tag it goes with.
    #[inline]
    pub(super) fn single(&mut self, tag: u64, operation: Operation) -> u64 {
        let single = Some(Single { tag, operation });
        let number = if let Some(number) = self.idle_singles.pop() {
            self.singles[number as usize] = single;
            number
        } else {
            self.singles.push(single);
            self.idle_singles.reserve(self.singles.len());
            self.singles.len() as u32 - 1
        };
        SINGLE | u64::from(number)
    }

    /// The request behind a tag of [`Gather::single`], which is over; `None`: it is a part's tag.
    #[inline]
    pub(super) fn take_single(&mut self, tag: u64) -> Option<Single> {
        if tag & SINGLE == 0 {
            return None;
        }
        let number = tag as u32;
        let single = self.singles[number as usize].take();
        self.idle_singles.push(number);
        Some(single.expect("a request is answered once"))
    }

    /// Begins a request; its number.
    pub(super) fn begin(&mut self, tag: u64, operation: Operation) -> u32 {
        let number = self.idle.pop().unwrap_or_else(|| {
            self.entries.push(Whole::default());
            self.entries.len() as u32 - 1
        });
        let whole = &mut self.entries[number as usize];
        assert!(
            whole.operation.is_none() && whole.parts.is_empty() && whole.open == 0,
            "an idle entry is empty"
        );
        whole.tag = tag;
        whole.operation = Some(operation);
        number
    }

    /// Adds a part that goes to a device; the tag it goes with. `covers`: see [`Answered`].
    pub(super) fn part(&mut self, number: u32, covers: u64) -> u64 {
        let whole = &mut self.entries[number as usize];
        let place = whole.parts.len() as u64;
        whole.open += 1;
        whole.parts.push(Part {
            buffer: Buffer::empty(),
            covers,
        });
        u64::from(number) << 32 | place
    }

    /// Adds a part that needs no device.
    pub(super) fn done(&mut self, number: u32, buffer: Buffer) {
        let whole = &mut self.entries[number as usize];
        whole.parts.push(Part { buffer, covers: 0 });
    }

    /// The request fails, unless it did already.
    pub(super) fn fail(&mut self, number: u32, error: impl FnOnce() -> Error) {
        let whole = &mut self.entries[number as usize];
        if whole.error.is_none() {
            whole.error = Some(error());
        }
    }

    /// A device answered the part with this tag.
    pub(super) fn answer(&mut self, tag: u64, buffer: Buffer) -> Answered {
        let (number, place) = ((tag >> 32) as u32, tag as u32);
        let whole = &mut self.entries[number as usize];
        let operation = whole.operation.expect("only requests in flight have parts");
        assert!(whole.open > 0, "a part was answered twice");
        whole.open -= 1;
        let part = &mut whole.parts[place as usize];
        part.buffer = buffer;
        Answered {
            whole: number,
            operation,
            covers: part.covers,
        }
    }

    /// The whole answer, if no part is out any more; its number is free then.
    pub(super) fn finish(&mut self, number: u32) -> Option<Completion> {
        let whole = &mut self.entries[number as usize];
        if whole.open > 0 {
            return None;
        }
        let mut buffer = Buffer::empty();
        for part in whole.parts.drain(..) {
            buffer.unsplit(part.buffer);
        }
        whole.parts.shrink_to(PARTS_KEPT);
        whole.operation = None;
        self.idle.push(number);
        let result = whole.error.take().map_or(Ok(()), Err);
        Some(Completion {
            tag: whole.tag,
            result,
            buffer,
        })
    }
}
