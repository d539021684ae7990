//! From pairs and their control to a judgement with everything that belongs beside it.

use super::bootstrap::{Bootstrap, Interval};
use super::effect::CliffsDelta;
use super::error::Result;
use super::estimate::{deviation, hodges_lehmann};
use super::pairs::{Pair, log_ratios};
use super::real::{exp, ln};
use super::verdict::{Better, Comparison, Zone};

/// Pairs that are never asked for at once: whoever needs more needs another machine.
const MORE_MAX: f64 = 100_000.0;

/// How to judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judge {
    /// Differences that do not matter.
    pub zone: Zone,
    /// Which way is better.
    pub better: Better,
    /// Resamples and seed.
    pub bootstrap: Bootstrap,
}

/// Whether the machine is quiet enough for the zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// The control's interval is narrower than the zone and holds 1.
    Quiet,
    /// The control's interval is wider than the zone.
    TooNoisy {
        /// Pairs to add before it can be expected to fit.
        more_pairs: usize,
    },
    /// The control differs from itself by more than the zone: something else than noise is at
    /// work, and more pairs do not help.
    Biased,
}

/// A judgement, with what it rests on. Intervals are of ratios, other over base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict; undecided if the control says that the machine is too noisy or biased.
    pub comparison: Comparison,
    /// The 95 % interval of the ratio.
    pub ratio: Interval,
    /// The 90 % interval, that equivalence is judged by.
    pub narrow: Interval,
    /// The 95 % interval of the control's ratio.
    pub control: Interval,
    /// What the control says of the machine.
    pub noise: Noise,
    /// Spread of the control's logarithms: nearly its coefficient of variation.
    pub control_spread: f64,
    /// How often the other variant's number is above the base's, less how often it is below.
    pub effect: CliffsDelta,
    /// Pairs compared.
    pub pairs: usize,
    /// Pairs to add where the comparison itself was undecided; 0 where it was decided.
    pub more_pairs: usize,
}

impl Judge {
    /// Judges `pairs` beside the `control` measured in the same session.
    pub fn judge(&self, pairs: &[Pair], control: &[Pair]) -> Result<Judgement> {
        let (logs, control_logs) = (log_ratios(pairs)?, log_ratios(control)?);
        let levels = [0.95, 0.90];
        let [wide, narrow] = self.bootstrap.intervals(&logs, hodges_lehmann, levels)?;
        let control = self
            .bootstrap
            .intervals(&control_logs, hodges_lehmann, levels)?;
        let control_spread = deviation(&control_logs).unwrap_or(0.0);
        let noise = self.noise(&control[0], control_spread, control_logs.len());
        let (ratio, narrow) = (wide.map(exp), narrow.map(exp));
        let comparison = match noise {
            Noise::Quiet => self.zone.compare(&ratio, &narrow, self.better),
            _ => Comparison::Undecided,
        };
        let more_pairs = match comparison {
            Comparison::Undecided => {
                let spread = deviation(&logs).unwrap_or(0.0);
                self.more(spread, pairs.len())
            }
            _ => 0,
        };
        let side = |of: fn(&Pair) -> f64| pairs.iter().map(of).collect::<Vec<f64>>();
        Ok(Judgement {
            comparison,
            ratio,
            narrow,
            control: control[0].map(exp),
            noise,
            control_spread,
            effect: CliffsDelta::of(&side(|pair| pair.other), &side(|pair| pair.base)),
            pairs: pairs.len(),
            more_pairs,
        })
    }

    fn noise(&self, control: &Interval, spread: f64, pairs: usize) -> Noise {
        let (low, high) = self.zone.limits();
        if control.low > ln(high) || control.high < ln(low) {
            Noise::Biased
        } else if control.half_width() > ln(high) {
            Noise::TooNoisy {
                more_pairs: self.more(spread, pairs),
            }
        } else {
            Noise::Quiet
        }
    }

    /// Pairs to add until 95 % of the estimates lie within the zone around the truth; 1 at least.
    fn more(&self, spread: f64, pairs: usize) -> usize {
        let root = 1.96 * spread / ln(self.zone.limits().1);
        let needed = (root * root).ceil().min(MORE_MAX) as usize;
        needed.saturating_sub(pairs).max(1)
    }
}
