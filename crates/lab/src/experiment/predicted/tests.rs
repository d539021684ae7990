//! Arms have a prediction or a reason, and errors add up to a summary.

use super::{Comparison, Predicted, Summary, compare, predicted};
use crate::experiment::{Arm, Experiment, Record, find};
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
        terms: Vec::new(),
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
        let (found, terms) = predicted(arm.expect(words)).expect(words);
        assert!(terms.is_empty());
        assert_eq!(found.metric, "iops");
        let value = found.estimate.value;
        assert!((value / wanted - 1.0).abs() < 0.06, "{words}: {value}");
    }
}

/// A record of an arm whose metrics are all 1.
fn recorded(experiment: &Experiment, arm: &Arm, metrics: &[&str]) -> Record {
    let values = metrics.iter().map(|name| ((*name).to_owned(), 1.0));
    Record {
        experiment: experiment.name.clone(),
        arm: arm.key(),
        replicate: 0,
        seed: 1,
        config: arm.hash,
        values: values.collect(),
    }
}

/// What has no formula says so, once for all arms.
#[test]
fn programs_without_formulas_say_so() {
    let experiment = find("bonnie").expect("it is part of the program");
    let record = recorded(&experiment, &experiment.arms[0], &["elapsed_s"]);
    let all = compare(&experiment, &[record]);
    assert_eq!(all.len(), 1);
    let summary = Summary::of(&all);
    assert_eq!((summary.count, summary.without.len()), (0, 1));
    let reason = summary.without.keys().next().expect("a reason");
    assert!(reason.contains("other than PostMark"), "{reason}");
}

/// `PostMark` has a prediction of its time and of Eq. 1's terms, which with the processor's time
/// are the whole, each beside what was emulated.
#[test]
fn postmark_has_terms() {
    let experiment = find("postmark").expect("it is part of the program");
    let words = "native test2";
    let arm = experiment.arms.iter().find(|arm| arm.is_named(words));
    let metrics = ["elapsed_s", "file_data_s", "journal_s"];
    let record = recorded(&experiment, arm.expect(words), &metrics);
    let all = compare(&experiment, &[record]);
    let [one] = &all[..] else {
        panic!("one arm");
    };
    assert!(one.is_program() && one.error().is_some());
    let whole = one.predicted.as_ref().expect("a prediction").estimate.value;
    let terms: f64 = one.terms.iter().map(|(term, _)| term.estimate.value).sum();
    assert_eq!(one.terms.len(), 5);
    assert!(terms < whole && terms > whole * 0.9, "{terms} of {whole}");
    let seen = one.terms.iter().filter(|(_, seen)| *seen == Some(1.0));
    assert_eq!(seen.count(), 2);
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
