//! Logical volumes in user space: find, open, read, write and change them.
//!
//! [`open`] is the front door. Behind it is the only place of the house that acts:
//! [`host`] says where devices come from, [`scan`] what is on them, and [`activate`]
//! makes devices of the logical volumes that were found. [`live`] is the process that owns a group
//! while volumes of it are served. [`arrays`] reads what the disks say of RAID volumes, [`scrub`]
//! compares what these have more than once, [`md`] manages arrays of md's, [`history`] says what
//! volumes were before, and [`filesystem`] how much of one its file system needs.

pub mod activate;
pub mod apply;
pub mod arrays;
mod below;
pub mod commit;
mod device;
mod error;
pub mod explore;
pub mod filesystem;
pub mod history;
pub mod host;
mod library;
pub mod live;
pub mod lock;
pub mod log;
pub mod md;
pub mod notices;
mod replace;
pub mod scan;
pub mod scrub;
pub mod stream;

/// What the interfaces here are made of, in the versions that fit.
pub use {block, dm, lvm2, nbd};

pub use error::{Error, Kind, Result};
pub use library::{Group, Serving, Storage, Volume, WritableGroup, open};
pub use replace::{Readers, replace_file};

#[cfg(test)]
mod tests;
