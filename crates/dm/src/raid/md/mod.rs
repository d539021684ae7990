//! md's own arrays: what the kernel and mdadm keep on the disks themselves.
//!
//! `zones.rs` is where the bytes of arrays without redundancy are.

mod zones;

pub use zones::{Spans, ZoneOrder, Zones};
