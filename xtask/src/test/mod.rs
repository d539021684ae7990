//! `cargo xtask test`: everything the integration machine runs, in order, and nothing else.
//!
//! ```text
//!   requirements   root and Debian packages, before anything runs
//!   steps          what is run: one table
//!   step           runs one step under `watch`, counts its tests
//!   run            the order, the times, the summary
//! ```
//!
//! Nothing passes by being skipped: a missing tool stops the run with exit code 2 before the first
//! step, a step of tests that runs no test has failed, and so has a step that could not be tried.

mod requirements;
mod run;
mod step;
mod steps;

pub(crate) use run::run;
