//! Arms have a prediction or a reason, and errors add up to a summary.

use super::{Comparison, Predicted, Summary, compare, predicted};
use crate::experiment::{Record, find};
use crate::predict::Estimate;

fn comparison(value: f64, emulated: f64) -> Comparison {
    let estimate = Estimate {
        value,
        low: value * 0.9,
        high: value * 1.1,
    };
    Comparison {
        arm: String::new(),
        predicted: Ok(Predicted {
            metric: "iops",
            estimate,
        }),
        emulated: Some(emulated),
    }
}

/// Capped disks have closed forms: one of 600, and six of them in turn.
#[test]
fn capped_arms_have_their_closed_forms() {
    let experiment = find("striping").expect("it is part of the program");
    for (words, wanted) in [
        ("one hot depth=64", 600.0),
        ("striped6 hot depth=1", 600.0),
        ("striped6 hot depth=640", 3600.0),
        ("linear6 hot depth=64", 600.0),
    ] {
        let arm = experiment.arms.iter().find(|arm| arm.is_named(words));
        let found = predicted(arm.expect(words)).expect(words);
        assert_eq!(found.metric, "iops");
        let value = found.estimate.value;
        assert!((value / wanted - 1.0).abs() < 0.06, "{words}: {value}");
    }
}

/// What has no formula says so, once for all arms.
#[test]
fn programs_have_no_prediction() {
    let experiment = find("postmark").expect("it is part of the program");
    let arm = &experiment.arms[0];
    let record = Record {
        experiment: experiment.name.clone(),
        arm: arm.key(),
        replicate: 0,
        seed: 1,
        config: arm.hash,
        values: std::iter::once(("elapsed_s".to_owned(), 1.0)).collect(),
    };
    let all = compare(&experiment, &[record]);
    assert_eq!(all.len(), 1);
    let summary = Summary::of(&all);
    assert_eq!((summary.count, summary.without.len()), (0, 1));
    let reason = summary.without.keys().next().expect("a reason");
    assert!(reason.contains("file system"), "{reason}");
}

/// Median and 95th percentile are those of the absolute errors.
#[test]
fn errors_are_summed_up() {
    let all: Vec<Comparison> = (1..=21)
        .map(|percent| comparison(100.0 + f64::from(percent), 100.0))
        .collect();
    let summary = Summary::of(&all);
    assert_eq!(summary.count, 21);
    assert!((summary.median - 0.11).abs() < 1e-9);
    assert!((summary.p95 - 0.20).abs() < 1e-9);
    // 111 * 0.9 is below 100, 112 * 0.9 above it.
    assert_eq!(summary.inside, 11);
}
