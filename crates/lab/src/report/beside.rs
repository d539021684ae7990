//! What stands beside the emulation of an arm: what a formula says, and what a real machine did.

use crate::experiment::{self, Arm, Read};
use crate::stats::Interval;

/// The prediction of a metric of an arm with its 95 % interval; `None` where there is no formula.
pub(super) fn predicted(arm: &Arm, metric: &str) -> Option<Interval> {
    let found = experiment::predicted(arm).ok()?;
    let of = found.estimate;
    (found.metric == metric).then_some(Interval {
        low: of.low,
        estimate: of.value,
        high: of.high,
    })
}

/// What was measured of a metric of an arm of an experiment; `None` where nothing was.
pub(super) fn measured(
    _results: &Read,
    _experiment: &str,
    _arm: &str,
    _metric: &str,
) -> Option<Interval> {
    None
}
