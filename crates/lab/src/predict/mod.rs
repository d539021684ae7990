//! Prediction: what a volume will do, by formula, without running the model of a disk.
//!
//! ```text
//!   subject   the question: disks, how a volume lies on them, what is asked of it
//!   cases     random questions, frozen: nothing here is fitted to their answers by hand
//!   emulate   their answers: the emulated disks, run
//!
//!   footprint ─► mechanics ─► random, sequential ─► drives, others ─► queue ─► predictor
//!   which disk   one command   many of them          as branches       waiting   all of it
//!
//!   question  a job of fio on a described stack, as a subject; trial, what it does there
//!   files     a program on a file system: Eq. 1's terms
//! ```
//!
//! A prediction may read the numbers of a profile (curve, zones, caches) but never submits a
//! command to a drive: it would otherwise prove only that a program equals itself.

pub mod cases;
mod described;
mod drives;
pub mod emulate;
mod explain;
pub mod files;
mod flash;
mod footprint;
mod mechanics;
mod others;
mod parameter;
mod predictor;
mod question;
mod queue;
mod random;
#[cfg(test)]
mod samples;
mod sequential;
pub mod subject;
mod trial;

pub use explain::{Account, Estimate, Explanation, Uncertainty, explain};
pub use parameter::Parameter;
pub use predictor::{Prediction, predict};
pub use question::Question;
pub use subject::{Above, Arrivals, Disk, Load, Medium, Pattern, Piece, Shape, Volume};
pub use trial::{Trial, trial};
