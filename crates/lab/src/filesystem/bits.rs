//! A bitmap that is searched for its next clear bit.

/// Bits of a word.
const WORD: u32 = u64::BITS;

/// A set of numbers below a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// No number below `limit`.
    pub(super) fn none(limit: u32) -> Self {
        Self {
            words: vec![0; limit.div_ceil(WORD) as usize],
        }
    }

    /// Whether a number is in.
    pub(super) fn has(&self, bit: u32) -> bool {
        self.words[(bit / WORD) as usize] >> (bit % WORD) & 1 == 1
    }

    /// Puts a number in; whether it was not.
    pub(super) fn insert(&mut self, bit: u32) -> bool {
        let new = !self.has(bit);
        self.words[(bit / WORD) as usize] |= 1 << (bit % WORD);
        new
    }

    /// Takes a number out; whether it was in.
    pub(super) fn remove(&mut self, bit: u32) -> bool {
        let had = self.has(bit);
        self.words[(bit / WORD) as usize] &= !(1 << (bit % WORD));
        had
    }

    /// The first number from `from` and below `end` that is in neither set.
    pub(super) fn next_clear(&self, other: &Self, from: u32, end: u32) -> Option<u32> {
        let mut bit = from;
        while bit < end {
            let index = (bit / WORD) as usize;
            let clear = !(self.words[index] | other.words[index]) >> (bit % WORD);
            if clear != 0 {
                bit += clear.trailing_zeros();
                return (bit < end).then_some(bit);
            }
            bit = (bit / WORD + 1) * WORD;
        }
        None
    }
}
