//! Takes the power away from machines, at every moment and in every way, and looks what is left.
//!
//! What is the same for every [`Machine`](crate::machine::Machine) is here. A target brings its
//! shape (what one is made of, and how it is made again of what disks hold), its oracle (what a
//! sector of a face may hold, from what was answered), and what it does with notices. A history
//! is then a loop over one seed:
//!
//! ```text
//!   start ─▸ ask, or let one thing happen ─▸ judge the answers ─▸ ask, … ─▸ the end
//!                          ╰─ cut ─▸ start what is left ─▸ read all ─▸ ask, … ╯
//! ```
//!
//! An explorer that does not find mistakes is worth nothing. Mistakes are made on purpose between
//! the machine and its disks (`sabotage.rs`): nothing is planted in what users run. A rule of order
//! ("this is durable before that begins") is broken by answering the first one without waiting for
//! it, so each rule can be broken, and must be found.
//!
//! `world.rs` runs a machine over simulated disks, `direct.rs` is what goes past it as its map
//! allows, `sabotage.rs` is what can be done to it, `model.rs` knows what a sector may hold,
//! `campaign.rs` runs many histories.

mod campaign;
mod direct;
mod model;
mod sabotage;
mod world;

pub use campaign::{Campaign, Report};

pub(crate) use campaign::Seen;
pub(crate) use direct::Mischief;
pub(crate) use model::{Content, Expected, Failure, Model, NEVER, SECTOR, encode};
pub(crate) use sabotage::{Sabotage, Saboteur};
pub(crate) use world::{Sort, World, infos};

#[cfg(test)]
mod tests;
