//! LVM2 as knowledge: bytes and values in, bytes and values out.
//!
//! Nothing here does I/O, reads a clock or draws a random number; time and UUIDs are arguments.

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
