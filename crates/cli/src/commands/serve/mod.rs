//! `serve`: volumes over NBD.
//!
//! `command` is the command, `offer` decides who serves which volumes, `serving` does it until the
//! end: by this process, or by the one that owns their group and gets our sockets.

mod command;
mod offer;
mod serving;

pub(super) use command::COMMAND;
