//! Medians and how sure they are.
//!
//! The interval of a ratio is the percentile bootstrap: resample the rounds with replacement,
//! take the median again, and look where 95 % of those medians lie. It assumes nothing about the
//! shape of the noise, only that rounds are alike. With fewer than six rounds the interval is as
//! wide as the data and says so by itself. The resampling is seeded: the same data, the same text.

/// Number of resamplings: enough that the ends of the interval move by less than they are rounded.
const RESAMPLINGS: usize = 4000;

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The middle value; the mean of the two in the middle when their number is even.
pub(super) fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "a median needs a value");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// The median of the rounds' ratios `ours[i] / theirs[i]`, with its interval.
pub(super) fn ratio(ours: &[f64], theirs: &[f64]) -> Estimate {
    assert_eq!(ours.len(), theirs.len(), "both sides have every round");
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut sample = vec![0.0; ratios.len()];
    let mut medians: Vec<f64> = (0..RESAMPLINGS)
        .map(|_| {
            sample.fill_with(|| ratios[random.below(ratios.len())]);
            median(&sample)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians[((RESAMPLINGS - 1) as f64 * share).round() as usize];
    Estimate {
        median: median(&ratios),
        low: at(0.025),
        high: at(0.975),
    }
}

/// xorshift64*: small, seeded, good enough to pick rounds.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        ((u128::from(word) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests;
