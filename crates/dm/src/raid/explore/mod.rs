//! Takes the power away from arrays, at every moment and in every way, and looks what is left.
//!
//! A history is chosen by its seed: which level, how many legs, how small chunks and regions are,
//! how it begins (new, in sync, without a leg, with one that comes back older or is to be rebuilt,
//! with superblocks of what it was before a takeover), what is written, zeroed and flushed and in
//! which order the disks answer; what fails (a leg vanishes, one request to its data or its
//! metadata fails); whether the process is killed, the array suspended or stopped. Data and
//! metadata of a leg are disks of their own. At about every second step the power is cut: of all
//! that is not durable any subset is lost, torn at sectors. What is left is started again, with all
//! legs, without some, or with a lost one back, and read twice; it is left alone until nothing is
//! brought in sync any more, its legs are compared byte by byte, and it is read without legs that
//! it may lose; or it is written on, and cut once more.
//!
//! What a sector may hold is known from what was answered. Of the legs it is known what superblocks
//! and bitmaps promise, read by an oracle of its own (`oracle.rs`): a leg that never failed is
//! believed, the ones that are believed suffice for all that was promised, and where nothing is
//! marked copies and parity are right.
//!
//! Most arrays with parity have a journal, and then power may be cut and legs be lost as well. Some
//! start without one, now and then: where power is cut while such a one writes a row of parity,
//! what another leg held of it may be wrong when that leg is lost. That is excused, for the sectors
//! that lie in the same place of the row and nothing else, until the row is in sync again; so it is
//! where a write failed. [`SeededFault::HoleNotExcused`] does not excuse it, and has to find it.
//!
//! Broken promises come with the seed of their history, which repeats them. [`SeededFault`] makes
//! mistakes on purpose: an explorer that does not find them is worth nothing.
//!
//! `shape.rs` is what an array is made of, `history.rs` how it begins and what is done to it,
//! `keeps.rs` how legs keep what is said of it, `run.rs` runs it, `ask.rs` asks it, `judge.rs`
//! judges its answers, `cut.rs` is what is left of it, `settled.rs` what its legs hold when nothing
//! is left to do, `campaign.rs` many histories; `reshape.rs` are those of arrays that become
//! others, and `becoming.rs` what these are. What runs machines, and what a sector may hold, is
//! [`crate::explore`]'s.

mod ask;
mod becoming;
mod campaign;
mod changes;
mod cut;
mod fault;
mod history;
mod judge;
mod keeps;
mod oracle;
mod reshape;
mod run;
mod settled;
mod shape;

pub use becoming::reshapes;
pub use campaign::Campaign;
pub use changes::{ChangeFault, changes};
pub use fault::SeededFault;
pub use reshape::ReshapeFault;

#[cfg(test)]
mod tests;
