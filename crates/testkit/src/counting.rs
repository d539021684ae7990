//! An allocator that counts, for a test binary of its own: it counts the whole process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, and how often it was asked for memory.
///
/// ```
/// #[global_allocator]
/// static COUNTING: ashlar_testkit::Counting = ashlar_testkit::Counting::new();
///
/// let before = COUNTING.allocations();
/// drop(Box::new(1));
/// assert!(COUNTING.allocations() > before);
/// ```
#[derive(Debug)]
pub struct Counting {
    allocations: AtomicUsize,
}

impl Counting {
    /// One that has counted nothing yet.
    #[expect(
        clippy::new_without_default,
        reason = "made in a static, where a default cannot be"
    )]
    pub const fn new() -> Self {
        let allocations = AtomicUsize::new(0);
        Counting { allocations }
    }

    /// Allocations of the process so far.
    pub fn allocations(&self) -> usize {
        self.allocations.load(Ordering::Relaxed)
    }
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
