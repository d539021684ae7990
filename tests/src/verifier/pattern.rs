//! What a block holds: bytes that say whose they are.
//!
//! A block begins with four words (mark, seed, block, version), and the rest is noise that follows
//! from them. Zeros are a content of their own.

use super::random::Random;

/// Bytes of a block.
pub const BLOCK: usize = 4096;

const MARK: u64 = u64::from_be_bytes(*b"ashlar-v");
const WORD: usize = 8;

/// What a version of a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Zeros.
    Zeros,
    /// Noise of this version.
    Noise,
}

/// Fills one block with the content of `version`.
pub fn fill(bytes: &mut [u8], seed: u64, block: u64, version: u64, content: Content) {
    assert_eq!(bytes.len(), BLOCK, "one block");
    if content == Content::Zeros {
        return bytes.fill(0);
    }
    let mut noise = Random::new(seed ^ block.rotate_left(20) ^ version.rotate_left(40));
    let head = [MARK, seed, block, version];
    for (index, word) in bytes.chunks_exact_mut(WORD).enumerate() {
        let value = head.get(index).copied().unwrap_or_else(|| noise.draw());
        word.copy_from_slice(&value.to_le_bytes());
    }
}

/// What a block says of itself, for people.
pub(super) fn describe(bytes: &[u8]) -> String {
    let word = |index: usize| {
        let word = bytes[index * WORD..].first_chunk::<WORD>();
        u64::from_le_bytes(*word.expect("a whole block"))
    };
    if bytes.iter().all(|&byte| byte == 0) {
        return "zeros".to_owned();
    }
    if word(0) != MARK {
        return format!("foreign bytes {:02x?}…", &bytes[..16]);
    }
    let (seed, block, version) = (word(1), word(2), word(3));
    let mut whole = vec![0; BLOCK];
    fill(&mut whole, seed, block, version, Content::Noise);
    let torn = if whole == bytes { "" } else { ", torn" };
    format!("version {version} of block {block} of seed {seed}{torn}")
}
