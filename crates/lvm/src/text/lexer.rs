//! Cuts a metadata text into tokens.
//!
//! What a token is depends on where it stands, as in LVM2: behind `=`, `[` or `,` digits are a
//! number; as a name they are only characters.

/// What ends a bare name: white space, a comment, and the grammar's own characters.
pub(super) fn ends_bare_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'#' | b'=' | b'{' | b'}' | 0)
}

/// What can never begin a bare name.
pub(super) fn starts_other_token(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'[' | b']' | b',')
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}
