//! md's own arrays: what the kernel and mdadm keep on the disks themselves.
//!
//! Each device of an array holds a superblock at one of four places (`places.rs`); `superblock1.rs`
//! reads and writes it, `fields.rs` has its integers. A `Claim` is what one device says of the
//! array and of itself. `zones.rs` is where the bytes of arrays without redundancy are.

mod claim;
mod fields;
mod places;
mod superblock1;
mod zones;

pub use claim::{BadBlocks, Claim, Guard, Reshape, Role, Shape};
pub use fields::ByteOrder;
pub use places::{Place, candidates};
pub use superblock1::{Feature, Features, Superblock1};
pub use zones::{Spans, ZoneOrder, Zones};
