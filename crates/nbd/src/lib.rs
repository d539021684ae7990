//! The Network Block Device protocol: its messages, a client and a server.
//!
//! ```text
//! client   a server's export as a block::Device        server   block::Devices for any client
//!     └───────────────┬──────────────────────────────────┬──────────┘
//!                    wire   messages as bytes and values   tls   around a socket
//! ```
//!
//! Server and client share the messages, so that each can be tested against the other, and both
//! against the tools of others. What a device is made of does not matter to either.

pub mod client;
pub mod server;
pub mod tls;
pub mod wire;

/// What a client is and a server takes, in the version that fits.
pub use block;
