//! A goal holds against the best peer or not at all.

use super::{Estimate, Goal, Unit};

fn estimate(low: f64, median: f64) -> Estimate {
    Estimate {
        median,
        low,
        high: 9.0,
    }
}

#[test]
fn the_worst_peer_decides() {
    let ratios = [estimate(0.9, 1.4), estimate(0.8, 1.2)];
    let holds = |goal: Goal| {
        goal.verdict((3.0, Unit::Seconds), &ratios)
            .is_some_and(|text| text.contains("holds"))
    };
    assert!(holds(Goal::RatioAtLeast(1.2)) && !holds(Goal::RatioAtLeast(1.3)));
    assert!(holds(Goal::RatioAtMost(1.4)) && !holds(Goal::RatioAtMost(1.3)));
    assert!(holds(Goal::SurelyAtLeast(0.8)) && !holds(Goal::SurelyAtLeast(0.85)));
    assert!(holds(Goal::OursAtMost(3.0)) && !holds(Goal::OursAtMost(2.9)));
    assert!(holds(Goal::OursAtLeast(3.0)) && !holds(Goal::OursAtLeast(3.1)));
    assert!(holds(Goal::OursWithin(2.9, 3.0)) && !holds(Goal::OursWithin(3.1, 4.0)));
}

#[test]
fn without_a_peer_a_ratio_says_nothing() {
    assert_eq!(
        Goal::RatioAtLeast(1.0).verdict((3.0, Unit::Seconds), &[]),
        None
    );
    assert_eq!(Goal::None.verdict((3.0, Unit::Seconds), &[]), None);
}
