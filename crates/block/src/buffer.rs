//! Owned memory for requests: aligned, pooled, and divisible without copying.
//!
//! A [`Buffer`] is the owner of a run of bytes inside a *block* of memory. It can be cut in
//! two ([`Buffer::split_off`]) when a request is divided among devices, and joined again
//! ([`Buffer::unsplit`]) when the parts come back. What is written to several devices is lent
//! ([`Buffer::share`]): all of them read the same bytes. Whoever writes to bytes of a block of
//! which anything is lent gets a copy of his own first, so nobody sees what another one writes.
//! A block goes back to its [`BufferPool`] when its last buffer is dropped, on whatever thread
//! that is, so a steady state allocates nothing.
//!
//! Blocks are aligned to 4096 bytes, as direct I/O wants. They are zeroed when allocated, not when
//! reused: a read fills its whole buffer or fails, and a failed read's buffer is not handed on.

mod pool;

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use pool::Shared;

pub use pool::BufferPool;

/// Blocks begin on multiples of this, in bytes.
pub const BLOCK_ALIGN: usize = 4096;

/// The head of a block; the memory follows in an allocation of its own.
struct Block {
    owners: AtomicUsize,
    /// How many of these are shares.
    shares: AtomicUsize,
    memory: NonNull<u8>,
    capacity: usize,
    pool: Option<Arc<Shared>>,
}

/// A run of bytes that nobody else writes, and nobody else reads unless it is lent to him.
pub struct Buffer {
    block: Option<NonNull<Block>>,
    start: usize,
    len: usize,
    holding: Holding,
}

/// How a buffer has its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holding {
    /// They are its own.
    Owned,
    /// They are lent by another one, or were.
    Shared,
}

