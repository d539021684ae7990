//! What a cell shows of a number.

use super::Value;

/// Only all of something is 100 per cent, and only nothing is 0, however much is rounded.
#[test]
fn percentages_round_to_neither_end() {
    let cases = [
        (0, 7, "0.00"),
        (7, 7, "100.00"),
        (1, 3, "33.33"),
        (2, 3, "66.67"),
        (1, u64::MAX, "0.01"),
        (u64::MAX - 1, u64::MAX, "99.99"),
        (0, 0, "0.00"),
    ];
    for (part, whole, wanted) in cases {
        let percent = Value::percent(part, whole);
        assert_eq!(percent.text, wanted, "{part} of {whole}");
    }
    assert_eq!(Value::percent(1, 4).compared_number(), 25_000_000);
}
