//! What fio prints: JSON, and the text of versions 2 and 3.
//!
//! `model.rs` holds the numbers that the rules need, whatever they were printed in; `text.rs` and
//! `json.rs` fill it in, `check.rs` applies the rules, `group.rs` those of whole jobs and groups.

mod check;
mod group;
mod json;
mod model;
mod text;

pub(super) use check::check;
pub(super) use json::parse as parse_json;
pub(super) use model::{Direction, Run};
pub(super) use text::parse as parse_text;
