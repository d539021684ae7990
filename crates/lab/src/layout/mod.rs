//! A stack of storage as plain data: disks, a volume on them, and what lies on top.
//!
//! ```text
//!   link       rate, round trip                     (an export, for instance)
//!   loops      0 to 3 nested: a cost per request and per KiB each
//!   mapping    a cost per lookup
//!   volume     segments one after the other: linear, striped, mirror, origin, raid1 to raid10
//!   disks      drives, capped volumes, flash, servers; perhaps on one bus, perhaps behind a link
//! ```
//!
//! The emulator builds it (`stack`), the predictor reads it; neither changes it. Positions and
//! lengths are bytes, disks are counted from 0. A partition is nothing but a place where an area
//! begins. `parse.rs` reads it from TOML, `word.rs` a disk from one word, `disk.rs` describes
//! disks, `raid.rs` arrays, `volume.rs` all that is made of them, and checks it: no area past the
//! end of its disk, none that overlaps another.

mod disk;
mod parse;
mod raid;
mod volume;
mod word;

pub use disk::{Disk, DiskKind, Overrides};
pub use parse::{disks, layouts, parse};
pub(crate) use raid::METADATA;
pub use raid::{Array, Level};
pub use volume::{Area, Buses, Cut, Layout, Loop, Order, Segment, Store};

#[cfg(test)]
mod tests;
