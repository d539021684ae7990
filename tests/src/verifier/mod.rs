//! Finds out whether a server keeps its word about what was written.
//!
//! ```text
//!   load      seeded writes, zeros, flushes, FUA and reads, many in flight, until told to stop
//!     │  every submission, answer and lost connection, before anything else happens
//!     ▼
//!   journal   a text file, one event a line ──▶ history   what each block may hold now
//!     ▲                                             │
//!   reads ── after each lost connection, and at the end: every block must hold one of these
//! ```
//!
//! Each block that is written names its writer, its place and its version, and the rest of it
//! follows from these: a block that is torn, stale or of another place is recognised.
//!
//! What may be lost depends on what was lost: a server that is killed leaves the page cache and
//! the disks, so that no acknowledged write may be missing; a machine that loses power may lose
//! what was acknowledged after the last completed flush ([`Survivors`]). A write that was never
//! answered may be there or not, block by block, and once it was read it stays.
//!
//! A snapshot that is taken meanwhile shows all blocks as they were at one `moment`.
//!
//! `link` speaks to a server or a file, `pattern` makes blocks, `history` knows what is allowed,
//! `load` drives. `files` does the same one floor up: files that were written with `fsync`. The
//! program `verifier` of this package runs both outside of the test's process, since a process
//! that waits for a file which it serves itself never ends.

mod files;
mod history;
mod journal;
mod link;
mod load;
mod moment;
mod nbd_link;
mod pattern;
mod random;

pub use files::{check_files, write_files};
pub use history::{Durability, Event, History, Survivors};
pub use journal::Journal;
pub use link::{Answer, Command, FileLink, Link, Work};
pub use load::{Load, Report};
pub use moment::{moment, shows_a_moment};
pub use nbd_link::NbdLink;
pub use pattern::{BLOCK, Content, fill};
pub use random::Random;

#[cfg(test)]
mod tests;
