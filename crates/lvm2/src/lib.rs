//! LVM2 as knowledge: bytes and values in, bytes and values out.
//!
//! Nothing here does I/O, reads a clock or draws a random number; time and UUIDs are arguments.
//! Nothing here needs the standard library either: `core` and `alloc` are enough.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod error;
pub mod model;
pub mod ondisk;
pub mod plan;
pub mod text;
mod units;
mod uuid;

pub use error::{Error, Kind, Result};
pub use units::{Bytes, Extents, SECTOR_SIZE, Sectors};
pub use uuid::{UUID_LEN, Uuid};
