//! Cliff's delta: how far two sets of numbers are apart, whatever their scale.

use std::cmp::Ordering;

/// Of all pairs with one number from each set: how many have the first above, below, equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CliffsDelta {
    /// Pairs whose first number is above the second.
    pub above: u64,
    /// Pairs whose first number is below.
    pub below: u64,
    /// All pairs.
    pub pairs: u64,
}

impl CliffsDelta {
    /// Compares every number of `first` with every one of `second`.
    pub fn of(first: &[f64], second: &[f64]) -> Self {
        let mut sorted = second.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (mut above, mut below) = (0, 0);
        for number in first {
            let less = sorted.partition_point(|x| x.total_cmp(number) == Ordering::Less);
            let not_more = sorted.partition_point(|x| x.total_cmp(number) != Ordering::Greater);
            above += less as u64;
            below += (sorted.len() - not_more) as u64;
        }
        Self {
            above,
            below,
            pairs: first.len() as u64 * second.len() as u64,
        }
    }

    /// The delta: 1 if all of the first set are above, -1 if all are below, 0 without numbers.
    pub fn value(&self) -> f64 {
        (self.above as f64 - self.below as f64) / (self.pairs.max(1) as f64)
    }
}
