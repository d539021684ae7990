//! Functions against closed forms and naive computations.

use crate::stats::real::{exp, ln, normal_below, normal_point, student_point};
use crate::stats::{
    Better, Bootstrap, Claim, CliffsDelta, Comparison, Interval, Kind, Pair, Region, SlopeTest,
    Steady, StorageWindow, Variant, Verdict, Zone, deviation, hodges_lehmann, log_ratios, mean,
    median, plan, quantile,
};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

fn near(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * b.abs().max(1e-300)
}

/// Logarithm and exponential are within four units in the last place of the platform's.
#[test]
fn logarithm_and_exponential_are_accurate() {
    for step in -3000..3000 {
        let x = f64::from(step) / 10.0 + 0.0123;
        assert!(
            near(exp(x), x.exp(), 1e-15),
            "exp {x}: {} {}",
            exp(x),
            x.exp()
        );
        let y = x.exp();
        assert!(near(ln(y), y.ln(), 1e-15), "ln {y}: {} {}", ln(y), y.ln());
        let close = 1.0 + f64::from(step) * 1e-9;
        assert!((ln(close) - close.ln()).abs() < 1e-21 + 4e-16 * close.ln().abs());
    }
    assert_eq!((ln(1.0), exp(0.0)), (0.0, 1.0));
    assert!(ln(0.0) == f64::NEG_INFINITY && ln(-1.0).is_nan() && ln(f64::NAN).is_nan());
    assert!(near(ln(5e-324), -744.4400719213812, 1e-15));
    assert!(exp(1000.0) == f64::INFINITY && exp(-1000.0) == 0.0 && exp(-744.0) > 0.0);
}

/// The same bits on every machine: a digest of many results.
#[test]
fn results_are_the_same_bits_everywhere() {
    let mut hash = 0_u64;
    for step in 1..2000 {
        let x = f64::from(step) / 37.0;
        for value in [
            ln(x),
            exp(x - 20.0),
            normal_below(x - 25.0),
            normal_point(1.0 / (x + 2.0)),
        ] {
            hash = (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(hash, BITS, "{hash:#x}");
}
const BITS: u64 = 0x3707_93a2_23fa_bbb7;

/// The normal distribution and Student's against tables.
#[test]
fn distributions_are_the_tabulated_ones() {
    for (x, below) in [
        (0.0, 0.5),
        (1.0, 0.8413447460685429),
        (-1.959963984540054, 0.025),
        (3.0, 0.9986501019683699),
        (-6.5, 4.016000583859118e-11),
        (-10.0, 7.619853024160526e-24),
    ] {
        assert!(
            near(normal_below(x), below, 1e-12),
            "{x}: {}",
            normal_below(x)
        );
    }
    for p in [1e-9, 0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.999999] {
        let back = normal_below(normal_point(p));
        assert!(near(back, p, 1e-12), "{p}: {back}");
    }
    for (freedom, point) in [(5.0, 2.5706), (9.0, 2.2622), (19.0, 2.0930), (99.0, 1.9842)] {
        assert!(
            (student_point(0.975, freedom) - point).abs() < 0.004,
            "{freedom}"
        );
    }
}

/// Small cases by hand.
#[test]
fn centres_and_spreads_are_exact() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    // Walsh means of 1, 2, 9: 1 1.5 2 5 5.5 9.
    assert_eq!(hodges_lehmann(&[1.0, 2.0, 9.0]), Some(3.5));
    assert_eq!((mean(&[1.0, 2.0]), mean(&[])), (Some(1.5), None));
    assert_eq!(
        deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]),
        Some((32.0_f64 / 7.0).sqrt())
    );
    assert_eq!((deviation(&[1.0]), median(&[])), (None, None));
    assert_eq!(quantile(&[10.0, 30.0, 20.0], 0.75), Some(25.0));
    assert_eq!(quantile(&[7.0], 0.1), Some(7.0));
}

