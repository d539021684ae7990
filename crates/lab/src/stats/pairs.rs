//! Pairs: the order in which variants are measured, and the ratios that come of it.

use super::error::{Error, Kind, Result};
use super::real::ln;
use block::sim::Random;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// The variant compared against.
    Base,
    /// The base once more, under another name: the control.
    Control,
    /// The other variant.
    Other,
}

/// One measurement of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Measurement {
    /// Its pair, from 0; pairs of the control are counted on their own.
    pub pair: usize,
    /// Whether it is half of a pair of the control.
    pub control: bool,
    /// What is measured.
    pub variant: Variant,
}

/// Two measurements of one pair, in any unit but the same one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Of the base.
    pub base: f64,
    /// Of the other variant, or of the control.
    pub other: f64,
}

/// The order of `pairs` comparisons and as many controls: pairs shuffled, and each turned round by
/// chance, so that neither drift nor the order within a pair favours a variant.
pub fn plan(pairs: usize, seed: u64) -> Vec<Measurement> {
    let mut random = Random::new(seed);
    let mut halves: Vec<[Measurement; 2]> = Vec::with_capacity(2 * pairs);
    for pair in 0..pairs {
        for (control, second) in [(false, Variant::Other), (true, Variant::Control)] {
            let both = [Variant::Base, second].map(|variant| Measurement {
                pair,
                control,
                variant,
            });
            halves.push(both);
        }
    }
    for index in (1..halves.len()).rev() {
        halves.swap(index, random.index(index + 1));
    }
    for both in &mut halves {
        if random.chance(1, 2) {
            both.reverse();
        }
    }
    halves.into_iter().flatten().collect()
}

/// The logarithms of other over base.
pub fn log_ratios(pairs: &[Pair]) -> Result<Vec<f64>> {
    let ratio = |(index, pair): (usize, &Pair)| {
        let measured = |x: f64| x.is_finite() && x > 0.0;
        if measured(pair.base) && measured(pair.other) {
            return Ok(ln(pair.other) - ln(pair.base));
        }
        let text = format!(
            "pair {}: {} and {} have no ratio; both must be above 0",
            index + 1,
            pair.base,
            pair.other
        );
        Err(Error::new(Kind::NotANumber, text))
    };
    pairs.iter().enumerate().map(ratio).collect()
}
