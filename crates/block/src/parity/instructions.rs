//! Which instructions compute: what this processor has, or fewer for tests and comparisons.

use std::fmt;
use std::sync::OnceLock;

use super::field;
use super::formula::{Formula, Start};
use super::{bytes, words};

/// Computes whole blocks from a byte on and says where the rest begins.
type Run = unsafe fn(&mut Formula<'_>, usize) -> usize;

/// A way of computing. There is a value only of what the processor has.
#[derive(Clone, Copy)]
pub struct Instructions {
    name: &'static str,
    run: Run,
}

impl Instructions {
    /// All that this processor has, the fastest first. The last one is portable.
    pub fn available() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("gfni") {
                all.push(Self::new("avx512", super::avx512::run));
            }
            if is_x86_feature_detected!("avx2") {
                all.push(Self::new("avx2", super::avx2::run));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            all.push(Self::new("neon", super::neon::run));
        }
        all.push(Self::new("portable", words::run));
        all
    }

    /// The fastest that this processor has.
    pub fn best() -> Self {
        static BEST: OnceLock<Instructions> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
    }

    fn new(name: &'static str, run: Run) -> Self {
        Self { name, run }
    }

    /// What they are called.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// As [`super::xor_into`].
    pub fn xor_into(self, sum: &mut [u8], data: &[u8]) {
        self.compute(Formula::Sum {
            p: sum,
            start: Start::Present,
            data: &[data],
        });
    }

    /// As [`super::sum()`].
    pub fn sum(self, p: &mut [u8], data: &[&[u8]]) {
        self.compute(Formula::Sum {
            p,
            start: Start::Zero,
            data,
        });
    }

    /// As [`super::sums()`].
    pub fn sums(self, p: &mut [u8], q: &mut [u8], data: &[(u8, &[u8])]) {
        if let Some((highest, _)) = data.first() {
            assert!(usize::from(*highest) < field::ORDER, "powers end at 254");
        }
        self.compute(Formula::Sums { p, q, data });
    }

    /// As [`super::add_power`].
    pub fn add_power(self, q: &mut [u8], data: &[u8], power: u8) {
        assert!(usize::from(power) < field::ORDER, "powers end at 254");
        self.compute(Formula::AddProduct {
            sum: q,
            data,
            factor: field::power(power),
        });
    }

    /// As [`super::recover_with_q`].
    pub fn recover_with_q(self, target: &mut [u8], power: u8) {
        assert!(usize::from(power) < field::ORDER, "powers end at 254");
        self.compute(Formula::Multiply {
            bytes: target,
            factor: field::inverse(field::power(power)),
        });
    }

    /// As [`super::recover_two`].
    pub fn recover_two(self, a: &mut [u8], b: &mut [u8], x: u8, y: u8) {
        assert!(usize::from(x) < field::ORDER, "powers end at 254");
        assert!(usize::from(y) < field::ORDER, "powers end at 254");
        assert!(x != y, "two legs have two powers");
        let of_q = field::inverse(field::power(x) ^ field::power(y));
        self.compute(Formula::Split {
            a,
            b,
            of_a: field::multiply(field::power(y), of_q),
            of_b: of_q,
        });
    }

    fn compute(self, mut formula: Formula<'_>) {
        let len = formula.len();
        // SAFETY: `available` makes the only values, with a function of safe code each, and only of
        // those whose instructions the processor was found to have.
        let done = unsafe { (self.run)(&mut formula, 0) };
        let done = words::run(&mut formula, done);
        let done = bytes::run(&mut formula, done);
        assert_eq!(done, len, "nothing is left out");
    }
}

impl fmt::Debug for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests;
