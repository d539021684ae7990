//! A request is a value, and so is its answer.

use crate::{Buffer, Range, Result};

/// May space be given back where zeros are asked for?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unmap {
    /// The range may become a hole that reads as zeros.
    Allowed,
    /// The range stays allocated (NBD's `NO_HOLE`).
    Forbidden,
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Fill the buffer from the range.
    Read,
    /// Store the buffer in the range.
    Write,
    /// The range reads as zeros afterwards. A promise, unlike a discard.
    WriteZeroes(Unmap),
    /// The content is no longer needed. Advice: what it reads afterwards is not defined, unless
    /// [`crate::Info::discard_zeroes`] says so.
    Discard,
    /// Everything completed before is durable when this is answered.
    Flush,
}

impl Operation {
    /// Whether this changes what the device holds.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteZeroes(_) | Self::Discard)
    }
}

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// When the device has taken it; a later flush makes it durable.
    #[default]
    Volatile,
    /// When it is durable (force unit access).
    Fua,
}

/// One request. Its buffer is owned until the answer, which brings it back.
#[derive(Debug)]
pub struct Request {
    /// Chosen by who asks; the answer carries it. Need not be unique for the device.
    pub tag: u64,
    /// What to do.
    pub operation: Operation,
    /// Where, in bytes. Empty for a flush.
    pub range: Range,
    /// When a write, or writing zeros, counts as done.
    pub durability: Durability,
    /// As long as the range for reads and writes, else empty.
    pub buffer: Buffer,
}

impl Request {
    /// Reads `buffer.len()` bytes from byte `start`.
    pub fn read(tag: u64, start: u64, buffer: Buffer) -> Self {
        let range = Range::new(start, buffer.len() as u64);
        Self {
            tag,
            operation: Operation::Read,
            range,
            durability: Durability::Volatile,
            buffer,
        }
    }

    /// Writes the buffer at byte `start`.
    pub fn write(tag: u64, start: u64, durability: Durability, buffer: Buffer) -> Self {
        let range = Range::new(start, buffer.len() as u64);
        Self {
            tag,
            operation: Operation::Write,
            range,
            durability,
            buffer,
        }
    }

    /// Makes all that completed before durable.
    pub fn flush(tag: u64) -> Self {
        Self::bare(tag, Operation::Flush, Range::EMPTY)
    }

    /// A request without data: write zeroes, discard, flush.
    pub fn bare(tag: u64, operation: Operation, range: Range) -> Self {
        let has_buffer = matches!(operation, Operation::Read | Operation::Write);
        debug_assert!(!has_buffer, "a transfer comes with a buffer");
        let durability = Durability::Volatile;
        Self {
            tag,
            operation,
            range,
            durability,
            buffer: Buffer::empty(),
        }
    }

    /// The answer to this request.
    pub fn complete(self, result: Result<()>) -> Completion {
        Completion {
            tag: self.tag,
            result,
            buffer: self.buffer,
        }
    }
}

/// The answer to one request.
#[derive(Debug)]
pub struct Completion {
    /// The tag of the request.
    pub tag: u64,
    /// Whether it was done. After a failed write the range holds old, new or torn data.
    pub result: Result<()>,
    /// The request's buffer; filled if a read succeeded.
    pub buffer: Buffer,
}
