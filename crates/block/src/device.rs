//! The contract of a device: what it says about itself, and how it is asked.
//!
//! A device is shared between threads and holds no cursor and no request. A thread that wants to
//! use it opens a [`Queue`] on its [`Driver`]. The queue takes requests with [`Queue::submit`] and
//! gives answers with [`Queue::poll`], which never blocks; to sleep until an answer may be there,
//! the thread calls [`Driver::wait`].
//!
//! - Each request is answered exactly once, in any order. Answers may be there at once.
//! - A flush covers what was *completed* before it was submitted; nothing else is ordered.
//! - Requests outside the device, or not aligned to its logical block, are answered with
//!   [`crate::Kind::InvalidRequest`]. Queues may assert this themselves: `checked` wraps each.
//! - Dropping a queue with requests in flight waits for them; their answers are lost.

use crate::{Completion, Driver, Range, Request, Result};

/// What may be done with a device that is opened or handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read: writes are refused, and it is not written for reasons of its own either (no log,
    /// no copies).
    ReadOnly,
    /// It is read and written, unless it or what it is made of is read-only.
    ReadWrite,
}

/// What a device says about itself. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// What people know it by: a path, an address, a volume's name.
    pub name: String,
    /// The size; a multiple of the logical block.
    pub size: u64,
    /// Requests are multiples of this: a power of two, at least 1 (512 for disks).
    pub logical_block: u32,
    /// What the medium writes at once; a power of two, at least the logical block.
    pub physical_block: u32,
    /// The smallest I/O that costs no read-modify-write (a stripe chunk, for instance); 0: unknown.
    pub minimum_io: u32,
    /// The I/O size that the device likes best (a full stripe, for instance); 0: unknown.
    pub optimal_io: u32,
    /// Where the first physical block begins.
    pub alignment_offset: u32,
    /// Whether it has a head to move.
    pub rotational: bool,
    /// Discards are best multiples of this; 0: the device does not discard.
    pub discard_granularity: u32,
    /// Whether discarded ranges read as zeros.
    pub discard_zeroes: bool,
    /// Whether a write with FUA is one step for the device (else it is a write and a flush).
    pub fua: bool,
    /// Whether a flush reaches a stable medium. Memory is never durable.
    pub durable: bool,
    /// Whether writes are refused.
    pub read_only: bool,
}

impl Info {
    /// A writable device of `size` bytes with 512-byte blocks that promises nothing.
    pub fn new(name: impl Into<String>, size: u64) -> Self {
        Self {
            name: name.into(),
            size,
            logical_block: 512,
            physical_block: 512,
            minimum_io: 0,
            optimal_io: 0,
            alignment_offset: 0,
            rotational: false,
            discard_granularity: 0,
            discard_zeroes: false,
            fua: false,
            durable: false,
            read_only: false,
        }
    }
}

/// What a run of bytes is made of (NBD's `base:allocation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtentKind {
    /// Allocated; may hold anything.
    Data,
    /// Not allocated; reads as zeros.
    Hole,
    /// Allocated, and known to read as zeros.
    Zero,
}

/// A run of bytes of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Length in bytes, not 0.
    pub len: u64,
    /// What it is made of.
    pub kind: ExtentKind,
}

/// Something that holds blocks.
pub trait Device: Send + Sync {
    /// What the device says about itself now; the size may have grown since the last call.
    fn info(&self) -> Info;

    /// Opens a queue for the thread of `driver`.
    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>>;

    /// What the bytes of `range` are made of: extents that cover the range from its start, at
    /// most `count_max` of them (so possibly less than the whole range), never none. May block
    /// for as long as the kernel needs to look it up. Adjacent extents differ in kind.
    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        let _ = count_max;
        Ok(vec![Extent {
            len: range.len(),
            kind: ExtentKind::Data,
        }])
    }
}

/// One thread's way to ask a device.
pub trait Queue {
    /// Takes a request. It may be done before this returns, or wait until the next
    /// [`Queue::poll`] to be given to the kernel together with others.
    fn submit(&mut self, request: Request);

    /// Gives what was submitted to the kernel and appends the answers that are there. Never
    /// blocks on the device.
    fn poll(&mut self, done: &mut Vec<Completion>);

    /// The number of requests submitted whose answer has not been handed out.
    fn in_flight(&self) -> usize;
}
