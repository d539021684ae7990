//! A file system of the kind of ext2 and ext3, and the kernel that serves it, in virtual time.
//!
//! ```text
//!   program    a stream of calls    what each phase came to; postmark is one
//!                │
//!   calls      files, data          create, open, read, write, close, delete, fsync, sync …
//!                │                  direct: past the cache; together: several processes
//!                │
//!              metadata             what they change; directory, inode, allocator, geometry
//!                │
//!   memory     cache                pages and buffers; readahead brings, writeback and commit take
//!                │
//!   requests   queue ─► device      any model: a drive, or an LV over an elevator over a drive
//!
//!   engine     one caller's clock, and the threads beside it
//!   account    Eq. 1: directory, metadata, free list, data, journal, counted and timed
//! ```
//!
//! It keeps no contents, only where they are. Every wait of the caller and every moment of the
//! device has a class, and the sums are the elapsed time. The same options, device and calls give
//! the same nanoseconds on every machine. `options` says what is assumed, and from where.

mod account;
mod allocator;
mod bits;
mod cache;
mod commit;
mod data;
mod direct;
mod directory;
mod elevator;
mod engine;
mod files;
mod geometry;
mod inode;
mod journal;
mod metadata;
mod options;
pub mod postmark;
pub mod program;
mod queue;
mod readahead;
mod together;
mod writeback;

pub use account::{Account, Tally};
pub use elevator::Elevator;
pub use engine::FileSystem;
pub use files::Node;
pub use geometry::Geometry;
pub use options::{
    AccessTime, BLOCK, Barrier, Costs, Index, Journaling, LogPlace, Options, Spread,
};

#[cfg(test)]
mod tests;
