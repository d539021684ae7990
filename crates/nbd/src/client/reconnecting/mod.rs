//! A device that outlasts its connections.
//!
//! [`ReconnectingDevice`] is an export of an NBD server for those who cannot live with
//! [`block::Kind::Gone`]: when the connection is lost it makes a new one and sends again what was
//! not answered. One thread owns the connection, so that nothing has to be agreed upon between
//! threads, and servers that take one client at a time serve any number of queues.
//!
//! ```text
//! queue ─┐                                      ┌─ NbdQueue ─▶ server
//! queue ─┼─ inbox ─▶ owner: requests, journal ──┤ (lost)
//! queue ─┘                               └─ connect, compare, look, replay, flush, send again
//! ```
//!
//! Promises:
//! - A request is answered, or fails within the time limit: that long without any answer of the
//!   server, or that long without a server.
//! - What was acknowledged and then flushed is as durable as the server says. A server that
//!   restarts may have lost what it acknowledged and did not flush: so every such write is kept
//!   (`journal.rs`, bounded; a flush is made early when it is full), written again on the new
//!   connection, and flushed, before anything else is sent. A flush therefore never succeeds
//!   while an earlier write may be lost.
//! - A server that comes back with another disk, or an older copy of the disk, is not written to
//!   and not used again, as far as the user of the device has said what the disk is known by
//!   ([`ReconnectingDevice::mark`], `marks.rs`): this is read before anything is repeated.
//! - A server that comes back with another size, another permission to write, or fewer abilities
//!   is not used again. Neither is one that broke the protocol, nor one that kept silent without
//!   hanging up: it may still do what it was asked, at any time, over whatever was written since.
//! - After an outage that was too long, requests fail at once, and the server is asked again now
//!   and then. The journal is still there.
//!
//! Does not: notice that a server lost what it had flushed, where nothing of that is marked. Costs:
//! a copy of each write and two wakeups of threads; who needs neither safety nor to share uses
//! [`super::NbdDevice`].

mod device;
mod inbox;
mod journal;
mod marks;
mod owner;

pub use device::ReconnectingDevice;

#[cfg(test)]
mod tests;
