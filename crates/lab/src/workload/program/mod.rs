//! Programs: streams of calls to a file system, of any shape.
//!
//! ```text
//!   settings ─▸ Program ─▸ Stream of Calls ─▸ filesystem::program::run ─▸ times by phase
//! ```
//!
//! A program is what it asks for, in its order: it makes, opens, reads, writes, computes. It names
//! files and directories by small numbers of its own and gives them names where they are made, so
//! the same stream can run on a model, be counted, or be carried out on a real file system. It
//! says where its phases begin; what is done before the first is preparation and not measured.
//!
//! Does not: hold contents, run several processes freely (but see [`Call::Together`]), or react to
//! what a call answered: a stream is known before it runs.
//!
//! `call.rs` has the calls; each program has a file: `bonnie.rs` (Bonnie and Bonnie++), `dd.rs`,
//! `iozone.rs`, `postmark.rs`, or a folder: `workload::dbench`, `workload::source` (tar and a
//! compiler). A new one is a file, a variant of [`Program`] with its arms, and an arm where
//! experiments read programs. `small.rs` is for comparing file systems, not for experiments;
//! `real.rs` makes calls in a folder.

mod bonnie;
mod call;
mod command;
mod dd;
mod iozone;
mod postmark;
mod real;
mod small;
mod stream;

pub use bonnie::{Bonnie, BonnieStyle, Ending};
pub use call::{Access, AccessKind, Call, Directory, File};
pub use dd::{Copying, Dd};
pub use iozone::IoZone;
pub use postmark::postmark;
pub use real::Folder;
pub use small::SmallFiles;
pub use stream::{Path, Program, Stream, Warmth};

#[cfg(test)]
pub(crate) mod tests;
