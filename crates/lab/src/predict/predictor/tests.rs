//! The predictor against the emulated disks, on a few cases: a loose bound that shows breakage, not
//! the score, which the example `score` prints.

use super::predict;
use crate::disk::catalog;
use crate::predict::cases;
use crate::predict::emulate;

/// The middle of fifteen errors is small.
#[test]
fn predictions_are_near() {
    let library = catalog::library();
    let mut errors = Vec::new();
    for seed in 1..=40 {
        let case = cases::case(seed, &library).unwrap();
        if case.open.is_some() || errors.len() == 15 {
            continue;
        }
        let mut load = case.load;
        (load.warm_up, load.counted) = (500, 2000);
        let seen = emulate::run(&case.volume, &load, seed).unwrap();
        let told = predict(&case.volume, &load).unwrap();
        assert!(
            told.per_second.is_finite() && told.per_second > 0.0,
            "{seed}"
        );
        errors.push((told.per_second / seen.per_second - 1.0).abs());
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors[7] < 0.1, "{errors:?}");
    assert!(errors[12] < 0.4, "{errors:?}");
}