proptest! {
    /// The selection agrees with sorting everything.
    #[test]
    fn hodges_lehmann_is_the_median_of_all_means(
        numbers in proptest::collection::vec(-100.0_f64..100.0, 1..12),
    ) {
        let mut all = Vec::new();
        for (index, a) in numbers.iter().enumerate() {
            for b in &numbers[index..] {
                all.push(a / 2.0 + b / 2.0);
            }
        }
        all.sort_by(f64::total_cmp);
        let naive = (all[(all.len() - 1) / 2] / 2.0) + (all[all.len() / 2] / 2.0);
        let found = hodges_lehmann(&numbers).expect("numbers");
        prop_assert!((found - naive).abs() < 1e-12);
    }

    /// Above 256 numbers the middle is searched for: it is the one of a list of all means.
    #[test]
    fn searching_finds_the_same_middle(
        numbers in proptest::collection::vec(-9_i32..9, 257..300),
        scale in 1_i32..7,
    ) {
        let numbers: Vec<f64> = numbers.iter().map(|n| f64::from(*n) / f64::from(scale)).collect();
        let mut all = Vec::new();
        for (index, a) in numbers.iter().enumerate() {
            all.extend(numbers[index..].iter().map(|b| a / 2.0 + b / 2.0));
        }
        prop_assert_eq!(hodges_lehmann(&numbers), median(&all));
    }

    /// Sorting and searching counts what comparing everything counts.
    #[test]
    fn delta_counts_all_pairs(
        first in proptest::collection::vec(0_i32..9, 0..12),
        second in proptest::collection::vec(0_i32..9, 0..12),
    ) {
        let real = |numbers: &[i32]| numbers.iter().map(|n| f64::from(*n)).collect::<Vec<_>>();
        let found = CliffsDelta::of(&real(&first), &real(&second));
        let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
        let above = pairs.clone().filter(|(a, b)| a > b).count() as u64;
        let below = pairs.filter(|(a, b)| a < b).count() as u64;
        prop_assert_eq!((found.above, found.below), (above, below));
        prop_assert!(found.value().abs() <= 1.0);
    }
}

/// An interval needs enough numbers, and finite ones.
#[test]
fn bad_numbers_are_refused() {
    let bootstrap = Bootstrap::default();
    let kind = |numbers: &[f64], level: f64| {
        let failed = bootstrap.intervals(numbers, median, [level]);
        failed.expect_err("refused").kind()
    };
    assert_eq!(kind(&[1.0; 5], 0.95), Kind::TooFew);
    assert_eq!(
        kind(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN], 0.95),
        Kind::NotANumber
    );
    assert_eq!(kind(&[1.0; 6], 1.0), Kind::BadLimits);
    let pair = |base, other| {
        log_ratios(&[Pair { base, other }])
            .expect_err("refused")
            .kind()
    };
    assert_eq!(pair(0.0, 1.0), Kind::NotANumber);
    assert_eq!(pair(1.0, f64::INFINITY), Kind::NotANumber);
    assert_eq!(
        Zone::of_share(0.0).expect_err("refused").kind(),
        Kind::BadLimits
    );
    assert_eq!(
        Region::new(2.0, 1.0).expect_err("refused").kind(),
        Kind::BadLimits
    );
}

/// Equal numbers have an interval without width; one seed always gives one interval.
#[test]
fn intervals_repeat_and_may_have_no_width() {
    let bootstrap = Bootstrap {
        resamples: 1000,
        seed: 9,
    };
    let [flat] = bootstrap
        .intervals(&[2.0; 8], hodges_lehmann, [0.95])
        .expect("interval");
    assert_eq!((flat.low, flat.estimate, flat.high), (2.0, 2.0, 2.0));
    let numbers: Vec<f64> = (0..20).map(|n| f64::from(n * n % 17)).collect();
    let twice = || {
        bootstrap
            .intervals(&numbers, hodges_lehmann, [0.95, 0.5])
            .expect("interval")
    };
    let [wide, narrow] = twice();
    assert_eq!(twice(), [wide, narrow]);
    assert!(wide.low <= narrow.low && narrow.high <= wide.high);
    assert!(wide.contains(wide.estimate) && wide.half_width() > 0.0);
}

