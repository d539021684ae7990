//! `PostMark`'s reports, verbose and terse.
//!
//! `parse.rs` reads them, with the configuration if it stands before them in the text; `check.rs`
//! holds them against themselves, and against the exact operations of the configuration.

mod check;
mod parse;

pub(super) use check::{check, replay};
pub(super) use parse::parse;
