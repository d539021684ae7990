//! The estimates on data whose answer is known.

use super::{Random, median, ratio};

#[test]
#[expect(clippy::float_cmp, reason = "these values are exact")]
fn medians() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
}

#[test]
fn a_constant_ratio_has_no_interval() {
    let estimate = ratio(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]);
    assert_eq!(
        (estimate.low, estimate.median, estimate.high),
        (2.0, 2.0, 2.0)
    );
}

#[test]
fn the_interval_holds_the_truth_and_shrinks_with_data() {
    let mut random = Random(7);
    let mut noisy = |count: usize| -> Vec<f64> {
        (0..count)
            .map(|_| 1.5 + (random.below(2001) as f64 - 1000.0) / 5000.0)
            .collect()
    };
    let (few, many) = (noisy(10), noisy(1000));
    let [few, many] = [&few, &many].map(|ours| ratio(ours, &vec![1.0; ours.len()]));
    for estimate in [few, many] {
        assert!(estimate.low <= estimate.median && estimate.median <= estimate.high);
        assert!(estimate.low < 1.51 && estimate.high > 1.49, "{estimate:?}");
    }
    assert!(many.high - many.low < (few.high - few.low) / 2.0);
}

#[test]
fn one_wild_round_does_not_move_the_median() {
    let mut ours = vec![1.0; 9];
    ours[4] = 1000.0;
    let estimate = ratio(&ours, &[1.0; 9]);
    assert!((estimate.median - 1.0).abs() < 1e-9 && estimate.high < 2.0);
}
