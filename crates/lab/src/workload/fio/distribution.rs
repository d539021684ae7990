//! Where random requests go.
//!
//! Uniform requests take every block once before one comes again, as fio's map has it, by a
//! permutation that needs no memory: four Feistel rounds over the next power of four, repeated
//! until the number falls inside. Zipf's ranks are drawn by rejection from the inverse of an
//! integral (Hörmann and Derflinger, ACM TOMACS 6, 1996), exact for any number of blocks and any
//! exponent, and scattered by such a permutation, so that hot blocks are not neighbours.

use crate::stats::real::{exp, ln};
use block::sim::Random;

/// Rounds of the permutation: four make it as good as random for this purpose.
const ROUNDS: u64 = 4;

/// A distribution of random offsets.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// All blocks alike.
    Uniform,
    /// The block of rank k is drawn in proportion to 1 / k^theta.
    Zipf(f64),
    /// Shares of the requests go to shares of the region, in order.
    Zoned(Vec<Zone>),
}

/// A part of the region and the requests that go there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Percent of the requests.
    pub access_percent: u32,
    /// Percent of the region.
    pub size_percent: u32,
}

/// A permutation of the numbers below a limit, chosen by a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Permutation {
    limit: u64,
    /// Bits of a half.
    half: u32,
    key: u64,
}

impl Permutation {
    /// A permutation of the numbers below `limit`, which is not 0.
    pub(super) fn new(limit: u64, key: u64) -> Self {
        assert!(limit > 0, "numbers to permute");
        let bits = u64::BITS - (limit - 1).leading_zeros();
        Self {
            limit,
            half: bits.div_ceil(2).max(1),
            key,
        }
    }

    /// Where `number` goes.
    pub(super) fn of(&self, number: u64) -> u64 {
        assert!(number < self.limit, "a number to permute");
        let mut found = self.rounds(number);
        // The power of four is less than four times the limit, or four: few repeats.
        while found >= self.limit {
            found = self.rounds(found);
        }
        found
    }

    fn rounds(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for round in 0..ROUNDS {
            let mut mixed = Random::new(self.key ^ (round << 56) ^ right);
            (left, right) = (right, left ^ (mixed.number() & mask));
        }
        (left << self.half) | right
    }
}

/// Draws ranks from 1 to `count` in proportion to 1 / rank^theta.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    count: f64,
    theta: f64,
    low: f64,
    high: f64,
    /// Within so much below its rank a draw is taken without looking further.
    sure: f64,
}

impl Zipf {
    pub(super) fn new(count: u64, theta: f64) -> Self {
        let mut zipf = Self {
            count: count as f64,
            theta,
            low: 0.0,
            high: 0.0,
            sure: 0.0,
        };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.count + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let share = (random.number() >> 11) as f64 / (1_u64 << 53) as f64;
            let at = self.high + share * (self.low - self.high);
            let x = self.inverse(at);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.sure || at >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        exp(-self.theta * ln(x))
    }

    /// The integral of 1 / x^theta from 1.
    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.theta;
        if power.abs() < 1e-9 {
            return ln(x);
        }
        (exp(power * ln(x)) - 1.0) / power
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = 1.0 - self.theta;
        if power.abs() < 1e-9 {
            return exp(area);
        }
        // Rounding must not leave the range of the power.
        exp(ln((1.0 + area * power).max(f64::MIN_POSITIVE)) / power)
    }
}
