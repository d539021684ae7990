//! A long row of atomic words, of which memory holds the parts that were ever written.
//!
//! One thread writes, any thread reads. A part comes with its first word and stays. Costs: 16 bytes
//! for each part that there may be.

use std::sync::OnceLock;

/// Words in parts of `N`; those of parts that are not there are as they are made.
#[derive(Debug)]
pub(super) struct Sparse<W, const N: usize> {
    parts: Box<[OnceLock<Box<[W; N]>>]>,
}

impl<W: Default, const N: usize> Sparse<W, N> {
    /// At least so many words.
    pub(super) fn new(count: u64) -> Self {
        let parts = count.div_ceil(N as u64);
        Self {
            parts: (0..parts).map(|_| OnceLock::new()).collect(),
        }
    }

    /// A word, if its part is there.
    pub(super) fn get(&self, index: u64) -> Option<&W> {
        let part = self.parts[(index / N as u64) as usize].get()?;
        Some(&part[(index % N as u64) as usize])
    }

    /// Whether the part of a word is there.
    pub(super) fn has(&self, index: u64) -> bool {
        self.get(index).is_some()
    }

    /// A word, whose part is there from now on.
    pub(super) fn make(&self, index: u64) -> &W {
        let part = self.parts[(index / N as u64) as usize]
            .get_or_init(|| Box::new(std::array::from_fn(|_| W::default())));
        &part[(index % N as u64) as usize]
    }
}
