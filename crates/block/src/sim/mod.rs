//! A disk that loses power, tears writes, lies and is slow; all from a seed.
//!
//! [`Disk`] is a pure state machine: a durable content, and writes that a volatile cache holds in
//! the order in which they were answered. Whoever drives it decides when each request ends, so a
//! scheduler can explore the orders; [`SimDevice`] drives it as a [`crate::Device`], at once or in
//! the time of a [`crate::clock::Clock`].
//!
//! ```text
//!   begin ──▸ in flight ──▸ finish ──▸ cache ──▸ flush ──▸ durable
//!                 ╲                      ╲
//!                  ╰───── cut: any subset, torn at blocks ─▸ durable
//! ```
//!
//! The other use is to take a history apart: [`Recorder`] notes what real or simulated devices
//! were asked, and [`states()`] makes each disk content that a power cut could have left.
//!
//! `image.rs` holds content that is cheap to copy, `faults.rs` says what goes wrong, `disk.rs` is
//! the state machine, `device.rs` runs it, `log.rs` records, `states.rs` enumerates, `random.rs`
//! makes choices that repeat.
//!
//! Does not: know about heads and tracks. The lab's disks do.

mod device;
mod disk;
mod faults;
mod image;
mod log;
mod random;
mod states;

pub use device::SimDevice;
pub use disk::{Disk, Ticket};
pub use faults::{Discards, Faults};
pub use image::Image;
pub use log::{Log, Recorder};
pub use random::Random;
pub use states::{Cut, Limits, State, States, states};

#[cfg(test)]
mod tests;
