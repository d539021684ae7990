//! Rules that find impossible numbers in published results.
//!
//! A benchmark prints more numbers than it measures, so its numbers bind each other: a rate is a
//! volume by a time, no more requests can be under way than were allowed, a mean lies between the
//! extremes. A digit that was mistyped, a unit that was converted wrongly, a column that slipped
//! breaks such a bond, and [`audit`] says where, by which rule, and what would fit.
//!
//! ```text
//!   text ──▸ detect ──▸ fio JSON · fio text · Bonnie · Bonnie++ · PostMark · LVM · study
//!                          └──▸ numbers, with the range that their digits allow
//!                                  └──▸ rules ──▸ findings
//! ```
//!
//! Promises: a number is compared with the whole range that its last printed digit leaves open, so
//! that rounding is never called an error; a text that is no result, or is cut off inside a value,
//! is an error with line and field; no text makes it panic or take more than linear memory.
//!
//! Does not: repair, or believe prose. What a text claims in words is written down for it in the
//! lines of a study (`study/`).

mod bonnie;
mod detect;
mod finding;
mod fio;
pub(crate) mod json;
mod lvm;
mod postmark;
mod printed;
mod spindle;
mod study;

pub use crate::workload::InputError;
pub use detect::audit;
pub use finding::{Audit, Finding, Rule, Weight};
pub use spindle::spindle_bound;

#[cfg(test)]
mod tests;
