//! Bootstrap intervals: bias-corrected and accelerated (`BCa`), widened for small samples.
//!
//! Efron's `BCa` moves the percentiles of the bootstrap distribution for its bias (how many
//! resamples lie below the estimate) and for the change of spread with the value (acceleration, by
//! the jackknife). For small samples any percentile interval is too narrow, since a resample
//! spreads less than a sample by the root of (n-1)/n and normal points are used for Student's;
//! Hesterberg's expansion corrects both, and is applied here. The tests measure the coverage.

use super::error::{Error, Kind, Result};
use super::estimate::quantile_of_sorted;
use super::real::{normal_below, normal_point, student_point};
use block::sim::Random;

/// Numbers below which no interval is given: the extremes of five pairs enclose the median with
/// 93.75 % only.
const NUMBERS_MIN: usize = 6;
/// Numbers above which an interval would take minutes; thin them out first.
const NUMBERS_MAX: usize = 10_000;

/// An estimate and where it may lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// The statistic of the numbers themselves.
    pub estimate: f64,
    /// Upper end.
    pub high: f64,
}

/// How intervals are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Resamples; 10,000 unless there is a reason.
    pub resamples: usize,
    /// Seed of the choices.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            resamples: 10_000,
            seed: 1,
        }
    }
}

impl Interval {
    /// The interval of another scale, for instance of ratios from that of their logarithms; `map`
    /// rises.
    pub fn map(&self, map: impl Fn(f64) -> f64) -> Self {
        Self {
            low: map(self.low),
            estimate: map(self.estimate),
            high: map(self.high),
        }
    }

    /// Whether `value` is inside.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half of the width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

impl Bootstrap {
    /// The intervals of `statistic` at several levels (0.95 for 95 %), from the same resamples.
    pub fn intervals<const N: usize>(
        &self,
        numbers: &[f64],
        statistic: impl Fn(&[f64]) -> Option<f64>,
        levels: [f64; N],
    ) -> Result<[Interval; N]> {
        check(numbers, &levels, self.resamples)?;
        let none = || Error::new(Kind::TooFew, "the statistic needs more numbers");
        let estimate = statistic(numbers).ok_or_else(none)?;
        let mut random = Random::new(self.seed);
        let mut resample = vec![0.0; numbers.len()];
        let mut values = Vec::with_capacity(self.resamples);
        for _ in 0..self.resamples {
            for slot in &mut resample {
                *slot = numbers[random.index(numbers.len())];
            }
            values.push(statistic(&resample).ok_or_else(none)?);
        }
        values.sort_unstable_by(f64::total_cmp);
        let bias = normal_point(share_below(&values, estimate));
        let acceleration = acceleration(numbers, &statistic).ok_or_else(none)?;
        Ok(levels.map(|level| {
            let end = |p: f64| {
                let z = bias + expanded(p, numbers.len());
                let q = normal_below(bias + z / (1.0 - acceleration * z));
                quantile_of_sorted(&values, q).unwrap_or(estimate)
            };
            let tail = (1.0 - level) / 2.0;
            // The estimate belongs to its interval, also where all resamples are equal.
            Interval {
                low: end(tail).min(estimate),
                estimate,
                high: end(1.0 - tail).max(estimate),
            }
        }))
    }
}

fn check(numbers: &[f64], levels: &[f64], resamples: usize) -> Result<()> {
    if numbers.len() < NUMBERS_MIN {
        let text = format!(
            "{} numbers, at least {NUMBERS_MIN} are needed for an interval",
            numbers.len()
        );
        return Err(Error::new(Kind::TooFew, text));
    }
    if numbers.len() > NUMBERS_MAX || resamples < 100 {
        let text = format!("at most {NUMBERS_MAX} numbers and at least 100 resamples");
        return Err(Error::new(Kind::BadLimits, text));
    }
    if let Some(bad) = numbers.iter().find(|number| !number.is_finite()) {
        return Err(Error::new(
            Kind::NotANumber,
            format!("{bad} among the numbers"),
        ));
    }
    if levels.iter().any(|level| !(*level > 0.0 && *level < 1.0)) {
        return Err(Error::new(Kind::BadLimits, "a level lies between 0 and 1"));
    }
    Ok(())
}

/// The share of `sorted` below `value`, half of what equals it counted; never quite 0 or 1.
fn share_below(sorted: &[f64], value: f64) -> f64 {
    let below = sorted.partition_point(|x| x.total_cmp(&value).is_lt());
    let equal = sorted[below..].partition_point(|x| *x <= value);
    let len = sorted.len() as f64;
    let share = (below as f64 + equal as f64 / 2.0) / len;
    share.clamp(0.5 / len, 1.0 - 0.5 / len)
}

/// A sixth of the skewness of the statistic with each number left out in turn.
fn acceleration(numbers: &[f64], statistic: impl Fn(&[f64]) -> Option<f64>) -> Option<f64> {
    let mut left = numbers[1..].to_vec();
    let mut values = Vec::with_capacity(numbers.len());
    for (index, number) in numbers.iter().enumerate() {
        values.push(statistic(&left)?);
        if let Some(slot) = left.get_mut(index) {
            *slot = *number;
        }
    }
    let mean = super::estimate::mean(&values)?;
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in values {
        let distance = mean - value;
        squares += distance * distance;
        cubes += distance * distance * distance;
    }
    let spread = squares * squares.sqrt();
    Some(if spread > 0.0 {
        cubes / (6.0 * spread)
    } else {
        0.0
    })
}

/// The normal point to use for `p` in a sample of `len` numbers.
fn expanded(p: f64, len: usize) -> f64 {
    let len = len as f64;
    student_point(p, len - 1.0) * (len / (len - 1.0)).sqrt()
}
