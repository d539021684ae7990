//! A histogram of latencies that merges without loss.
//!
//! Values below 256 have a bucket each. Above, every power of two is cut into 128 buckets, so a
//! bucket is at most 1/128 of its values wide and its middle is off by at most 1/256 (0.4 %):
//!
//! ```text
//!   0 1 2 … 255 | 256 258 260 … 510 | 512 516 … 1020 | …
//!    1 each     |  2 each            |  4 each        |
//! ```
//!
//! Buckets are the same for all histograms and counts are whole numbers, so merging is addition:
//! the merged histogram is the one of all values, in any order. Count, sum, smallest and largest
//! are exact. 58 KiB at most.

use super::error::{Error, Kind, Result};

/// Bits of a value that choose a bucket within its power of two.
const PRECISION_BITS: u32 = 7;
/// Values below this have a bucket each.
const EXACT: u64 = 2 << PRECISION_BITS;
/// Buckets of all values of 64 bits.
const BUCKETS: usize = EXACT as usize + ((63 - PRECISION_BITS as usize) << PRECISION_BITS);

/// Counts of values, nanoseconds by custom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    /// Counts by bucket, up to the last one used.
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    smallest: u64,
    largest: u64,
}

impl Histogram {
    /// A quantile is off by at most this share of itself.
    pub const ERROR_MAX: f64 = 1.0 / 256.0;

    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts `value`.
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.smallest = if self.count == 0 {
            value
        } else {
            self.smallest.min(value)
        };
        self.largest = self.largest.max(value);
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.smallest = match self.count {
            0 => other.smallest,
            _ => self.smallest.min(other.smallest),
        };
        self.largest = self.largest.max(other.largest);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their exact mean; none without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest and the largest value, exact.
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.count > 0).then_some((self.smallest, self.largest))
    }

    /// The value that the share `q` of all values does not exceed, off by [`Self::ERROR_MAX`].
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank.min(self.count) {
                let (low, width) = bounds(index);
                return Some((low + (width - 1) / 2).clamp(self.smallest, self.largest));
            }
        }
        None
    }

    /// The histogram as text: count of values, sum, smallest, largest, then `bucket:count` of each
    /// bucket in use.
    pub fn to_text(&self) -> String {
        let used = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        let buckets: Vec<String> = used.map(|(index, n)| format!(" {index}:{n}")).collect();
        let (sum, smallest, largest) = (self.sum, self.smallest, self.largest);
        format!(
            "{} {sum} {smallest} {largest}{}",
            self.count,
            buckets.concat()
        )
    }

    /// A histogram from the text that [`Self::to_text`] made.
    pub fn from_text(text: &str) -> Result<Self> {
        let damaged = |what: &str| Error::new(Kind::Damaged, format!("histogram: {what}"));
        let mut words = text.split(' ');
        let mut next = || words.next().and_then(|word| word.parse().ok());
        let head = (next(), next(), next(), next());
        let (Some(count), Some(sum), Some(smallest), Some(largest)) = head else {
            return Err(damaged("count, sum, smallest and largest value begin it"));
        };
        let narrow =
            |number: u128| u64::try_from(number).map_err(|_| damaged("a number too large"));
        let mut histogram = Self {
            counts: Vec::new(),
            count: narrow(count)?,
            sum,
            smallest: narrow(smallest)?,
            largest: narrow(largest)?,
        };
        for word in words {
            let pair = word.split_once(':').and_then(|(bucket, count)| {
                Some((bucket.parse::<usize>().ok()?, count.parse::<u64>().ok()?))
            });
            let (bucket, count) = pair.ok_or_else(|| damaged("'bucket:count' is expected"))?;
            if bucket >= BUCKETS || bucket < histogram.counts.len() || count == 0 {
                return Err(damaged("buckets rise, end, and are not empty"));
            }
            histogram.counts.resize(bucket, 0);
            histogram.counts.push(count);
        }
        histogram.check().map_err(damaged)?;
        Ok(histogram)
    }

    /// Whether the parts agree with each other.
    fn check(&self) -> std::result::Result<(), &'static str> {
        let total = self
            .counts
            .iter()
            .try_fold(0_u64, |sum, n| sum.checked_add(*n));
        if total != Some(self.count) {
            return Err("the buckets do not add up to the count");
        }
        if self.count == 0 {
            let clear = self.sum == 0 && self.smallest == 0 && self.largest == 0;
            return if clear {
                Ok(())
            } else {
                Err("values of nothing")
            };
        }
        let first = self.counts.iter().position(|count| *count > 0);
        let last = self.counts.len().checked_sub(1);
        if first != Some(bucket(self.smallest)) || last != Some(bucket(self.largest)) {
            return Err("the smallest or largest value is in no bucket");
        }
        let (low, high) = (u128::from(self.smallest), u128::from(self.largest));
        let count = u128::from(self.count);
        if self.sum < low * count || self.sum > high * count {
            return Err("the sum is not between count times smallest and largest");
        }
        Ok(())
    }
}

fn bucket(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let power = value.ilog2() - PRECISION_BITS;
    ((u64::from(power) << PRECISION_BITS) + (value >> power)) as usize
}

/// The lowest value of a bucket, and how many values it holds.
fn bounds(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return (bucket, 1);
    }
    let power = (bucket >> PRECISION_BITS) - 1;
    let within = bucket - (power << PRECISION_BITS);
    (within << power, 1 << power)
}
