//! Takes the power away from a device with checksums, at every moment, and looks what is left.
//!
//! A history is chosen by its seed: how it keeps data and checksums together, how large all is,
//! whether its checksums are computed at first, what is written, zeroed, read and flushed, in which
//! order the disks answer, when it is suspended, stopped or killed, and which request fails. At
//! about every second step the power is cut: of all that is not durable any subset is lost, torn at
//! sectors. What is left is read first as who has no right to write would, and then by a device
//! that is written, which may be cut once more.
//!
//! The promises: what was flushed is there, and what was being written is old or new. No block is
//! an error, in whatever state: with a journal data and checksum always go together, and with a
//! bitmap a block whose bit is not set. Left alone, it computes what has no checksum, and after a
//! clean stop each block has one.
//!
//! [`SeededFault`] makes mistakes on purpose, between the machine and its disks. `shape.rs` is what
//! a device is made of, `run.rs` runs one and judges its answers, `history.rs` is one history.

mod campaign;
mod fault;
mod history;
mod run;
mod shape;

pub use campaign::Campaign;
pub use fault::SeededFault;

#[cfg(test)]
mod tests;
