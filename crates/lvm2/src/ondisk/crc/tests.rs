//! Tests: the start value, and pieces.

use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use super::{Checksum, checksum};

/// Bit by bit, from the definition.
fn naive(bytes: &[u8]) -> u32 {
    let mut sum = 0xf597_a6cf_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 {
                sum >> 1 ^ 0xedb8_8320
            } else {
                sum >> 1
            };
        }
    }
    sum
}

#[test]
fn nothing_is_the_start_value() {
    // Proves: there is no inversion behind.
    assert_eq!(checksum(b""), 0xf597_a6cf);
}

proptest! {
    #[test]
    fn equals_the_definition(bytes in vec(any::<u8>(), 0..300), cut in 0_usize..300) {
        // Proves: the table gives what the definition says, also in two pieces.
        let cut = cut.min(bytes.len());
        let mut pieces = Checksum::new();
        pieces.update(&bytes[..cut]);
        pieces.update(&bytes[cut..]);
        assert_eq!(pieces.finish(), naive(&bytes));
        assert_eq!(checksum(&bytes), naive(&bytes));
    }
}
