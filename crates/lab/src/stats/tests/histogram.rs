//! The histogram against sorted values, and its text against damage.

use crate::stats::{Histogram, Kind};
use block::sim::Random;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.add(*value);
    }
    histogram
}

proptest! {
    /// Cut anywhere and merged, it is the histogram of all values; its text gives it back.
    #[test]
    fn merging_loses_nothing(
        first in proptest::collection::vec(0_u64..u64::MAX, 0..40),
        second in proptest::collection::vec(0_u64..5000, 0..40),
    ) {
        let mut merged = of(&first);
        merged.merge(&of(&second));
        let mut other = of(&second);
        other.merge(&of(&first));
        let all = of(&[first, second].concat());
        prop_assert_eq!(&merged, &all);
        prop_assert_eq!(&other, &all);
        prop_assert_eq!(Histogram::from_text(&all.to_text()), Ok(all));
    }

    /// A quantile is within the stated error of the value at its rank.
    #[test]
    fn quantiles_keep_their_bound(
        mut values in proptest::collection::vec(0_u64..u64::MAX >> 3, 1..60),
        shift in 0_u32..60,
        q in 0.0_f64..=1.0,
    ) {
        for value in &mut values {
            *value >>= shift;
        }
        let found = of(&values).quantile(q).expect("values");
        values.sort_unstable();
        let rank = ((q * values.len() as f64).ceil() as usize).max(1);
        let exact = values[rank - 1];
        let off = found.abs_diff(exact) as f64;
        prop_assert!(off <= exact as f64 * Histogram::ERROR_MAX, "{found} for {exact}");
    }

    /// No text makes the decoder panic.
    #[test]
    fn hostile_text_is_answered(text in "[0-9: x-]{0,40}") {
        let _ = Histogram::from_text(&text);
    }
}

/// The extremes of 64 bits have buckets.
#[test]
fn extremes_are_counted() {
    let histogram = of(&[0, u64::MAX, 255, 256, 257]);
    assert_eq!(histogram.range(), Some((0, u64::MAX)));
    assert_eq!(histogram.quantile(1.0), Some(u64::MAX - (1 << 55)));
    assert_eq!(histogram.quantile(0.0), Some(0));
    assert_eq!(of(&[]).quantile(0.5), None);
    assert_eq!(of(&[2, 4]).mean(), Some(3.0));
}

/// Damage is named: parts that do not agree, buckets that do not exist.
#[test]
fn damaged_text_is_refused() {
    let text = of(&[3, 300, 70_000]).to_text();
    assert!(Histogram::from_text(&text).is_ok());
    for (from, to) in [
        ("3 ", "4 "),
        (" 70303 ", " 1 "),
        (" 3 ", " 2 "),
        ("3:1", "3:2"),
        (":", "="),
    ] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text);
        let error = Histogram::from_text(&damaged).expect_err(&damaged);
        assert_eq!(error.kind(), Kind::Damaged);
    }
    assert!(Histogram::from_text("1 5 5 5 99999999:1").is_err());
    let mut random = Random::new(5);
    for _ in 0..2000 {
        let mut bytes = text.clone().into_bytes();
        let at = random.index(bytes.len());
        bytes[at] = b'0' + random.below(12) as u8;
        let _ = Histogram::from_text(&String::from_utf8(bytes).expect("text"));
    }
}