/// A plan has every pair once, its halves together, both orders, and repeats with its seed.
#[test]
fn plans_interleave_and_turn_round() {
    let plan_of = plan(40, 7);
    assert_eq!((plan_of.len(), &plan_of), (160, &plan(40, 7)));
    assert_ne!(plan_of, plan(40, 8));
    let mut base_first = 0;
    let mut seen = std::collections::HashSet::new();
    for both in plan_of.chunks(2) {
        assert_eq!(
            (both[0].pair, both[0].control),
            (both[1].pair, both[1].control)
        );
        assert!(seen.insert((both[0].pair, both[0].control)));
        let base = both
            .iter()
            .filter(|half| half.variant == Variant::Base)
            .count();
        assert_eq!(base, 1);
        base_first += usize::from(both[0].variant == Variant::Base);
    }
    assert!((20..=60).contains(&base_first), "{base_first}");
}

fn interval(low: f64, high: f64) -> Interval {
    let estimate = f64::midpoint(low, high);
    Interval {
        low,
        estimate,
        high,
    }
}

/// Each verdict where its interval is, at the edges too.
#[test]
fn comparisons_follow_the_interval() {
    let zone = Zone::of_share(0.02).expect("zone");
    let compare = |low, high, better| {
        let interval = interval(low, high);
        zone.compare(&interval, &interval, better)
    };
    assert_eq!(compare(0.99, 1.02, Better::Higher), Comparison::Equivalent);
    assert_eq!(compare(1.021, 1.03, Better::Higher), Comparison::Better);
    assert_eq!(compare(1.021, 1.03, Better::Lower), Comparison::Worse);
    assert_eq!(compare(0.9, 0.97, Better::Higher), Comparison::Worse);
    assert_eq!(compare(0.9, 0.97, Better::Lower), Comparison::Better);
    assert_eq!(compare(0.99, 1.05, Better::Higher), Comparison::Undecided);
    assert_eq!(compare(0.9, 1.1, Better::Higher), Comparison::Undecided);
}

/// The claim "63 % faster, at least 1.4": confirmed, refuted, no difference at all, unknown.
#[test]
fn claims_follow_the_interval() {
    let zone = Zone::of_share(0.02).expect("zone");
    let claim = Claim {
        confirm: Region::new(1.4, 1.9).expect("region"),
        refute: None,
    };
    let narrow_refutation = Claim {
        refute: Some(Region::up_to(1.05).expect("region")),
        ..claim
    };
    let judge =
        |claim: &Claim, low, high| claim.judge(&interval(low, high), &interval(low, high), &zone);
    assert_eq!(judge(&claim, 1.5, 1.7), Verdict::Confirmed);
    assert_eq!(judge(&claim, 0.995, 1.01), Verdict::Equivalent);
    assert_eq!(judge(&claim, 1.1, 1.2), Verdict::Refuted);
    assert_eq!(judge(&narrow_refutation, 1.1, 1.2), Verdict::Undecided);
    assert_eq!(judge(&narrow_refutation, 0.9, 0.95), Verdict::Refuted);
    assert_eq!(judge(&claim, 1.3, 1.5), Verdict::Undecided);
    let none = Claim {
        confirm: Region::new(0.97, 1.05).expect("region"),
        refute: Some(Region::from(1.05).expect("region")),
    };
    assert_eq!(judge(&none, 0.99, 1.01), Verdict::Confirmed);
}

/// A run that climbs and then holds is cut where it holds; one that never does is not cut at all.
#[test]
fn warm_up_is_cut_by_rule() {
    let climbing = [
        10.0, 20.0, 40.0, 80.0, 100.0, 101.0, 99.0, 100.0, 100.0, 102.0,
    ];
    let window = StorageWindow::default();
    assert_eq!(window.find(&climbing), Some(Steady { start: 4, end: 9 }));
    assert_eq!(window.find(&climbing[..8]), None);
    let falling: Vec<f64> = (0..50).map(|n| 100.0 - f64::from(n)).collect();
    assert_eq!(SlopeTest::default().find(&falling), None);
    let mut samples = vec![5.0, 10.0, 20.0, 60.0];
    samples.extend([100.0; 36]);
    assert_eq!(
        SlopeTest::default().find(&samples),
        Some(Steady { start: 4, end: 40 })
    );
    assert_eq!(SlopeTest::default().find(&[1.0]), None);
    assert_eq!(window.find(&[0.0; 9]), None);
}
