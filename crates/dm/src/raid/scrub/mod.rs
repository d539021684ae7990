//! What of an array does not go together, and which leg is to blame where that can be known.
//!
//! | | what is compared | who is wrong |
//! |---|---|---|
//! | level 6 | P and Q | the one leg that explains both; several that are wrong: not known |
//! | level 6 without a leg, levels 4 and 5 | one sum | not known |
//! | three copies and more | the copies | those that are not as most are; no majority: not known |
//! | two copies | the copies | not known |
//!
//! All of it is pure: somebody else reads the legs.
//!
//! Does not: repair. Costs: each leg is read once, sums are as fast as `block::parity` is.
//!
//! `judge.rs` compares.

mod judge;

#[cfg(test)]
mod tests;

pub use judge::{Blame, Judged, SECTOR, Unknown, judge_copies, judge_row};
