//! Arrays of md's, as people manage them: what there is, new ones, and legs that come and go.
//!
//! ```text
//!   report.rs   a scan ─▸ each array, its devices, and what is wrong with them
//!   create.rs   devices ─▸ what they hold is told ─▸ bitmaps, durably ─▸ superblocks, durably
//!   member.rs   a device ─▸ spare ─▸ leg, filled;   a leg ─▸ away, and the others say so
//! ```
//!
//! Whatever is written here, a stock kernel and mdadm go on with at any stop. What the kernel runs
//! is not seen: its devices are skipped before they are looked at.
//!
//! Does not: start arrays of the kernel's, reshape, or change level and size.

mod create;
mod member;
mod report;

#[cfg(test)]
mod tests;

pub use create::{Held, create, held, new_identity};
pub use dm::raid::md::{Formatted, NewArray, NewBitmap, Shape};
pub use member::{Coming, add, bring_in_sync, coming, remove};
pub use report::{ArrayReport, Health, MemberReport, Standing, find, places, reports};
