//! A table served as one device.
//!
//! A [`Volume`] opens a queue on each device of its table for each queue that is opened on it, all
//! on the same driver. A request is cut where the table says, without copying; its parts go to the
//! devices, and when the last one is answered, so is the request: once, with the first error.
//!
//! ```text
//!   submit ── gate (swap.rs) ── cut (queue.rs) ── device queues
//!   poll   ◂─ answer whole requests ◂─ gather (gather.rs) ◂─ parts
//! ```
//!
//! A flush goes to each device that was written, by whatever queue, since a flush of it last
//! succeeded. The table may be exchanged while requests come in; see [`Suspension`].
//!
//! Does not: order anything, retry, or merge parts that are not together in memory (a buffer is
//! one run of bytes; parts of different rows of a stripe never are).

mod extents;
mod gather;
mod generation;
mod queue;
mod swap;
mod volume_device;

pub use block::Access;
pub use swap::Suspension;
pub use volume_device::Volume;

#[cfg(test)]
mod tests;
