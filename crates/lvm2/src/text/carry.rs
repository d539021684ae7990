//! How bytes that are not UTF-8 are carried in strings, without loss.
//!
//! LVM2 knows no encoding: a host name or a description may hold any byte but NUL. The tree holds
//! Rust strings, which may not. So a byte that is not part of valid UTF-8 becomes one character
//! of the last 128 of Unicode, which mean nothing to anybody:
//!
//! ```text
//!     byte 0x80 … 0xff   <->   character U+10FF80 … U+10FFFF
//! ```
//!
//! Where the text itself holds one of those 128 characters, its four bytes are carried one by one
//! in the same way. So [`from_bytes`] accepts everything, [`to_bytes`] gives back the very same
//! bytes, and two different byte strings never become the same string.
//!
//! Costs: none for valid UTF-8 beyond the check.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

/// The first character that carries a byte (0x80).
const FIRST: u32 = 0x10_ff80;
/// The UTF-8 form of every carrier begins with these bytes.
const CARRIER_START: [u8; 3] = [0xf4, 0x8f, 0xbe];
const CARRIER_START_HIGH: [u8; 3] = [0xf4, 0x8f, 0xbf];

/// The string that carries `bytes`.
pub fn from_bytes(bytes: &[u8]) -> String {
    if let Some(text) = plain(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().contains(is_carrier) {
            chunk
                .valid()
                .chars()
                .for_each(|character| push(&mut text, character));
        } else {
            text.push_str(chunk.valid());
        }
        chunk
            .invalid()
            .iter()
            .for_each(|byte| text.push(carrier(*byte)));
    }
    debug_assert_eq!(&*to_bytes(&text), bytes, "each byte comes back");
    text
}

/// The string that `bytes` are, where it needs no carriers.
pub(super) fn plain(bytes: &[u8]) -> Option<&str> {
    // No carrier begins with another byte than this one.
    let may_carry = bytes.contains(&CARRIER_START[0]);
    str::from_utf8(bytes).ok().filter(|_| !may_carry)
}

/// The bytes that `text` carries.
pub fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.contains(is_carrier) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for character in text.chars() {
        if is_carrier(character) {
            bytes.push((u32::from(character) - FIRST) as u8 | 0x80);
        } else {
            bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
    }
    Cow::Owned(bytes)
}

fn push(text: &mut String, character: char) {
    if is_carrier(character) {
        let mut buffer = [0; 4];
        let bytes = character.encode_utf8(&mut buffer).as_bytes();
        debug_assert!(
            bytes.starts_with(&CARRIER_START) || bytes.starts_with(&CARRIER_START_HIGH),
            "the carriers are the last 128 characters"
        );
        text.extend(bytes.iter().map(|byte| carrier(*byte)));
    } else {
        text.push(character);
    }
}

fn carrier(byte: u8) -> char {
    assert!(byte >= 0x80, "ASCII is always valid UTF-8");
    char::from_u32(FIRST + u32::from(byte & 0x7f)).expect("within Unicode")
}

fn is_carrier(character: char) -> bool {
    u32::from(character) >= FIRST
}

#[cfg(test)]
mod tests;
