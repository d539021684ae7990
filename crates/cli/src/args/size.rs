//! Sizes as people type them: `1g`, `4.5M`, `200s`, `64K`.
//!
//! Both cases of a letter mean powers of two, as LVM2 reads input (only *output* units tell
//! `k` from `K`). Without a letter the unit is the option's own default.

use std::fmt;

/// A size that could not be read; the text says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SizeError(String);

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SizeError {}

/// The bytes in one unit of `letter`, or nothing if there is no such unit.
fn unit(letter: char) -> Option<u64> {
    Some(match letter.to_ascii_lowercase() {
        'b' => 1,
        's' => 512,
        'k' => 1 << 10,
        'm' => 1 << 20,
        'g' => 1 << 30,
        't' => 1 << 40,
        'p' => 1 << 50,
        'e' => 1 << 60,
        _ => return None,
    })
}

/// Reads a size in bytes; `default` is the unit's letter where none is typed.
///
/// The number may have a fraction; the result is rounded down to whole bytes. Arithmetic is
/// exact, so that `1.1t` is the same everywhere.
pub(crate) fn bytes(text: &str, default: char) -> Result<u64, SizeError> {
    let error = |why: &str| SizeError(format!("\"{text}\" is not a size: {why}"));
    let trimmed = text.trim();
    let digits_end = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, suffix) = trimmed.split_at(digits_end);
    let mut letters = suffix.chars();
    let letter = letters.next().unwrap_or(default);
    let unit = unit(letter).ok_or_else(|| error("the units are b s k m g t p e"))?;
    // `4MiB` and `4MB` are taken as `4m`, as LVM2 does.
    let tail = letters.as_str();
    if !(tail.is_empty() || tail.eq_ignore_ascii_case("b") || tail.eq_ignore_ascii_case("ib")) {
        return Err(error("something follows the unit"));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(error("a number is expected"));
    }
    if whole.len() > 20 || fraction.len() > 15 {
        return Err(error("too many digits"));
    }
    let whole: u128 = if whole.is_empty() {
        0
    } else {
        whole.parse().map_err(|_| error(""))?
    };
    let scale = 10_u128.pow(fraction.len() as u32);
    let part: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().map_err(|_| error(""))?
    };
    let total = (whole * scale + part) * u128::from(unit) / scale;
    u64::try_from(total).map_err(|_| error("it does not fit into 64 bits"))
}

#[cfg(test)]
mod tests;
