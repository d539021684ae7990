//! The scan: look at every device, in parallel, and say what volume groups there are.
//!
//! ```text
//!   host::Candidates ─▶ run ─▶ probe (per device) ─▶ assemble ─▶ Scan
//!                               source, texts          duplicates, judge
//! ```
//!
//! There is no cache: the disks are the truth, and reading a few sectors of each is fast. Whoever
//! changes a few disks may look again at those (`again`). What is damaged, missing or contradictory
//! is a [`Finding`] and never hides what is healthy. Nothing is written, and nothing stays open.

mod again;
mod arrays;
mod assemble;
mod decisions;
mod duplicates;
mod families;
mod finding;
mod found;
mod in_lvm2;
mod judge;
mod lookup;
mod partitions;
mod probe;
mod run;
mod source;
mod stage;
mod texts;
mod unfinished;

#[cfg(test)]
pub(crate) use again::READ_AGAIN;
pub(crate) use again::scan_again;
pub use finding::{Finding, FindingKind, Severity};
pub use found::{
    AreaContent, AreaVersion, Content, DeviceIndex, Duplicate, FoundArea, FoundDevice, FoundPv,
    FoundVg, Member, Presence, PvIndex, Restriction, Scan, foreign,
};
#[cfg(any(test, feature = "explore"))]
pub(crate) use run::look_twice;
pub use run::{Options, scan, scan_devices};
pub use source::Source;
pub(crate) use source::area_bytes;

#[cfg(test)]
mod tests;
