//! A size as `fsadm` takes it.

use crate::args::Error;

/// Blocks of a file system, or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SizeWord {
    /// A number alone.
    Blocks(u64),
    /// A number with a unit.
    Bytes(u64),
}

/// The units, each 1024 times the one before.
const UNITS: &str = "BKMGTPE";

impl SizeWord {
    /// Reads `1000`, `1000M`, `2g`.
    pub(super) fn parse(word: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::failed(format!(
                "Invalid size \"{word}\": give a number of blocks, or one with B, K, M, G, T, P or \
                 E behind it."
            ))
        };
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        let mut unit = word[digits.len()..].chars();
        let size = match (unit.next(), unit.next()) {
            (None, _) => Some(Self::Blocks(number)),
            (Some(letter), None) => {
                let power = UNITS.find(letter.to_ascii_uppercase()).ok_or_else(wrong)?;
                let bytes = number.checked_mul(1_u64 << (10 * power));
                bytes.map(Self::Bytes)
            }
            (Some(_), Some(_)) => None,
        };
        size.filter(|_| number > 0).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests;
