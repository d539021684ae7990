//! `ashlar scrub`: what an array has more than once is compared.
//!
//! `command` goes through the volumes, `words` and `json` are how findings are told, to people and
//! to programs; `repair` puts right what was found, where that is asked for.

mod command;
mod json;
mod repair;
mod words;

pub(super) use command::{COMMAND, JSON, RATE, compare};
pub(super) use repair::Repair;
pub(super) use words::{finding, summary};
