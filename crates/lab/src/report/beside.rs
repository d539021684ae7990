//! What stands beside the emulation of an arm: what a formula says. What a real machine did is not
//! an arm of an emulated drive, and has its own section (`measured.rs`).

use crate::experiment::{self, Arm};
use crate::stats::Interval;

/// The prediction of a metric of an arm with its 95 % interval; `None` where there is no formula.
pub(super) fn predicted(arm: &Arm, metric: &str) -> Option<Interval> {
    let (whole, terms) = experiment::predicted(arm).ok()?;
    let mut all = std::iter::once(whole).chain(terms);
    let of = all.find(|found| found.metric == metric)?.estimate;
    Some(Interval {
        low: of.low,
        estimate: of.value,
        high: of.high,
    })
}
