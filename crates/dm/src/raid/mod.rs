//! Arrays, as Linux keeps them: mirrors, parity, copies of chunks.
//!
//! `rotation.rs` says who holds parity, `geometry.rs` which byte is where. `superblock.rs` and
//! `bitmap.rs` are what device-mapper keeps beside each leg, `assembly.rs` what is believed of it.

mod assembly;
pub mod bitmap;
mod geometry;
mod rotation;
mod superblock;

pub use assembly::{Assembly, Bits, Described, Doubt, LegFound, LegState, Reshape, assemble};
pub use bitmap::{Bitmap, Dirty};
pub use geometry::{Copies, FarPlace, FarSets, Geometry, LEGS_MAX, Scheme, Spot};
pub use rotation::{Parity, Rotation, Row};
pub use superblock::{Extended, FailedDevices, Position, Superblock};
