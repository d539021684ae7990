//! Finding one byte among many, many bytes at a time.
//!
//! Stock's configuration file is a hundred kilobytes of comments, and each metadata area brings a
//! text to be cut at its NUL: looking at single bytes was a third of what a report costs.

use std::io::BufRead;

/// The bytes before the first NUL; all of them where there is none.
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..position(bytes, 0).unwrap_or(bytes.len())]
}

/// Where `wanted` stands first.
pub(super) fn position(bytes: &[u8], wanted: u8) -> Option<usize> {
    // The standard library's door to the C library's search, which uses the widest registers that
    // the processor has.
    let mut rest = bytes;
    let skipped = rest.skip_until(wanted).expect("bytes can be read");
    let last = skipped.checked_sub(1)?;
    (bytes[last] == wanted).then_some(last)
}

#[cfg(test)]
mod tests;
