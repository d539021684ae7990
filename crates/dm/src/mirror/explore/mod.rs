//! Takes the power away from mirrors, at every moment and in every way, and looks what is left.
//!
//! A history is chosen by its seed: how many legs, which log, what is written, zeroed, discarded
//! and flushed and in which order the disks answer; what fails (a leg or the log dies, one request
//! of theirs fails, the description cannot be written); whether it gets
//! another size; whether its process is killed, and whether it is
//! stopped at the end. At about every second step the power is cut: of all that is
//! not durable any subset is lost, torn at sectors. What is left is started again, with all legs,
//! without one, or with the dead one back, and read twice while it is being copied; sometimes it
//! is written on, and cut once more. What a sector may hold is known from what was answered. Each
//! time it is also asked what the kernel would read, if it were the one to take over.
//!
//! Broken promises come with the seed of their history, which repeats them. [`SeededFault`] makes
//! mistakes on purpose: an explorer that does not find them is worth nothing.
//!
//! `shape.rs` is what a mirror is made of, `world.rs` keeps its description, `run.rs` asks it and
//! judges its answers, `cut.rs` what is left of it, `kernel.rs` is the kernel's rule, `history.rs`
//! is one history, `campaign.rs` many. `moves/` does the same for
//! volumes that are moved. What runs machines, and what a sector may hold, is
//! [`crate::explore`]'s.

mod campaign;
mod cut;
mod fault;
mod history;
mod kernel;
pub mod moves;
mod run;
mod shape;
mod world;

pub use campaign::Campaign;
pub use fault::SeededFault;

#[cfg(test)]
mod tests;
