//! What is the same for all explorers of power cuts.
//!
//! `model.rs` knows what a sector may hold.

mod model;

pub(crate) use model::{Content, Expected, Failure, Model, NEVER, SECTOR, encode};
