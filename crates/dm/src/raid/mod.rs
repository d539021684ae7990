//! Arrays, as Linux keeps them: mirrors, parity, copies of chunks.
//!
//! `rotation.rs` says who holds parity, `geometry.rs` which byte is where.

mod geometry;
mod rotation;

pub use geometry::{Copies, FarPlace, FarSets, Geometry, LEGS_MAX, Scheme, Spot};
pub use rotation::{Parity, Rotation, Row};
