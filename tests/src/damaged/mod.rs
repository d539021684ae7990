//! Damaged groups, here and in stock LVM2: which volumes a command leaves, and made of what.
//!
//! ```text
//!   template   a group of 1 to 6 disks with a volume of every kind that fits     stock makes it
//!   case       disks that are missing, stale, doubled or cloned, and a command   [`cases`]
//!   marks      what stands in each extent                                        [`marks`]
//!   bench      runs the command in stock and here, each on disks of its own
//!   verdict    the same, better for a reason with a name, or worse
//! ```
//!
//! Compared are the maps of volumes and what their extents hold; and what was written where.
//! `cargo xtask compare damaged` runs it.

mod bench;
mod campaign;
mod cases;
mod marks;
mod template;
mod verdict;

pub use campaign::{Campaign, Report};
pub(crate) use template::{pv_uuid as identity_of, template_of};
