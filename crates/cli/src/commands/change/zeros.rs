//! Options whose value may not be zero. All that are, are named together, as by stock, before the
//! group is looked for.

use crate::args::{Arguments, Error};

/// In the order in which they are named.
const NONZERO: &[&str] = &[
    "chunksize",
    "extents",
    "poolmetadatasize",
    "size",
    "stripes",
    "stripesize",
    "virtualsize",
];

/// Refuses those that are zero.
pub(super) fn require_nonzero(arguments: &Arguments) -> Result<(), Error> {
    let is_zero = |long: &&&str| {
        let mut given = arguments.given();
        given.any(|(other, value)| other == **long && is_zero(value))
    };
    let zeros = NONZERO.iter().filter(is_zero);
    let said: Vec<String> = zeros
        .map(|long| format!("--{long} may not be zero."))
        .collect();
    if said.is_empty() {
        return Ok(());
    }
    Err(Error::usage(said.join("\n")))
}

/// Whether a number is zero, whatever sign, unit or share it has.
fn is_zero(value: &str) -> bool {
    let rest = value.trim_start_matches(['+', '-']);
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let digits = &rest[..end.unwrap_or(rest.len())];
    !digits.is_empty() && digits.chars().all(|letter| matches!(letter, '0' | '.'))
}

#[cfg(test)]
mod tests;
