//! Rules about several arms against sums that are known.

use std::collections::BTreeMap;

use super::{Group, Over, Point, fit, shares};
use crate::experiment::record::Record;
use crate::experiment::rule::Runs;

fn record(arm: &str, replicate: u64, value: f64) -> Record {
    Record {
        experiment: "x".to_owned(),
        arm: arm.to_owned(),
        replicate,
        seed: 0,
        config: 0,
        values: BTreeMap::from([("time".to_owned(), value)]),
    }
}

fn values(over: Over, records: &[Record]) -> Vec<f64> {
    let runs: Runs<'_> = records
        .iter()
        .map(|record| ((record.arm.as_str(), record.replicate), record))
        .collect();
    let base = |name: &str| (over != Over::Spread).then(|| name.to_owned());
    let pairs = vec![("a".to_owned(), base("c")), ("b".to_owned(), base("d"))];
    Group { over, pairs }.values("time", &runs)
}

#[test]
fn spread_mean_and_best_are_what_their_names_say() {
    // 2/1 and 8/1: spread 4, mean 4, best 8; a replicate that lacks an arm does not count.
    let all = [("a", 2.0), ("b", 8.0), ("c", 1.0), ("d", 1.0)];
    let mut records: Vec<Record> = all.map(|(arm, value)| record(arm, 0, value)).to_vec();
    records.push(record("a", 1, 5.0));
    for (over, wanted) in [(Over::Spread, 4.0), (Over::Mean, 4.0), (Over::Best, 8.0)] {
        let found = values(over.clone(), &records);
        assert_eq!(found.len(), 1);
        assert!((found[0] - wanted).abs() < 1e-12, "{over:?}: {found:?}");
    }
}

fn point(difference: f64, causes: [f64; 2]) -> Point {
    Point {
        difference,
        causes: causes.to_vec(),
    }
}

#[test]
fn a_line_that_is_there_is_found_and_explains_all() {
    // 3 x + 0.5 y, whatever x and y are; without a difference nothing is explained.
    let at = |x: f64, y: f64| point(3.0 * x + 0.5 * y, [x, y]);
    let replicates: Vec<Vec<Point>> = (1..7)
        .map(|n| {
            vec![
                at(f64::from(n), 2.0),
                at(1.0, f64::from(n * n)),
                at(4.0, 4.0),
            ]
        })
        .collect();
    let points: Vec<&Point> = replicates.iter().flatten().collect();
    let slopes = fit(&points);
    assert!((slopes[0] - 3.0).abs() < 1e-9 && (slopes[1] - 0.5).abs() < 1e-9);
    assert!(shares(&replicates).iter().all(|share| *share > 1.0 - 1e-9));
    let none = vec![vec![point(0.0, [1.0, 2.0])]; 6];
    assert!(shares(&none).iter().all(|share| *share <= 0.001));
    let same = [point(1.0, [0.0, 0.0]), point(2.0, [0.0, 0.0])];
    assert_eq!(fit(&[&same[0], &same[1]]), [0.0, 0.0]);
}

#[test]
fn a_line_does_not_explain_noise() {
    // Differences that have nothing to do with the counts: fitted, but not foretold.
    let mut random = block::sim::Random::new(9);
    let mut noise = || random.below(2001) as f64 - 1000.0;
    let replicates: Vec<Vec<Point>> = (0..20)
        .map(|_| {
            let point = |index: f64| point(noise(), [10.0 + index, 20.0 - index]);
            (0..6).map(f64::from).map(point).collect()
        })
        .collect();
    let mut shares = shares(&replicates);
    shares.sort_by(f64::total_cmp);
    assert!(shares[10] < 0.1, "{shares:?}");
}
