//! md's own arrays: what the kernel and mdadm keep on the disks themselves.
//!
//! Each device of an array holds a superblock, in one of two formats at four places (`places.rs`):
//! `superblock1.rs` and `superblock090.rs` read and write them, `fields.rs` has their integers.
//! Both say the same things: a `Claim` is what one device says of the array and of itself.
//! `members.rs` has the claims of several devices and tells what is believed; `kept.rs` is what is
//! written of them while the array is; `zones.rs` is where the bytes of arrays without redundancy
//! are; `create.rs` is what a new array begins with, `spare.rs` what a device that joins one does.

mod claim;
mod create;
mod fields;
mod kept;
mod members;
pub mod partial;
mod places;
mod spare;
mod superblock090;
mod superblock1;
mod zones;

pub use claim::{BadBlocks, Claim, Guard, Reshape, Role, Shape};
pub use create::{Formatted, NewArray, NewBitmap};
pub use fields::ByteOrder;
pub use kept::{Kept, KeptBitmap, KeptLeg, KeptSuperblock};
pub use members::{Array, Layout, Leg, Readiness, Reshaping, Verdict, judge};
pub use places::{Place, candidates, find};
pub use spare::NewSpare;
pub use superblock1::{Feature, Features, Superblock1};
pub use superblock090::{Descriptor, Superblock090};
pub use zones::{Spans, Stripes, ZoneOrder, Zones};

#[cfg(test)]
mod tests;
