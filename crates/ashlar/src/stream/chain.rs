//! The digest of a stream up to a record.
//!
//! It begins as SHA-256 of the head, and each record makes SHA-256 of the digest before it and its
//! own bytes. So 32 bytes are all that has to be known of a beginning to go on behind it.

use std::fmt;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// What came so far, in 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Chain([u8; Self::LEN]);

impl Chain {
    /// Bytes of it.
    pub const LEN: usize = 32;

    /// That of the head of a stream's first part.
    pub(super) fn of(head: &[u8]) -> Self {
        Self(Sha256::digest(head).into())
    }

    /// As it stands in a stream.
    pub(super) fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    pub(super) fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// Goes on with a record.
    pub(super) fn add(&mut self, frame: &[u8], payload: &[u8]) {
        assert!(!frame.is_empty(), "a record has a beginning");
        let mut digest = Sha256::new();
        digest.update(self.0);
        digest.update(frame);
        digest.update(payload);
        self.0 = digest.finalize().into();
    }

    /// Reads what is printed; `None`: it is something else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let is_plain = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 2 * Self::LEN || !digits.iter().all(is_plain) {
            return None;
        }
        let mut bytes = [0; Self::LEN];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write!(text, "{self}")?;
        write!(f, "Chain({})", &text[..8])
    }
}
