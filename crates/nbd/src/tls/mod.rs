//! TLS around a stream socket, for NBD connections.
//!
//! ```text
//! network ◀──TLS──▶ wire socket ◀─ relay (a thread) ─▶ socket pair ◀──plain──▶ whoever speaks NBD
//! ```
//!
//! [`Security::accept`] and [`Security::connect`] shake hands on a connected socket, within a
//! deadline, and give back another socket that carries the plain text; a thread moves the bytes
//! between the two until either side ends. So nothing that speaks over sockets knows of TLS, and
//! those who do not use it pay nothing. Those who do pay a copy and a thread more.
//!
//! Certificates are X.509, in a folder, under the names that qemu and nbdkit use:
//!
//! | file | holds | needed by |
//! |---|---|---|
//! | `ca-cert.pem` | who is believed | clients; servers that verify their clients |
//! | `server-cert.pem`, `server-key.pem` | the server's certificate and key | servers |
//! | `client-cert.pem`, `client-key.pem` | the client's | clients of servers that verify them |
//!
//! Does not: pre-shared keys (rustls has none of that kind; see `docs/decisions`), revocation
//! lists.

mod relay;
mod security;
mod wire;

pub use security::{Peers, Secured, Security, exposed_keys};
