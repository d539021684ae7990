//! `cargo xtask bench`: ours against the peers, interleaved, as ratios with intervals.
//!
//! ```text
//!   tables/   one file for each table: what is compared on what        (data and closures)
//!   contest   runs the contestants in turn, round after round
//!   stats     median of the rounds' ratios, and its bootstrap interval
//!   goal      what a row should show, and whether it does
//!   report    prints a table
//!   record    who, when, where: one JSON line for each row
//!   noise     whether the machine was quiet enough
//!   run       the command line
//! ```
//!
//! What to conclude: that one program took a multiple of another's time on this machine, today.
//! What not: absolute speeds (the machine is small, virtual and shared), or anything about a peer
//! in settings that the table does not name. A ratio is computed within a round, so that drift
//! (temperature, neighbours) hits both sides of it.

mod contest;
mod goal;
mod noise;
mod record;
mod report;
mod run;
mod stats;
mod tables;

pub(crate) use run::run;
