//! Arrays, as Linux keeps them: mirrors, parity, copies of chunks.
//!
//! ```text
//!   read ─▸ which leg holds it? ─▸ that is valid ─────────────────────▸ leg ─▸ answer
//!                               ╲─▸ is not, or fails ─▸ others of its row ─▸ sums ─▸ answer
//! ```
//!
//! What a leg holds is believed if the superblocks say so, those of the others included; what is
//! not is made up for, or is an error, and never guessed.
//!
//! Does so far: read arrays that others made, in whatever state these left them, and change
//! nothing. Costs: what is in one chunk of a leg that is there is read on the thread that asks;
//! what is made up takes a read of each other leg of its row, and memory for that.
//!
//! `rotation.rs` says who holds parity, `geometry.rs` which byte is where; `superblock.rs` and
//! `bitmap.rs` are what device-mapper keeps beside each leg, `md` what md and mdadm keep on the
//! devices of their own arrays, `assembly.rs` what is believed of a leg;
//! `view.rs` plans a read; `config.rs` says what an array is made of, `array.rs` is the machine,
//! `load.rs` its start, `reads.rs` serves, and `map.rs` says what may be read without it.

mod array;
mod assembly;
pub mod bitmap;
mod config;
mod geometry;
mod load;
mod map;
pub mod md;
mod reads;
mod rotation;
mod superblock;
mod view;

#[cfg(test)]
mod tests;

pub use array::{Array, Status};
pub use assembly::{Assembly, Bits, Described, Doubt, LegFound, LegState, Reshape, assemble};
pub use bitmap::{Bitmap, Dirty};
pub use config::{ArrayConfig, ArrayLeg, LegContent, LegReads};
pub use geometry::{Copies, FarPlace, FarSets, Geometry, LEGS_MAX, Scheme, Spot};
pub use rotation::{Parity, Rotation, Row};
pub use superblock::{Extended, FailedDevices, Position, Superblock};
