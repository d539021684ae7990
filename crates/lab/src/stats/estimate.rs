//! Centres and spreads: median, Hodges-Lehmann, mean, standard deviation, quantiles.
//!
//! The Hodges-Lehmann estimate is the median of the means of all pairs (each number also with
//! itself). It is as robust as one wants against a run that stumbled (29 % of the numbers may be
//! nonsense), and wastes 5 % where noise is normal; the median wastes 36 %.

/// Numbers up to which the means of all pairs are listed; above, searching for the middle one
/// without a list takes less time.
const LISTED_MAX: usize = 256;

/// The middle of the numbers, or the mean of the two in the middle. `None` without numbers.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let mut copy = numbers.to_vec();
    middle(&mut copy)
}

/// The median of the means of all pairs, each number also paired with itself.
pub fn hodges_lehmann(numbers: &[f64]) -> Option<f64> {
    if numbers.len() > LISTED_MAX {
        return searched(numbers);
    }
    let mut means = Vec::with_capacity(numbers.len() * (numbers.len() + 1) / 2);
    for (index, a) in numbers.iter().enumerate() {
        means.extend(numbers[index..].iter().map(|b| mean_of_two(*a, *b)));
    }
    middle(&mut means)
}

/// The mean.
pub fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The standard deviation of the population that the numbers are a sample of; from 2 on.
pub fn deviation(numbers: &[f64]) -> Option<f64> {
    let mean = mean(numbers).filter(|_| numbers.len() > 1)?;
    let squares: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some((squares / (numbers.len() - 1) as f64).sqrt())
}

/// The quantile `q` (0 to 1), between neighbours by a straight line.
pub fn quantile(numbers: &[f64], q: f64) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&sorted, q)
}

pub(super) fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64))
}

fn mean_of_two(a: f64, b: f64) -> f64 {
    a / 2.0 + b / 2.0
}

/// The Hodges-Lehmann estimate without a list of all means: the same number, by halving the range
/// in which it lies. Means rise with both of their numbers, also rounded, so the means up to a
/// limit are counted by walking once along the sorted numbers from both ends.
fn searched(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let len = sorted.len() as u64;
    let count = len * (len + 1) / 2;
    let lower = ranked(&sorted, count.div_ceil(2))?;
    let upper = ranked(&sorted, count / 2 + 1)?;
    Some(mean_of_two(lower, upper))
}

/// The mean with so many up to it, from 1.
fn ranked(sorted: &[f64], rank: u64) -> Option<f64> {
    let (mut low, mut high) = (place(*sorted.first()?), place(*sorted.last()?));
    while low < high {
        let half = low + (high - low) / 2;
        if up_to(sorted, number(half)) >= rank {
            high = half;
        } else {
            low = half + 1;
        }
    }
    Some(number(low))
}

/// How many means are `limit` or less.
fn up_to(sorted: &[f64], limit: f64) -> u64 {
    let mut count = 0;
    let mut end = sorted.len();
    for (index, a) in sorted.iter().enumerate() {
        while end > index && mean_of_two(*a, sorted[end - 1]) > limit {
            end -= 1;
        }
        count += end.saturating_sub(index) as u64;
    }
    count
}

/// The place of a number among all numbers, in their order.
fn place(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 0 {
        bits | (1 << 63)
    } else {
        !bits
    }
}

fn number(place: u64) -> f64 {
    f64::from_bits(if place >> 63 == 1 {
        place & !(1 << 63)
    } else {
        !place
    })
}

fn middle(numbers: &mut [f64]) -> Option<f64> {
    let len = numbers.len();
    if len == 0 {
        return None;
    }
    let (below, at, _) = numbers.select_nth_unstable_by(len / 2, f64::total_cmp);
    let upper = *at;
    if len % 2 == 1 {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(lower / 2.0 + upper / 2.0)
}
