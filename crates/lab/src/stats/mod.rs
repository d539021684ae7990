//! Statistics of paired measurements, and verdicts that admit what they do not know.
//!
//! Two variants are measured in randomised, interleaved pairs, beside a control that measures the
//! first variant against itself. The unit of analysis is the logarithm of each pair's ratio.
//!
//! ```text
//!   pairs ──▸ log ratios ──▸ Hodges-Lehmann estimate, `BCa` bootstrap interval ──▸ verdict
//!   control ──▸ the same ──▸ wider than the zone? too noisy: so many more pairs
//! ```
//!
//! Promises: one seed gives the same bits on every machine (`real.rs` has logarithm, exponential
//! and the normal distribution; the platform's library decides nothing). A verdict other than
//! undecided has its whole interval on one side.
//!
//! Does not: measure, or assume that noise is normal. Costs: 10,000 resamples by default, about
//! 0.1 s for 20 pairs.
//!
//! `pairs.rs` plans the order and takes ratios, `estimate.rs` has medians, `bootstrap.rs`
//! intervals, `verdict.rs` the decisions, `judge.rs` puts them together, `warmup.rs` cuts the
//! beginning of a run, `effect.rs` has Cliff's delta, `histogram.rs` keeps latencies.

mod bootstrap;
mod effect;
mod error;
mod estimate;
mod histogram;
mod judge;
mod pairs;
pub mod real;
mod verdict;
mod warmup;

pub use bootstrap::{Bootstrap, Interval};
pub use effect::CliffsDelta;
pub use error::{Error, Kind, Result};
pub use estimate::{deviation, hodges_lehmann, mean, median, quantile};
pub use histogram::Histogram;
pub use judge::{Judge, Judgement, Noise};
pub use pairs::{Measurement, Pair, Variant, log_ratios, plan};
pub use verdict::{Better, Claim, Comparison, Region, Verdict, Zone};
pub use warmup::{SlopeTest, Steady, StorageWindow};

#[cfg(test)]
mod tests;
