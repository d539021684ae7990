//! A device behind an NBD server.
//!
//! [`NbdDevice::connect`] learns what the export is; each [`block::Queue`] is a connection of its
//! own, whose socket its [`block::Driver`] watches. Requests submitted together leave in one send,
//! and one receive takes in as many replies as have come. What the server allows is used: 64-bit
//! lengths, structured replies, block status.
//!
//! ```text
//! submit ─▶ outbox ─send─▶ server ─recv─▶ inbox ─▶ slots ─▶ poll
//! ```
//!
//! A server is not believed: what it sends is checked, and what breaks the protocol ends the
//! connection. Then all requests in flight, and all later ones, are answered with
//! [`block::Kind::Gone`]. Nothing is sent again; [`ReconnectingDevice`] does that, on top of this.
//!
//! Several queues are only safe if a flush on one covers the writes of all. Where the server does
//! not promise that (`CAN_MULTI_CONN`), a writable device opens one queue at a time.
//!
//! Under TLS (`nbds`) the socket is one end of a pair whose other end [`crate::tls`] serves.
//!
//! `address.rs` reads URIs, `connect.rs` shakes hands, `queue.rs` is the data path and `slots.rs`
//! what it waits for; `status.rs` asks for extents.

mod address;
mod connect;
mod device;
mod queue;
mod reconnecting;
mod slots;
mod status;

pub use address::Address;
pub use device::NbdDevice;
pub use reconnecting::ReconnectingDevice;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
