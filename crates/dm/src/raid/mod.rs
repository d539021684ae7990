//! Arrays, as Linux keeps them: mirrors, parity, copies of chunks.
//!
//! ```text
//!   read ─▸ which leg holds it? ─▸ that is valid ─────────────────────▸ leg ─▸ answer
//!                               ╲─▸ is not, or fails ─▸ others of its row ─▸ sums ─▸ answer
//!
//!   write ─▸ row locked ─▸ region marked ─▸ what parity needs is read ─▸ data, parity ─▸ answer
//!   by itself: what is not in sync is brought in sync; legs that were away get what they lack
//! ```
//!
//! What a leg holds is believed if the superblocks say so, those of the others included; what is
//! not is made up for, or is an error, and never guessed. A write is answered when all legs that
//! are there have it; a leg that has not is recorded as away before, so that it is not believed
//! afterwards.
//!
//! Costs: what is in one chunk of a leg that is there is read on the thread that asks; what is made
//! up takes a read of each other leg of its row, and memory for that. A write of less than a row
//! reads what parity needs (`update.rs`); the first one to a region is preceded by its mark on all
//! legs, durably, and each one to a row with parity by its entry in the journal.
//!
//! `rotation.rs` says who holds parity, `geometry.rs` which byte is where; `superblock.rs` and
//! `bitmap.rs` are what device-mapper keeps beside each leg, `md` what md and mdadm keep on the
//! devices of their own arrays, `keeping.rs` how either is spoken of, `assembly.rs` what is
//! believed of a leg, `takeover.rs` of one whose array was another, and `doubt.rs` where nothing
//! is; `view.rs` plans a read, `update.rs` a write; `config.rs` says what an array is made of,
//! `array.rs` is the machine, `jobs.rs` what it is in the middle of, `load.rs` and `start.rs` its
//! start, `reload.rs` its change into another one. `reads.rs` and `writes.rs` cut requests,
//! `strokes.rs` writes a row, `journal/` sees to it that a cut row can be written once more,
//! `mend.rs` mends one, and `rows.rs` counts for all; `resync.rs` says what is mended, `repair.rs`
//! what is wrong of it, `fence.rs` makes durable, `record.rs` and `regions.rs` keep superblocks and
//! marks, `health.rs` loses legs, `crate::locks` keeps all of them apart; `reshape.rs` moves what
//! becomes another array, and `sides.rs` says whose a row is meanwhile; `map.rs` says what may be
//! read without the machine, and `scrub` what does not go together. `explore/` takes the power
//! away.

mod array;
mod assembly;
pub mod bitmap;
mod config;
mod doubt;
#[cfg(any(test, feature = "explore"))]
pub mod explore;
mod fence;
mod geometry;
mod head;
mod health;
mod jobs;
pub mod journal;
mod keeping;
mod load;
mod map;
pub mod md;
mod mend;
mod reads;
mod record;
mod regions;
mod reload;
mod repair;
mod reset;
mod reshape;
mod resync;
mod rotation;
mod rows;
pub mod scrub;
mod sides;
mod start;
mod strokes;
mod successor;
mod superblock;
mod takeover;
mod update;
mod view;
mod writes;

#[cfg(test)]
mod tests;

pub use array::{Action, Array, Control, Notice, Status};
pub use assembly::{Assembly, Away, Bits, Described, LegFound, LegState, Reshape, assemble};
pub use bitmap::{Bitmap, Dirty};
pub use config::{ArrayConfig, ArrayLeg, Consistency, FirstSync, LegContent, LegReads};
pub use doubt::Doubt;
pub use geometry::{Copies, FarPlace, FarSets, Geometry, LEGS_MAX, Scheme, Spot};
pub use head::{head_in_sync, head_of_reshape};
pub use keeping::Keeping;
pub use reset::{Reset, ResetLeg, reset};
pub use rotation::{Parity, Rotation, Row};
pub use superblock::{Extended, FailedDevices, Position, Superblock};
