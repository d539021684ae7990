//! Bonnie's table (twelve numbers to a row), and Bonnie++'s table and CSV line.
//!
//! `classic.rs` reads and checks the first, `plus.rs` the other two, against each other where both
//! are there.

mod classic;
mod plus;

pub(super) use classic::check as check_classic;
pub(super) use plus::check as check_plus;
