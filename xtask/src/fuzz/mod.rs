//! `cargo xtask fuzz`: hostile bytes for every decoder, by libFuzzer on stable Rust.
//!
//! ```text
//!   run        the command line, the time shared among the targets
//!   build      compiles them with coverage counters
//!   progress   reads what libFuzzer prints
//! ```
//!
//! A target fails when it panics, takes longer than ten seconds for one input, or when its memory
//! grows by more than 64 MB beyond what it had at the start and what the corpus itself takes.

mod build;
mod progress;
mod run;

pub(crate) use run::run;
