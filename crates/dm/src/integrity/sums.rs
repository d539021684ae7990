//! The checksum of a block: CRC-32C over where it is and what it holds.
//!
//! ```text
//!   sector of the block, 8 bytes, little-endian │ the block's bytes      ─▸ 4 bytes, little-endian
//! ```
//!
//! With the place in it, a block that was written to the wrong place is wrong there.

use crate::crc32c::extend;

/// Bytes of a checksum.
pub(super) const TAG: usize = 4;

/// The checksum of the block that begins at this sector.
pub(super) fn tag(sector: u64, block: &[u8]) -> [u8; TAG] {
    debug_assert!(block.len().is_multiple_of(512), "a block is of sectors");
    let crc = extend(u32::MAX, &sector.to_le_bytes());
    (!extend(crc, block)).to_le_bytes()
}

#[cfg(test)]
mod tests;
