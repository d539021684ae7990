//! Blocks that are used again, by the powers of two that they have room for.

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Block, Buffer, Holding};

/// The smallest block, as a power of two: 4 KiB.
const CLASS_MIN: u32 = 12;
/// The largest pooled block, as a power of two: 64 MiB, which the largest NBD request of 32 MiB
/// needs where it is not aligned.
const CLASS_MAX: u32 = 26;
const CLASSES: usize = (CLASS_MAX - CLASS_MIN + 1) as usize;

/// Blocks that wait to be used again. Clones share them.
#[derive(Clone)]
pub struct BufferPool {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
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

    #[cfg(test)]
    pub(super) fn idle_bytes(&self) -> usize {
        self.shared.idle().bytes
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
            debug_assert_eq!(
                head.shares.load(Ordering::Relaxed),
                0,
                "nobody reads idle memory"
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
            holding: Holding::Owned,
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
    pub(super) fn keep(&self, block: NonNull<Block>) -> bool {
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
