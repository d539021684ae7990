//! Sizes as the comments of a backup file give them: `96 Megabytes`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

use crate::Sectors;

const UNITS: [&str; 6] = [
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Petabytes",
    "Exabytes",
];
/// Digits that are shown at most.
const DIGITS: usize = 6;

/// The size in the largest unit of which it is more than one.
pub(super) fn describe_size(size: Sectors) -> String {
    let mut number = size.0 as f64 / 2.0;
    let mut unit = 0;
    while number > 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(number), UNITS[unit])
}

/// Six digits, without zeros at the end, as C's `%g` writes numbers of this size.
fn short(number: f64) -> String {
    let whole_digits = (number as u64).to_string().len();
    let text = format!("{number:.*}", DIGITS.saturating_sub(whole_digits));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
