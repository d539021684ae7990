//! `ashlar scrub`: what an array has more than once is compared.
//!
//! `command` goes through the volumes, `words` and `json` are how findings are told, to people and
//! to programs.

mod command;
mod json;
mod words;

pub(super) use command::COMMAND;
pub(super) use words::{finding, summary};
