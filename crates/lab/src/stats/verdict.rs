//! Verdicts: what an interval of a ratio says, and nothing more than it says.
//!
//! ```text
//!               zone
//!    ───────┤   1   ├───────▸ ratio
//!     [--]                       worse: the whole 95 % interval is below the zone
//!              [--]              equivalent: the whole 90 % interval is inside (two tests)
//!                      [--]      better: the whole 95 % interval is above
//!          [------]              undecided
//! ```

use super::bootstrap::Interval;
use super::error::{Error, Kind, Result};

/// Ratios that make no difference to anybody.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zone {
    low: f64,
    high: f64,
}

/// Whether more of the metric is better (a rate) or less (a time).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// As with rates.
    Higher,
    /// As with times.
    Lower,
}

/// What a comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The other variant is better by more than the zone.
    Better,
    /// It is worse by more than the zone.
    Worse,
    /// The difference is within the zone.
    Equivalent,
    /// The measurements do not say.
    Undecided,
}

/// What a claim came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is where the claim has it.
    Confirmed,
    /// The whole interval is where the claim forbids it.
    Refuted,
    /// The claim names a difference, and there is none that matters.
    Equivalent,
    /// The measurements do not say.
    Undecided,
}

/// Ratios from one limit to another, both included; infinity is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    low: f64,
    high: f64,
}

/// A claim about a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Where the ratio is if the claim holds.
    pub confirm: Region,
    /// Where it is if the claim is wrong; everything outside `confirm` unless given.
    pub refute: Option<Region>,
}

impl Zone {
    /// A zone from 1 / (1 + share) to 1 + share: 0.02 for two percent either way.
    pub fn of_share(share: f64) -> Result<Self> {
        if !(share > 0.0 && share < 1.0) {
            let text = format!("a zone of {share} is none: it lies between 0 and 1");
            return Err(Error::new(Kind::BadLimits, text));
        }
        Ok(Self {
            low: 1.0 / (1.0 + share),
            high: 1.0 + share,
        })
    }

    /// Its limits as ratios.
    pub fn limits(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Compares, from the 95 % and the 90 % interval of other over base.
    pub fn compare(&self, wide: &Interval, narrow: &Interval, better: Better) -> Comparison {
        let (above, below) = match better {
            Better::Higher => (Comparison::Better, Comparison::Worse),
            Better::Lower => (Comparison::Worse, Comparison::Better),
        };
        if self.low <= narrow.low && narrow.high <= self.high {
            Comparison::Equivalent
        } else if wide.low > self.high {
            above
        } else if wide.high < self.low {
            below
        } else {
            Comparison::Undecided
        }
    }
}

impl Region {
    /// From `low` to `high`; infinity is allowed as a limit.
    pub fn new(low: f64, high: f64) -> Result<Self> {
        if low.is_nan() || high.is_nan() || low > high {
            let text = format!("no region: from {low} to {high}");
            return Err(Error::new(Kind::BadLimits, text));
        }
        Ok(Self { low, high })
    }

    /// Everything from `low` on.
    pub fn from(low: f64) -> Result<Self> {
        Self::new(low, f64::INFINITY)
    }

    /// Everything up to `high`.
    pub fn up_to(high: f64) -> Result<Self> {
        Self::new(f64::NEG_INFINITY, high)
    }

    fn holds(&self, interval: &Interval) -> bool {
        self.low <= interval.low && interval.high <= self.high
    }

    fn excludes(&self, interval: &Interval) -> bool {
        interval.high < self.low || self.high < interval.low
    }
}

impl Claim {
    /// Judges, from the 95 % and the 90 % interval of the ratio that the claim is about.
    ///
    /// A claim that the ratio is in the zone itself is confirmed by an interval there, not called
    /// equivalent.
    pub fn judge(&self, wide: &Interval, narrow: &Interval, zone: &Zone) -> Verdict {
        let (low, high) = zone.limits();
        let alike = low <= narrow.low && narrow.high <= high;
        if self.confirm.holds(wide) {
            Verdict::Confirmed
        } else if alike && self.confirm.excludes(narrow) {
            Verdict::Equivalent
        } else if self.refuted(wide) {
            Verdict::Refuted
        } else {
            Verdict::Undecided
        }
    }

    fn refuted(&self, wide: &Interval) -> bool {
        match &self.refute {
            Some(region) => region.holds(wide),
            None => self.confirm.excludes(wide),
        }
    }
}
