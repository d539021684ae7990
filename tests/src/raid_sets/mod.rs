//! Disks with RAID arrays that a stock kernel left in the middle of something.
//!
//! ```text
//!   set     unpacks a set, and tells what its volumes must hold       RaidSet::shared("dirty")
//!   maker   makes a set anew, with a stock kernel (cargo xtask raid-sets)
//! ```
//!
//! What each set is, and what surprised us, stands in `tests/fixtures/raid/README.md`.

mod maker;
mod set;

pub use maker::make as make_raid_set;
pub use set::{RAID_SETS, RaidDisk, RaidSet, RaidVolume};
