//! What is in a checksum.

use super::tag;
use crate::crc32c::crc32c;

/// The place of a block is in its checksum.
#[test]
fn the_place_counts() {
    let block = [7; 512];
    let whole = [&8_u64.to_le_bytes()[..], &block].concat();
    assert_eq!(tag(8, &block), crc32c(&whole).to_le_bytes());
    assert_ne!(tag(8, &block), tag(9, &block));
}
