//! Takes the power away from an origin and its snapshots, at every moment, and looks what is left.
//!
//! A history is chosen by its seed: how large all is, when snapshots are taken, written, removed
//! and merged, what is written, zeroed, discarded and flushed on which face, in which order the
//! disks answer, and what fails (a request to a store or to the origin, or one of them vanishes).
//! At about every second step the power is cut: of all that is not durable any subset is lost, torn
//! at sectors. What is left is first read without a machine, as the kernel would, from the stores'
//! lists; then an origin is started on it, all faces are read twice, and must show the same;
//! sometimes all is written on, and cut once more.
//!
//! The promises: what was written durably is there, on every face. A snapshot shows the moment at
//! which it was taken, and what was written to it, or is invalid; and it is invalid only if a disk
//! failed or its store was full. What was being written is old or new, and stays what it was read
//! as. A merge loses nothing.
//!
//! Broken promises come with the seed of their history, which repeats them. [`SeededFault`] makes
//! mistakes on purpose, between the machine and its disks.
//!
//! `shape.rs` is what all is made of, `oracle.rs` what a face may hold, `fault.rs` the mistakes,
//! `run.rs` runs an origin and judges its answers, `ask.rs` asks it, `mishap.rs` lets disks fail,
//! `cut.rs` looks at what is left, `history.rs` is one history, `campaign.rs` many. What runs
//! machines, and what a sector may hold, is [`crate::explore`]'s.

mod ask;
mod campaign;
mod cut;
mod fault;
mod history;
mod mishap;
mod oracle;
mod run;
mod shape;

pub use campaign::Campaign;
pub use fault::SeededFault;
pub use shape::Subject;

#[cfg(test)]
mod tests;
