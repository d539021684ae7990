//! Planted differences are found, planted nothing is found too, and intervals cover the truth.
//!
//! The noise is stated, and worse than normal: the session's speed drifts (a random walk of 1 % per
//! pair, which pairs cancel), each measurement has log-normal noise of 1 %, one in fifty stumbles
//! and takes 20 % longer, and the first of a pair takes 0.3 % longer than the second.

use crate::stats::real::{exp, normal_point};
use crate::stats::{
    Better, Bootstrap, Comparison, Judge, Judgement, Noise, Pair, Variant, Zone, hodges_lehmann,
    median, plan,
};
use block::sim::Random;

const DRIFT: f64 = 0.01;
const STUMBLE: f64 = 0.20;
const FIRST: f64 = 0.003;

fn normal(random: &mut Random) -> f64 {
    normal_point((random.below(1 << 52) as f64 + 0.5) / (1_u64 << 52) as f64)
}

/// Times of a session of pairs and controls, where the other variant takes `layer` more.
fn session(pairs: usize, layer: f64, noise: f64, seed: u64) -> (Vec<Pair>, Vec<Pair>) {
    let mut random = Random::new(seed);
    let empty = Pair {
        base: 0.0,
        other: 0.0,
    };
    let (mut compared, mut control) = (vec![empty; pairs], vec![empty; pairs]);
    let mut speed = 0.0;
    for both in plan(pairs, seed).chunks(2) {
        speed += DRIFT * normal(&mut random);
        for (half, first) in both.iter().zip([FIRST, 0.0]) {
            let stumble = if random.chance(1, 50) { STUMBLE } else { 0.0 };
            let time = exp(speed + first + stumble + noise * normal(&mut random));
            let set = if half.control {
                &mut control
            } else {
                &mut compared
            };
            match half.variant {
                Variant::Base => set[half.pair].base = time,
                Variant::Other => set[half.pair].other = time * (1.0 + layer),
                Variant::Control => set[half.pair].other = time,
            }
        }
    }
    (compared, control)
}

fn judged(pairs: usize, layer: f64, noise: f64, seed: u64) -> Judgement {
    let judge = Judge {
        zone: Zone::of_share(0.01).expect("zone"),
        better: Better::Lower,
        bootstrap: Bootstrap {
            resamples: 2000,
            seed,
        },
    };
    let (compared, control) = session(pairs, layer, noise, seed);
    judge.judge(&compared, &control).expect("a judgement")
}

/// A layer of 3 % is called worse, one of nothing equivalent, each in 19 of 20 seeds or more;
/// and nothing is ever called the opposite.
#[test]
fn planted_layers_are_judged_right() {
    for (layer, expected) in [(0.03, Comparison::Worse), (0.0, Comparison::Equivalent)] {
        let found: Vec<Comparison> = (1..=20)
            .map(|seed| judged(40, layer, 0.01, seed).comparison)
            .collect();
        let right = found.iter().filter(|found| **found == expected).count();
        println!("planted {layer}: {right} of 20 right");
        assert!(right >= 19, "{layer}: {right} of 20: {found:?}");
        assert!(
            found
                .iter()
                .all(|f| *f == expected || *f == Comparison::Undecided)
        );
    }
}

/// On a machine five times as noisy nothing is decided, and the pairs asked for suffice.
#[test]
fn noise_is_named_and_more_pairs_help() {
    let judgement = judged(20, 0.03, 0.05, 3);
    assert_eq!(judgement.comparison, Comparison::Undecided);
    let Noise::TooNoisy { more_pairs } = judgement.noise else {
        panic!("{judgement:?}");
    };
    assert!((50..500).contains(&more_pairs), "{more_pairs}");
    let again = judged(20 + 2 * more_pairs, 0.03, 0.05, 3);
    assert_eq!(
        (again.noise, again.comparison),
        (Noise::Quiet, Comparison::Worse)
    );
    assert!(again.effect.value() > 0.0 && again.more_pairs == 0);
}

/// A control that differs from itself spoils the session, however clear the difference looks.
#[test]
fn biased_control_decides_nothing() {
    let judge = Judge {
        zone: Zone::of_share(0.01).expect("zone"),
        better: Better::Lower,
        bootstrap: Bootstrap::default(),
    };
    let (compared, mut control) = session(30, 0.03, 0.005, 4);
    for pair in &mut control {
        pair.other *= 1.05;
    }
    let judgement = judge.judge(&compared, &control).expect("a judgement");
    assert_eq!(judgement.noise, Noise::Biased);
    assert_eq!(judgement.comparison, Comparison::Undecided);
}

/// 95 % intervals hold the truth in about 95 % of 400 samples, normal and skewed, small and not.
#[test]
fn intervals_cover_the_truth() {
    for (name, len, skewed) in [
        ("normal, 10", 10, false),
        ("normal, 30", 30, false),
        ("skewed, 20", 20, true),
    ] {
        let (mut held, mut held_median) = (0, 0);
        for seed in 0..400 {
            let mut random = Random::new(1000 + seed);
            let numbers: Vec<f64> = (0..len)
                .map(|_| normal(&mut random))
                .map(|z| if skewed { exp(0.5 * z) } else { z })
                .collect();
            // The Hodges-Lehmann estimate of exp(z/2) aims a little above its median of 1: the
            // median of the mean of two, 1.0595 by 10^6 draws.
            let (centre, middle) = if skewed { (1.0595, 1.0) } else { (0.0, 0.0) };
            let bootstrap = Bootstrap {
                resamples: 400,
                seed,
            };
            let holds = |statistic: fn(&[f64]) -> Option<f64>, truth: f64| {
                let found = bootstrap.intervals(&numbers, statistic, [0.95]);
                usize::from(found.expect("an interval")[0].contains(truth))
            };
            held += holds(hodges_lehmann, centre);
            held_median += holds(median, middle);
        }
        println!("{name}: Hodges-Lehmann {held}, median {held_median} of 400 hold the truth");
        assert!((364..=396).contains(&held), "{name}: {held} of 400");
        assert!(
            (364..=398).contains(&held_median),
            "{name}: {held_median} of 400"
        );
    }
}
