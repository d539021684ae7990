//! Live volume groups, as commands meet them: owned by this process, or by another one.
//!
//! ```text
//!   Owned::Local    this process takes the group, listens on its control socket, serves by itself
//!   Owned::Remote   another process has it: it gets our sockets or our file, and serves for us
//! ```
//!
//! `service` is what an owner does for others, `nodes` has the volumes that it made active, `owned`
//! decides whose a group is, `exports` puts volumes on a list of NBD exports, `changed` tells
//! clients what differs, `forward` takes a command to the owner of its group.

mod changed;
mod exports;
mod forward;
mod nodes;
mod owned;
mod service;

pub(crate) use changed::{live, still};
pub(crate) use exports::add_export;
pub(crate) use forward::{Forwarded, end_with, forward, of_caller, run};
pub(crate) use nodes::{Nodes, Wanted};
pub(crate) use owned::{LocalGroup, Owned, own, stay};
