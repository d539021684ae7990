//! Owned memory for requests: aligned, pooled, and divisible without copying.
//!
//! A [`Buffer`] is the only owner of a run of bytes inside a *block* of memory. It can be cut in
//! two ([`Buffer::split_off`]) when a request is divided among devices, and joined again
//! ([`Buffer::unsplit`]) when the parts come back. A block goes back to its [`BufferPool`] when
//! its last buffer is dropped, on whatever thread that is, so a steady state allocates nothing.
//!
//! Blocks are aligned to 4096 bytes, as direct I/O wants. They are zeroed when allocated, not when
//! reused: a read fills its whole buffer or fails, and a failed read's buffer is not handed on.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks begin on multiples of this, in bytes.
pub const BLOCK_ALIGN: usize = 4096;
/// The smallest block, as a power of two: 4 KiB.
const CLASS_MIN: u32 = 12;
/// The largest pooled block, as a power of two: 64 MiB, which the largest NBD request of 32 MiB
/// needs where it is not aligned.
const CLASS_MAX: u32 = 26;
const CLASSES: usize = (CLASS_MAX - CLASS_MIN + 1) as usize;

/// The head of a block; the memory follows in an allocation of its own.
struct Block {
    owners: AtomicUsize,
    memory: NonNull<u8>,
    capacity: usize,
    pool: Option<Arc<Shared>>,
}

/// A run of bytes that nobody else reads or writes.
pub struct Buffer {
    block: Option<NonNull<Block>>,
    start: usize,
    len: usize,
}

