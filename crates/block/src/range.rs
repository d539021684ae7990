//! A run of bytes on a device.

/// `len` bytes from `start`. The end never overflows: [`Range::new`] refuses such ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Range {
    start: u64,
    len: u64,
}

impl Range {
    /// `len` bytes from byte `start`; `None` where the end would pass 2^64 - 1.
    pub fn checked(start: u64, len: u64) -> Option<Self> {
        start.checked_add(len).map(|_| Self { start, len })
    }

    /// `len` bytes from byte `start`, for values that are known to fit.
    pub fn new(start: u64, len: u64) -> Self {
        Self::checked(start, len).expect("a range ends before 2^64")
    }

    /// The empty range at byte 0, which a flush carries.
    pub const EMPTY: Self = Self { start: 0, len: 0 };

    /// The first byte.
    pub fn start(self) -> u64 {
        self.start
    }

    /// The length in bytes.
    pub fn len(self) -> u64 {
        self.len
    }

    /// The byte behind the last one.
    pub fn end(self) -> u64 {
        self.start + self.len
    }

    /// Whether there is no byte in it.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether both ends are multiples of `block` (in bytes, not 0).
    #[inline]
    pub fn is_aligned(self, block: u64) -> bool {
        if block.is_power_of_two() {
            // What nearly every caller has: no division.
            return (self.start | self.len) & (block - 1) == 0;
        }
        self.start.is_multiple_of(block) && self.len.is_multiple_of(block)
    }

    /// The bytes that both ranges share; `None` if there are none.
    pub fn intersection(self, other: Self) -> Option<Self> {
        let start = self.start.max(other.start);
        let end = self.end().min(other.end());
        (start < end).then(|| Self {
            start,
            len: end - start,
        })
    }

    /// Whether all of `other` lies inside.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

#[cfg(test)]
mod tests;
