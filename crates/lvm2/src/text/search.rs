//! Finding one byte among many, eight bytes at a time.
//!
//! Stock's configuration file is a hundred kilobytes of comments, and each metadata area brings a
//! text to be cut at its NUL: looking at single bytes was a third of what a report costs.

/// The bytes before the first NUL; all of them where there is none.
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..position(bytes, 0).unwrap_or(bytes.len())]
}

/// Where `wanted` stands first.
pub(super) fn position(bytes: &[u8], wanted: u8) -> Option<usize> {
    let (words, rest) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        if let Some(at) = position_in_word(u64::from_le_bytes(*word), wanted) {
            debug_assert_eq!(bytes[index * size_of::<u64>() + at], wanted, "it is there");
            return Some(index * size_of::<u64>() + at);
        }
    }
    let at = rest.iter().position(|byte| *byte == wanted)?;
    Some(bytes.len() - rest.len() + at)
}

/// Where `wanted` stands first in a word whose lowest byte is the first.
///
/// Taking one from each byte sets the highest bit of a zero. The borrow may set that of bytes
/// behind it too, so only the lowest one counts.
fn position_in_word(word: u64, wanted: u8) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGHEST: u64 = u64::from_le_bytes([0x80; 8]);
    let zero_where_wanted = word ^ (ONES * u64::from(wanted));
    let found = zero_where_wanted.wrapping_sub(ONES) & !zero_where_wanted & HIGHEST;
    (found != 0).then(|| (found.trailing_zeros() / u8::BITS) as usize)
}

#[cfg(test)]
mod tests;
