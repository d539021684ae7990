//! What a row is meant to show, and whether it does.
//!
//! A goal that is missed is printed with by how much; it does not fail the run, since a slow minute
//! of a shared machine is no defect. Every peer must be beaten for a goal on the ratio to hold.

use super::contest::Unit;
use super::stats::Estimate;

/// What a number should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    /// Nothing is promised.
    None,
    /// The ratio's median is at most this, against every peer.
    RatioAtMost(f64),
    /// The ratio's median is at least this, against every peer.
    RatioAtLeast(f64),
    /// The lower end of the ratio's interval is at least this, against every peer.
    SurelyAtLeast(f64),
    /// Our own value is at most this.
    OursAtMost(f64),
    /// Our own value is at least this.
    OursAtLeast(f64),
    /// Our own value lies between these.
    OursWithin(f64, f64),
}

impl Goal {
    /// One line about the goal; none where nothing is promised or nobody is there to compare with.
    pub(super) fn verdict(self, ours: (f64, Unit), ratios: &[Estimate]) -> Option<String> {
        let worst = |value: fn(&Estimate) -> f64, pick: fn(f64, f64) -> f64| {
            ratios.iter().map(value).reduce(pick)
        };
        let (what, limit, actual, holds) = match self {
            Goal::None => return None,
            Goal::RatioAtMost(limit) => {
                let actual = worst(|ratio| ratio.median, f64::max)?;
                ("ratio at most", limit, actual, actual <= limit)
            }
            Goal::RatioAtLeast(limit) => {
                let actual = worst(|ratio| ratio.median, f64::min)?;
                ("ratio at least", limit, actual, actual >= limit)
            }
            Goal::SurelyAtLeast(limit) => {
                let actual = worst(|ratio| ratio.low, f64::min)?;
                ("ratio's lower end at least", limit, actual, actual >= limit)
            }
            Goal::OursAtMost(limit) => {
                let what = format!("ours at most {}", ours.1.shown(limit));
                return Some(own(&what, ours.0 <= limit));
            }
            Goal::OursAtLeast(limit) => {
                let what = format!("ours at least {}", ours.1.shown(limit));
                return Some(own(&what, ours.0 >= limit));
            }
            Goal::OursWithin(low, high) => {
                let (from, to) = (ours.1.shown(low), ours.1.shown(high));
                let holds = (low..=high).contains(&ours.0);
                return Some(own(&format!("ours from {from} to {to}"), holds));
            }
        };
        let goal = own(&format!("{what} {limit:.3}"), holds);
        Some(format!("{goal} ({actual:.3})"))
    }
}

fn own(what: &str, holds: bool) -> String {
    let verdict = if holds { "holds" } else { "MISSED" };
    format!("goal: {what}: {verdict}")
}

#[cfg(test)]
mod tests;