// SAFETY: bytes that one buffer owns may be read through shares of it, and are written only while
// there are none; the block's head is only touched through its atomic counters, and by the last
// owner.
unsafe impl Send for Buffer {}
// SAFETY: a shared buffer only lends its bytes for reading.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// No bytes, no memory.
    pub const fn empty() -> Self {
        Self {
            block: None,
            start: 0,
            len: 0,
            holding: Holding::Owned,
        }
    }

    /// `len` zero bytes that belong to no pool.
    pub fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self::empty();
        }
        Self {
            block: Some(Block::allocate(len, None)),
            start: 0,
            len,
            holding: Holding::Owned,
        }
    }

    /// A copy of `bytes` that belongs to no pool.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// The same bytes once more, to be read. They stay what they are as long as this one lives: a
    /// buffer that is written to meanwhile, be it this one, becomes a copy first. Copies and
    /// allocates nothing.
    #[must_use]
    pub fn share(&self) -> Self {
        self.part(self.start, self.len, Holding::Shared)
    }

    /// Another buffer of the same block.
    fn part(&self, start: usize, len: usize, holding: Holding) -> Self {
        let Some(block) = self.block else {
            return Self::empty();
        };
        // SAFETY: this buffer keeps the block alive.
        let head = unsafe { block.as_ref() };
        head.owners.fetch_add(1, Ordering::Relaxed);
        if holding == Holding::Shared {
            // Who could write these bytes meanwhile would need this buffer for that.
            head.shares.fetch_add(1, Ordering::Relaxed);
        }
        Self {
            block: Some(block),
            start,
            len,
            holding,
        }
    }

    /// Keeps the first `at` bytes and returns the rest. Copies and allocates nothing.
    pub fn split_off(&mut self, at: usize) -> Self {
        assert!(
            at <= self.len,
            "a buffer of {} bytes cannot be cut at {at}",
            self.len
        );
        if at == self.len {
            return Self::empty();
        }
        if at == 0 {
            return std::mem::take(self);
        }
        let rest = self.part(self.start + at, self.len - at, self.holding);
        debug_assert_eq!(
            rest.start + rest.len,
            self.start + self.len,
            "nothing is lost"
        );
        self.len = at;
        if cfg!(debug_assertions) {
            self.check();
            rest.check();
        }
        rest
    }

    /// Joins what [`Buffer::split_off`] cut: `rest` must begin where this buffer ends.
    pub fn unsplit(&mut self, rest: Self) {
        if rest.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = rest;
            return;
        }
        let adjacent = self.block == rest.block && self.start + self.len == rest.start;
        // Else the same bytes could be owned twice.
        let alike = self.holding == rest.holding;
        assert!(adjacent && alike, "only parts of one buffer are joined");
        self.len += rest.len;
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    /// The invariant: a buffer is a part of memory that it owns with others.
    fn check(&self) {
        let Some(block) = self.block else {
            assert_eq!(self.len, 0, "without memory there are no bytes");
            return;
        };
        // SAFETY: a buffer is an owner, so the block lives.
        let block = unsafe { block.as_ref() };
        assert!(
            self.start + self.len <= block.capacity,
            "it lies in its memory"
        );
        assert!(
            block.owners.load(Ordering::Relaxed) > 0,
            "memory in use has owners"
        );
        let is_share = self.holding == Holding::Shared;
        assert!(
            !is_share || block.shares.load(Ordering::Relaxed) > 0,
            "shares are counted"
        );
    }

    /// Forgets the bytes behind the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// How many bytes of memory it keeps from others, those of its other parts included.
    pub fn footprint(&self) -> usize {
        // SAFETY: this buffer keeps the block alive.
        self.block
            .map_or(0, |block| unsafe { block.as_ref() }.capacity)
    }

    /// The address of the first byte, for the kernel.
    pub fn as_ptr(&self) -> *const u8 {
        self.deref().as_ptr()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self.block {
            // SAFETY: start + len lies within the block, which lives as long as this buffer, and
            // nobody writes these bytes: another buffer that covers them is a share of this one,
            // or this is one of it, or both are of a third, and `deref_mut` leaves a block of which
            // there are shares.
            Some(block) => unsafe {
                std::slice::from_raw_parts(block.as_ref().memory.as_ptr().add(self.start), self.len)
            },
            None => &[],
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: this buffer keeps the block alive.
        let shares =
            |block: NonNull<Block>| unsafe { block.as_ref() }.shares.load(Ordering::Acquire);
        if self.block.is_some_and(|block| shares(block) > 0) {
            *self = Self::copy_of(self);
        }
        match self.block {
            // SAFETY: as in `deref`. There are no shares, and whoever was one has read what he
            // wanted before that was seen; so no other buffer covers these bytes, and `&mut self`
            // keeps this one from being lent.
            Some(block) => unsafe {
                let memory = block.as_ref().memory.as_ptr().add(self.start);
                std::slice::from_raw_parts_mut(memory, self.len)
            },
            None => &mut [],
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(block) = self.block.take() else {
            return;
        };
        // SAFETY: this buffer keeps the block alive until the counter is decremented.
        let head = unsafe { block.as_ref() };
        if self.holding == Holding::Shared {
            head.shares.fetch_sub(1, Ordering::Release);
        }
        if head.owners.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            Block::retire(block);
        }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

impl Block {
    fn allocate(capacity: usize, pool: Option<Arc<Shared>>) -> NonNull<Self> {
        assert!(capacity > 0, "memory of no bytes is not asked for");
        let layout = Self::layout(capacity);
        // SAFETY: the layout's size is not zero: callers ask for at least one byte.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else {
            handle_alloc_error(layout)
        };
        let block = Self {
            owners: AtomicUsize::new(1),
            shares: AtomicUsize::new(0),
            memory,
            capacity,
            pool,
        };
        NonNull::from(Box::leak(Box::new(block)))
    }

    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, BLOCK_ALIGN).expect("a buffer's size fits a layout")
    }

    /// Gives a block without owners back to its pool, or to the allocator.
    fn retire(mut block: NonNull<Self>) {
        // SAFETY: the last owner is gone, so this is the only reference.
        let pool = unsafe { block.as_mut() }.pool.take();
        if let Some(pool) = pool.as_ref().filter(|pool| Arc::strong_count(pool) > 1)
            && pool.keep(block)
        {
            return;
        }
        Self::free(block);
    }

    fn free(block: NonNull<Self>) {
        // SAFETY: the block was leaked from a box by `allocate` and has no other reference.
        let block = unsafe { Box::from_raw(block.as_ptr()) };
        // SAFETY: the memory was allocated with this layout and belongs to the block.
        unsafe { dealloc(block.memory.as_ptr(), Self::layout(block.capacity)) };
    }
}

#[cfg(test)]
mod tests;
