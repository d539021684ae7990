//! Advice: which layout of given disks suits a load best.
//!
//! ```text
//!   disks, size ─► candidates   linear, spread, striped, mirrored; chunks, disks, places
//!        load ─► predictions ─► ranks, ties, the Pareto front ─► the best few emulated
//! ```
//!
//! Every candidate is predicted by formula; the best few are then run in virtual time, and the
//! error of their predictions stands beside them. The layouts compared have the same disks, so that
//! what is uncertain about those cancels; intervals are the predictor's own error. A candidate
//! whose value lies in the interval of the best one is tied with it, and said to be.
//!
//! Of RAID 5, 6 and 10, which no formula predicts, what a load costs is counted; where the best few
//! are emulated, so are they, and have their place among the ranks.
//!
//! Does not: try snapshots or thin volumes; mix shapes in one volume; know prices.
//!
//! `candidate.rs` makes layouts, `rank.rs` orders them, `counted.rs` counts arrays, `page.rs` shows
//! them, `chart.rs` draws.

mod candidate;
mod chart;
mod counted;
mod page;
mod rank;

pub use candidate::{Candidate, Shape, Wish, candidates};
pub use chart::chart;
pub use counted::{Counted, Ranked};
pub use page::page;
pub use rank::{Advice, Choice, Metric, advise};

#[cfg(test)]
mod tests;
