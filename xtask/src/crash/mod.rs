//! `cargo xtask crash`: takes the power away at every moment, and looks what is left.
//!
//! ```text
//!   cargo xtask crash [SUBJECT…] [--seed N] [--states N] [--case NAME] [--fault NAME]
//! ```
//!
//! Each subject explores states of its own kind, prints how many, and then makes mistakes on
//! purpose, each of which must be found. A broken promise is printed with the command that repeats
//! it. `subjects.rs` is the list; one file per subject.

mod arguments;
mod integrity;
mod machines;
mod metadata;
mod mirror;
mod moves;
mod races;
mod raid;
mod run;
mod snapshot;
mod subjects;

pub(crate) use run::run;
