//! NBD: our server against nbdkit, nbd-server and qemu-nbd, through fio and through our own client.
//!
//! `servers` starts them, each on a socket of its own in front of the same bytes; `cases` says what
//! is asked of them. All servers are up during a contest and idle except for one.

mod cases;
mod servers;

pub(super) use cases::{TABLE, WRITE_TABLE};
pub(super) use servers::{Server, serving};
