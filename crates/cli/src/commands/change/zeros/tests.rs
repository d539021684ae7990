//! What is zero.

use super::is_zero;

/// A sign, a unit or a share makes no number of zero.
#[test]
fn zero_is_zero_in_each_unit() {
    for value in ["0", "00", "-0", "+0k", "0.0m", "0%FREE", "0s"] {
        assert!(is_zero(value), "{value}");
    }
    for value in ["1", "0.5", "10", "-1", "+1%VG", "", "k", "-"] {
        assert!(!is_zero(value), "{value}");
    }
}