// SAFETY: a buffer is the only owner of its bytes; the block's head is only touched through its
// atomic counter, and by the last owner.
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
        }
    }

    /// A copy of `bytes` that belongs to no pool.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.copy_from_slice(bytes);
        buffer
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
        let Some(block) = self.block else {
            return Self::empty();
        };
        if at == 0 {
            return std::mem::take(self);
        }
        // SAFETY: this buffer keeps the block alive.
        unsafe { block.as_ref() }
            .owners
            .fetch_add(1, Ordering::Relaxed);
        let rest = Self {
            block: Some(block),
            start: self.start + at,
            len: self.len - at,
        };
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
        assert!(adjacent, "only parts of one buffer are joined");
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
            // no other buffer covers these bytes.
            Some(block) => unsafe {
                std::slice::from_raw_parts(block.as_ref().memory.as_ptr().add(self.start), self.len)
            },
            None => &[],
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self.block {
            // SAFETY: as in `deref`; `&mut self` makes the access exclusive.
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
        if unsafe { block.as_ref() }
            .owners
            .fetch_sub(1, Ordering::Release)
            == 1
        {
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

/// Blocks that wait to be used again. Clones share them.
#[derive(Clone)]
pub struct BufferPool {
    shared: Arc<Shared>,
}

struct Shared {
    idle_max_bytes: usize,
    idle: Mutex<Idle>,
}

struct Idle {
    bytes: usize,
    /// Bytes of blocks that have owners.
    used: usize,
    /// What all blocks together should not exceed: idle ones go where they would.
    whole_max: usize,
    classes: [Vec<NonNull<Block>>; CLASSES],
}

// SAFETY: idle blocks have no owner; whoever holds the lock may touch them.
unsafe impl Send for Idle {}

impl BufferPool {
    /// A pool that keeps at most `idle_max_bytes` of memory that nobody uses.
    pub fn new(idle_max_bytes: usize) -> Self {
        let idle = Idle {
            bytes: 0,
            used: 0,
            whole_max: usize::MAX,
            classes: std::array::from_fn(|_| Vec::new()),
        };
        Self {
            shared: Arc::new(Shared {
                idle_max_bytes,
                idle: Mutex::new(idle),
            }),
        }
    }

    /// From now on keeps idle memory only as far as it makes no more than `whole_max` bytes with
    /// that which is in use.
    pub fn limit(&self, whole_max: usize) {
        let mut idle = self.shared.idle();
        idle.whole_max = whole_max;
        idle.make_room(0);
    }

    /// How many bytes of memory a buffer of `len` bytes takes.
    pub fn footprint(len: usize) -> usize {
        match len {
            0 => 0,
            _ => class_of(len).map_or(len, capacity_of),
        }
    }

    /// A buffer of `len` bytes. What they hold is left over from an earlier use, or zeros.
    pub fn get(&self, len: usize) -> Buffer {
        if len == 0 {
            return Buffer::empty();
        }
        let Some(class) = class_of(len) else {
            return Buffer::zeroed(len);
        };
        debug_assert!(
            capacity_of(class) >= len,
            "a class is as large as what it holds"
        );
        let reused = self.shared.take(class);
        let block = if let Some(mut block) = reused {
            // SAFETY: an idle block has no other reference.
            let head = unsafe { block.as_mut() };
            debug_assert_eq!(
                head.owners.load(Ordering::Relaxed),
                0,
                "nobody has idle memory"
            );
            debug_assert_eq!(head.capacity, capacity_of(class), "it lies in its class");
            debug_assert!(head.pool.is_none(), "idle memory does not hold its pool");
            head.owners.store(1, Ordering::Relaxed);
            head.pool = Some(Arc::clone(&self.shared));
            block
        } else {
            Block::allocate(capacity_of(class), Some(Arc::clone(&self.shared)))
        };
        Buffer {
            block: Some(block),
            start: 0,
            len,
        }
    }
}

/// The class of the smallest pooled block that holds `len` bytes.
fn class_of(len: usize) -> Option<usize> {
    let power = len.next_power_of_two().trailing_zeros().max(CLASS_MIN);
    (power <= CLASS_MAX).then_some((power - CLASS_MIN) as usize)
}

/// The size of the blocks of a class, in bytes.
fn capacity_of(class: usize) -> usize {
    1 << (class as u32 + CLASS_MIN)
}

impl Idle {
    /// The invariant: what is idle is counted, class by class.
    fn check(&self) {
        let bytes = |(class, blocks): (usize, &Vec<_>)| capacity_of(class) * blocks.len();
        let idle = self.classes.iter().enumerate().map(bytes);
        debug_assert_eq!(self.bytes, idle.sum::<usize>(), "idle memory is counted");
    }

    /// Frees idle blocks, the largest first, until one of `capacity` bytes fits in beside the rest,
    /// or none is left.
    fn make_room(&mut self, capacity: usize) {
        for class in (0..CLASSES).rev() {
            while self.bytes + self.used + capacity > self.whole_max
                && let Some(block) = self.classes[class].pop()
            {
                debug_assert!(self.bytes >= capacity_of(class), "idle memory is counted");
                self.bytes -= capacity_of(class);
                Block::free(block);
            }
        }
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a block of this class as used; gives an idle one if there is any.
    fn take(&self, class: usize) -> Option<NonNull<Block>> {
        let mut idle = self.idle();
        let block = idle.classes[class].pop();
        match block {
            Some(_) => idle.bytes -= capacity_of(class),
            None => idle.make_room(capacity_of(class)),
        }
        idle.used += capacity_of(class);
        idle.check();
        block
    }

    /// Whether the block was kept.
    fn keep(&self, block: NonNull<Block>) -> bool {
        // SAFETY: the caller holds the only reference to a live block.
        let capacity = unsafe { block.as_ref() }.capacity;
        let class = class_of(capacity).expect("a block of a pool has its class");
        let mut idle = self.idle();
        debug_assert_eq!(capacity, capacity_of(class), "it fills its class");
        debug_assert!(idle.used >= capacity, "memory in use is counted");
        idle.used -= capacity;
        let is_too_much = idle.bytes + capacity > self.idle_max_bytes
            || idle.bytes + idle.used + capacity > idle.whole_max;
        if is_too_much {
            return false;
        }
        idle.bytes += capacity;
        idle.classes[class].push(block);
        debug_assert!(
            idle.bytes <= self.idle_max_bytes,
            "no more is kept than is allowed"
        );
        idle.check();
        true
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        for block in idle.classes.iter_mut().flat_map(std::mem::take) {
            Block::free(block);
        }
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "BufferPool(idle at most {} bytes)",
            self.shared.idle_max_bytes
        )
    }
}

#[cfg(test)]
mod tests;
