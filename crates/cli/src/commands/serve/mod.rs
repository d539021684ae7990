//! `serve`: volumes over NBD.
//!
//! `command` is the command, `offer` decides who serves which volumes, `secrecy` whether under
//! TLS, `serving` does it until the end: by this process, or by the one that owns their group and
//! gets our sockets.

mod command;
mod offer;
mod secrecy;
mod serving;

pub(super) use command::COMMAND;
