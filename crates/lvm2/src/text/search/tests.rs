//! Searching against looking at one byte after the other.

use proptest::collection::vec;
use proptest::prelude::{prop_assert_eq, proptest};

use super::{position, until_nul};

/// Both agree with looking at one byte after the other, at every place and length.
#[test]
fn a_byte_is_found_where_it_is() {
    for length in 0..70 {
        let mut bytes = vec![b'x'; length];
        assert_eq!(position(&bytes, b'#'), None);
        assert_eq!(until_nul(&bytes), bytes);
        for at in (0..length).rev() {
            bytes[at] = b'#';
            assert_eq!(position(&bytes, b'#'), Some(at));
        }
        for at in (0..length).rev() {
            bytes[at] = 0;
            assert_eq!(until_nul(&bytes).len(), at);
        }
    }
}

proptest! {
    /// Both agree on bytes that differ from the wanted one in a single bit, which is where
    /// arithmetic on many of them would go wrong.
    #[test]
    fn close_bytes_are_told_apart(wanted: u8, bits in vec(0_u32..9, 0..40)) {
        let other = |bit: &u32| 1_u8.checked_shl(*bit).map_or(wanted, |bit| wanted ^ bit);
        let bytes: Vec<u8> = bits.iter().map(other).collect();
        let naive = bytes.iter().position(|byte| *byte == wanted);
        prop_assert_eq!(position(&bytes, wanted), naive);
    }
}
