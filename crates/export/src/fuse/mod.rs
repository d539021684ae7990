//! One device as one file, through FUSE.
//!
//! The kernel sends the reads and writes of whoever opened the file; a few threads, each with its
//! own channel to the kernel and its own queue to the device, answer them. There is no folder, no
//! name and no cache: the mount is a regular file over a regular file, and every request goes to
//! the device, so a loop device over the file sees its flushes and its holes.
//!
//! ```text
//!   cat, qemu, /dev/loop0 ── kernel ── /dev/fuse ─┬─ thread: driver + queue ─┬─ device
//!                                                 └─ thread: driver + queue ─┘
//! ```
//!
//! `protocol` knows the messages, `mount` the mounting, `job` turns a request into steps for the
//! device, `gate` keeps partial writes apart, `session` moves everything.
//!
//! Promises: a hole punched reads as zeros; an `fsync` is a flush of the device; a write through
//! `O_SYNC`, `O_DSYNC` or with `RWF_DSYNC` is durable when it is answered; any byte range may be
//! read and written. Does not: change its size by request of a client, keep times.

mod gate;
mod job;
mod mount;
mod protocol;
mod session;
mod worker;

pub use block::Access;
pub use mount::{Mount, remove_stale, require_device, require_unmounting};
pub use session::{Announcer, FuseFile, Options};

#[cfg(test)]
pub(crate) mod tests;
