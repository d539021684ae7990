//! Every state that a power cut or a failing disk can leave, for every command.
//!
//! ```text
//!   disks after some commands ─▶ one command, recorded ─▶ every cut ─▶ what does a scan say?
//!                                                                  ─▶ does the next command work?
//! ```
//!
//! [`Campaign`] runs the real commands over simulated disks: the same [`apply`](crate::apply) and
//! [`commit`](crate::commit) that serve people. `commands.rs` has the commands, `cases.rs` what
//! they start from, `view.rs` what a scan makes of disks, `judge.rs` the promises. The promises:
//!
//! - after a cut, each group is as before or as after the command, and as after it once the
//!   command had said that it succeeded;
//! - a volume that is there has the content that it must have: zeros where it was zeroed, its data
//!   where it was not touched;
//! - commands on two groups, and those that make or end physical volumes, may leave one of a few
//!   other states, which `docs/format.md` lists;
//! - the next command works, and leaves nothing to be repaired.
//!
//! `race` runs two commands at once, and lets a scheduler decide at each step which goes on.
//!
//! Users run it in the demo, over a few commands; it is here because it needs the crate's own
//! commands. Races, with the mistakes that are made in them, are behind the feature `explore`.

mod arrays;
mod blocks;
mod campaign;
mod cases;
mod command;
mod examples;
mod faults;
#[cfg(test)]
mod flushes;
mod judge;
mod parallel;
mod plans;
#[cfg(any(test, feature = "explore"))]
mod race;
mod rings;
mod settle;
mod view;

pub use campaign::{Broken, Campaign, Patience, Report};
pub use cases::{CASES, Case};
pub use examples::{Example, examples};
pub use faults::{FaultReport, explore_faults};
#[cfg(any(test, feature = "explore"))]
pub use race::{Effort, RaceReport, Races, SeededFault};
pub use rings::Rings;

#[cfg(test)]
mod tests;
