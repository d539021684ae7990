//! How much is done at once, and how much there may be.

/// Snapshots of an origin: each may cost a copy of whatever is first written to it.
pub const SNAPSHOTS_MAX: usize = 256;

/// Memory for copies that is kept when nobody uses it, in bytes.
pub(super) const POOL_MAX: usize = 16 << 20;

/// How much is done at once. Tests have smaller limits, so that small devices need several steps
/// where large ones do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// A write that needs copies is done in pieces of so many bytes, a power of two, or of a chunk
    /// where that is more: a request for all of an origin does not hold all of it in memory.
    pub(super) piece: u64,
    /// A merge moves so many bytes at a time, or a chunk where that is more: writes to them wait.
    pub(super) merged: u64,
    /// Copies take so many bytes of memory, or one of them what it takes: others wait.
    pub(super) copied: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            piece: 1 << 20,
            merged: 1 << 20,
            copied: 64 << 20,
        }
    }
}
