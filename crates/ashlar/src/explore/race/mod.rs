//! Two commands at the same time on the same disks, in orders that a scheduler decides.
//!
//! ```text
//!   command one ──╮ each I/O, each lock                       ╭─▶ the end: as one after the other?
//!                 ├────────────────────▶ scheduler ─▶ history ┤
//!   command two ──╯ one of them goes on                       ╰─▶ every cut of it
//! ```
//!
//! Both commands are the real ones, with their locks: the bytes of files that stand for the disks,
//! and stock's files in a directory. The kernel holds the locks; who waits for one is known to the
//! scheduler, so that nobody sleeps and two who wait for each other are found. The promises:
//!
//! - what is left is what the two commands leave one after the other, in one of both orders, or
//!   what one of them leaves alone where the other was refused;
//! - a cut leaves what a cut of one of them leaves, before or after the other, and keeps the
//!   change of each that had reported success.
//!
//! `pairs.rs` has the commands, `stage.rs` the scheduler, `play.rs` runs both, `serial.rs` knows
//! what may come of it, `races.rs` goes through the orders: each single change from one command to
//! the other, and several of them by the seed.
//!
//! Does not: several threads of one command (a scan reads disk by disk here), locks of stock
//! without ours, and volumes in use.

mod pairs;
mod play;
mod races;
mod serial;
mod stage;

pub use play::SeededFault;
pub use races::{Effort, RaceReport, Races};

#[cfg(test)]
mod tests;
