//! `cargo xtask compare`: commands here and in stock LVM2, on disks that are the same.
//!
//! ```text
//!   cargo xtask compare [--cases N] [--seed S] [--only COMMAND[,COMMAND]] [--at NUMBER]
//!                       [--json FILE]                      whole command lines: what they do
//!   cargo xtask compare --line LINE [--state STATE[,STATE]]  one line in each state
//!   cargo xtask compare document                           what is known to differ, as a page
//!   cargo xtask compare damaged [--cases N] [--seed S]     what is left of damaged groups
//! ```
//!
//! All need root and stock LVM2, and the program built in the same profile.

mod damaged;
mod judge;
mod run;

pub(crate) use run::run;
