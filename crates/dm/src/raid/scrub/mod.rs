//! What of an array does not go together, and which leg is to blame where that can be known.
//!
//! ```text
//!   Course ─▸ units: as many bytes of each leg, ─▸ somebody ─▸ judge_row     ─▸ sectors that do
//!             or why they are not compared         reads them   judge_copies    not, and who is
//!                                                                               wrong
//! ```
//!
//! | | what is compared | who is wrong |
//! |---|---|---|
//! | level 6 | P and Q | the one leg that explains both; several that are wrong: not known |
//! | level 6 without a leg, levels 4 and 5 | one sum | not known |
//! | three copies and more | the copies | those that are not as most are; no majority: not known |
//! | two copies | the copies | not known |
//!
//! All of it is pure: who scrubs reads what units say, in whatever way. What people would take for
//! a mismatch and is none is not compared: legs that are missing or not believed, what was never in
//! sync or was being written, what a reshape moves.
//!
//! Does not: repair; `raid/repair.rs` does, by the same judgement. Costs: each leg is read once,
//! sums are as fast as `block::parity` is.
//!
//! `course.rs` goes through an array, `judge.rs` compares, `believed.rs` says what is believed of
//! legs whose metadata somebody has read.

mod believed;
mod course;
mod judge;

#[cfg(test)]
mod tests;

pub use believed::{believed, metadata_len};
pub use course::{Course, Holds, Member, Unchecked, Unit};
pub use judge::{Blame, Judged, SECTOR, Unknown, judge_copies, judge_row};
