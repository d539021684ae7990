//! Free slots of the program's table, and the first of them at once.
//!
//! The program looks through its table from the start; with a million files that is most of a run's
//! time. Here a bit stands for each free slot, a bit above for each word that has one, and so on:
//! four levels for sixteen million slots.

/// Bits of a word.
const BITS: usize = 64;

/// A set of numbers below a limit.
#[derive(Debug, Clone)]
pub(super) struct Free {
    /// The numbers, then the words of the level before that are not 0, up to a single word.
    levels: Vec<Vec<u64>>,
}

impl Free {
    /// All numbers below `limit`, which is not 0.
    pub(super) fn all(limit: usize) -> Self {
        assert!(limit > 0, "a table has slots");
        let mut levels = Vec::new();
        let mut count = limit;
        loop {
            let mut words = vec![u64::MAX; count.div_ceil(BITS)];
            if let Some(last) = words.last_mut().filter(|_| !count.is_multiple_of(BITS)) {
                *last = (1 << (count % BITS)) - 1;
            }
            count = words.len();
            levels.push(words);
            if count == 1 {
                return Self { levels };
            }
        }
    }

    /// The smallest number.
    pub(super) fn first(&self) -> Option<usize> {
        let mut at = 0;
        for words in self.levels.iter().rev() {
            let word = words[at];
            if word == 0 {
                return None;
            }
            at = at * BITS + word.trailing_zeros() as usize;
        }
        Some(at)
    }

    /// Puts a number in.
    pub(super) fn insert(&mut self, number: usize) {
        let mut at = number;
        for words in &mut self.levels {
            words[at / BITS] |= 1 << (at % BITS);
            at /= BITS;
        }
    }

    /// Takes a number out.
    pub(super) fn remove(&mut self, number: usize) {
        let mut at = number;
        for words in &mut self.levels {
            words[at / BITS] &= !(1 << (at % BITS));
            if words[at / BITS] != 0 {
                return;
            }
            at /= BITS;
        }
    }
}
