//! The Mersenne twister MT19937 with the seeding of its integer version of 28 October 1999.
//!
//! `PostMark` draws from this version. Its seeding differs from the one of 2002 that most libraries
//! have: each word takes the high halves of two successive numbers of a linear congruential
//! generator. The recurrence and the tempering are the usual ones (Matsumoto and Nishimura, ACM
//! TOMACS 8, 1998).

/// Words of state.
const WORDS: usize = 624;
/// Distance to the word that is mixed in.
const MIDDLE: usize = 397;

/// A generator of 32-bit numbers.
#[derive(Debug, Clone)]
pub struct Mt19937 {
    state: [u32; WORDS],
    next: usize,
}

impl Mt19937 {
    /// The numbers of `seed`.
    pub fn new(seed: u32) -> Self {
        let mut congruential = seed;
        let mut half = || {
            let high = congruential & 0xffff_0000;
            congruential = congruential.wrapping_mul(69069).wrapping_add(1);
            high
        };
        let mut state = [0; WORDS];
        for word in &mut state {
            let (high, low) = (half(), half());
            *word = high | (low >> 16);
        }
        Self { state, next: WORDS }
    }

    /// The next number.
    pub fn number(&mut self) -> u32 {
        if self.next == WORDS {
            self.renew();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn renew(&mut self) {
        for index in 0..WORDS {
            let joined =
                (self.state[index] & 0x8000_0000) | (self.state[(index + 1) % WORDS] & 0x7fff_ffff);
            let twist = if joined & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[index] = self.state[(index + MIDDLE) % WORDS] ^ (joined >> 1) ^ twist;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests;
