//! A row of bits that counts its ones.

/// Bits, all of which are 0 at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: u64,
    ones: u64,
}

impl Bits {
    pub(super) fn new(len: u64) -> Self {
        let words = usize::try_from(len.div_ceil(64)).expect("few enough bits");
        Self {
            words: vec![0; words],
            len,
            ones: 0,
        }
    }

    /// There are `len` of them from now on; new ones are `value`.
    pub(super) fn resize(&mut self, len: u64, value: bool) {
        for index in len..self.len {
            self.set(index, false);
        }
        let before = std::mem::replace(&mut self.len, len);
        let words = usize::try_from(len.div_ceil(64)).expect("few enough bits");
        self.words.resize(words, 0);
        if value {
            (before..len).for_each(|index| self.set(index, true));
        }
    }

    pub(super) fn get(&self, index: u64) -> bool {
        assert!(index < self.len, "bit {index} of {}", self.len);
        self.words[(index / 64) as usize] >> (index % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, index: u64, value: bool) {
        if self.get(index) == value {
            return;
        }
        self.words[(index / 64) as usize] ^= 1 << (index % 64);
        if value {
            self.ones += 1;
        } else {
            self.ones -= 1;
        }
    }

    /// All of them, 64 in each; those behind the end are 0.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn ones(&self) -> u64 {
        self.ones
    }

    /// The first 0 at or after `start`, or else before it.
    pub(super) fn find_zero(&self, start: u64) -> Option<u64> {
        if self.ones == self.len {
            return None;
        }
        self.zero_in(start, self.len)
            .or_else(|| self.zero_in(0, start))
    }

    fn zero_in(&self, start: u64, end: u64) -> Option<u64> {
        let mut index = start;
        while index < end {
            let word = !self.words[(index / 64) as usize] >> (index % 64);
            if word != 0 {
                let found = index + u64::from(word.trailing_zeros());
                return (found < end).then_some(found);
            }
            index = (index / 64 + 1) * 64;
        }
        None
    }

    /// That the count is right and nothing is set behind the end.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let ones: u32 = self.words.iter().map(|word| word.count_ones()).sum();
        assert_eq!(u64::from(ones), self.ones);
        let spare = self.words.len() as u64 * 64 - self.len;
        let clear = self.words.last().map_or(64, |word| word.leading_zeros());
        assert!(u64::from(clear) >= spare);
    }
}
