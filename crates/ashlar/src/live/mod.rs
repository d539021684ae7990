//! A live volume group: one whose volumes are served, by exactly one process.
//!
//! ```text
//!   the process that owns the group                          any other command
//!   ┌────────────────────────────────────────┐               ┌──────────────────────────┐
//!   │ LiveGroup   open, locked PVs           │  Server ◀───▶ │ Client::run     lvextend │
//!   │             volumes in use             │    a unix     │ Client::export  serve,   │
//!   │             their users ── tables swap │    socket     │                 attach   │
//!   └────────────────────────────────────────┘               └──────────────────────────┘
//! ```
//!
//! A [`LiveGroup`] is taken when volumes of a group are first opened for writing, and held until
//! the last of them is closed: the byte "owner" of every physical volume that is there is locked,
//! block devices are open alone. Others neither serve nor write it. Commands that change it find
//! its process in the runtime folder and run there, where volumes in use get new tables with the
//! commit ([`LiveHooks`]); a second `serve` or `attach` hands over its sockets or its file, and
//! the volumes are served there for as long as it lives. Who only reads owns nothing.
//!
//! When the use of a volume ends, what was written is flushed, and its mirrors mark their regions
//! clean; when the last one is gone, so are the locks. A killed owner leaves a record that nobody
//! holds, which the next one replaces; the kernel drops its locks, and what was not flushed was
//! never promised.
//!
//! `owner` knows the group, `bench` is what is worked with and `shelf` where both are, `itself`
//! knows that the group does not stand on a volume of its own, `opening` brings volumes into use,
//! `swap` exchanges tables, `look` says which disks are looked at again, `order` writes down that
//! one lost a copy, `extending` gives stores of snapshots room, as `filling` foresees, `group` lets
//! threads share them, `changes` says what differs from a snapshot now; `wire` is what is said,
//! `server` and `connection` the owner's side of it, `client` the others', `survey` theirs who only
//! report, `status` what they hear, `runtime` where they meet.

mod bench;
mod changes;
mod client;
mod connection;
mod console;
mod extending;
mod filling;
mod group;
mod itself;
mod look;
mod moving;
mod opening;
mod order;
mod owner;
mod runtime;
mod server;
mod shelf;
mod stack;
mod status;
mod survey;
mod swap;
pub mod wire;

pub use changes::Changes;
pub use client::{Client, Heard, Leaving};
pub use connection::Notifier;
pub use console::{Console, Stream};
pub use group::{LiveGroup, LiveHooks, Use, Warn, Watch};
pub use owner::Alone;
pub use runtime::{RUNTIME_VARIABLE, Record, any_owner, runtime_folder, runtime_folder_if_there};
pub use server::{Served, Server, Service};
pub use status::{ImageStatus, Merging, MirrorStatus, SnapshotInUse, VolumeStatus};
pub use survey::{SURVEY_MAX, Surveyed, survey};

#[cfg(test)]
mod tests;
