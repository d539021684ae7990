//! An NBD server: devices for whoever speaks the Network Block Device protocol.
//!
//! ```text
//! Listener ──accept──▶ connection thread:  Handshake ──▶ Session ──▶ block::Queue
//!                                             │
//!                                          Exports (names, devices; may change while serving)
//! ```
//!
//! A connection is one thread with its own [`block::Driver`] and queue, and runs each request to
//! completion: it receives many requests at once, submits them, collects the answers and sends
//! many replies at once. A connection harms no other: what it may use is limited, and a client
//! that lies, stalls or sends garbage loses its own connection only.
//!
//! Spoken: fixed newstyle with all its options, TLS among them (on a thread and a socket pair of
//! its own, so that the plain path does not know of it), structured replies, extended headers,
//! block status (`base:allocation`, and contexts that an export offers), several exports, any
//! number of connections per export (a flush covers all of them, as [`block::Device`] promises).
//! Offsets and lengths of writes are multiples of the device's logical block, which is announced;
//! reads may be anything.
//!
//! `exports.rs` says what is served, `contexts.rs` what is told of its bytes, `listener.rs` where,
//! `accept.rs` owns the threads; `handshake.rs` is a state machine without I/O, `session.rs` the
//! data path, `replies.rs` its way back, `check.rs` its rules for requests, `status.rs` the one
//! thing that may block.

mod accept;
mod check;
mod connection;
mod contexts;
mod exports;
mod handshake;
mod listener;
mod memory;
mod replies;
mod session;
mod slots;
mod status;

pub use accept::{Limits, Secrecy, Server};
pub use block::Access;
pub use contexts::{Chosen, Context, NamedContext};
pub use exports::{Export, Exports};
pub use handshake::{Agreed, Handshake, Progress, Tls};
pub use listener::Listener;

#[cfg(test)]
mod client_tests;
#[cfg(test)]
mod tests;
