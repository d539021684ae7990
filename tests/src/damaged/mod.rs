//! Damaged groups, here and in stock LVM2: which volumes a command leaves, and made of what.
//!
//! ```text
//!   template   a group of 1 to 6 disks with a volume of every kind that fits     stock makes it
//!   case       disks that are missing, stale, doubled or cloned, and a command   [`cases`]
//!   bench      runs the command in stock and here, each on a copy of the heads
//!   verdict    the same, better for a reason with a name, or worse
//! ```
//!
//! The commands write metadata only, so a volume that is mapped to the same extents holds the same:
//! maps are compared, not bytes. `cargo xtask compare` runs it.

mod bench;
mod campaign;
mod cases;
#[cfg(test)]
mod marks;
mod template;
mod verdict;

pub use campaign::{Campaign, Report};
