//! Searching against looking at one byte after the other.

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
