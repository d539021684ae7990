//! dbench: what clients of a file server ask for, from a load file or made up with its mix.
//!
//! ```text
//!   client.txt ─► parse ─┐
//!                        ├─► load: operations of one client ─► stream: calls of many
//!   seed, mix ─► synthetic┘
//! ```
//!
//! dbench plays a list of requests of a Windows client against the local file system: open, read,
//! write, look for files, remove. Its result is megabytes (10^6) read and written by a second. The
//! real list is GPL and not here: [`parse()`] reads it where it is installed, [`synthetic()`] makes
//! one with the same numbers of requests and bytes.
//!
//! What differs: clients take turns, one request each, since the model of the file system has one
//! caller. A write behind a file's end fills the gap, but for single bytes, which only make room; a
//! file that is removed is closed before.

mod client;
mod load;
mod parse;
mod settings;
mod stream;
mod synthetic;

pub use load::{Counts, Load, Operation, PathNumber, Request};
pub use parse::parse;
pub use settings::{Dbench, Requests, Writes};
pub use stream::stream;
pub use synthetic::{MIX, Mix, synthetic};

#[cfg(test)]
mod tests;
