//! Prediction: what a volume will do, by formula, without running the model of a disk.
//!
//! ```text
//!   subject   the question: disks, how a volume lies on them, what is asked of it
//!   cases     random questions, frozen: nothing here is fitted to their answers by hand
//!   emulate   their answers: the emulated disks, run
//! ```
//!
//! A prediction may read the numbers of a profile (curve, zones, caches) but never submits a
//! command to a drive: it would otherwise prove only that a program equals itself.

pub mod cases;
pub mod emulate;
pub mod subject;

pub use subject::{Arrivals, Disk, Load, Medium, Pattern, Piece, Shape, Volume};
