//! Tests of sizes as people type them.

use super::bytes;
use proptest::prelude::{prop_assert_eq, proptest};

#[test]
fn letters_mean_powers_of_two_in_either_case() {
    for (text, expected) in [
        ("1", 1 << 20),
        ("1k", 1 << 10),
        ("1K", 1 << 10),
        ("3s", 1536),
        ("7b", 7),
        ("1.5g", 3 << 29),
        (".5m", 1 << 19),
        ("2.m", 2 << 20),
        ("4MiB", 4 << 20),
        ("1e", 1 << 60),
    ] {
        assert_eq!(bytes(text, 'm'), Ok(expected), "{text}");
    }
}

#[test]
fn nonsense_is_refused() {
    for text in [
        "",
        "k",
        "1z",
        "1..2k",
        "-1k",
        "1kk",
        "16e",
        "1 k",
        "99999999999999999999999",
    ] {
        assert!(bytes(text, 'm').is_err(), "{text}");
    }
}

proptest! {
    /// Every number of bytes survives being typed.
    #[test]
    fn bytes_round_trip(size: u64) {
        prop_assert_eq!(bytes(&format!("{size}b"), 'm'), Ok(size));
    }
}
