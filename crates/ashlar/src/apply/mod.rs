//! Changes, from a plan to disks that hold it: every command that writes metadata comes by here.
//!
//! ```text
//!   locks ─▶ scan ─▶ may it? ─▶ servers kept out ─▶ plan ─▶ questions ─▶ archive ─▶ new labels
//!         ─▶ contents, flush ─▶ use flags that go ─▶ commit of each group ─▶ areas that are left
//!         ─▶ use flags that come ─▶ discards ─▶ backup ─▶ messages
//! ```
//!
//! A [`Session`] knows the host, the [`Disks`], whom to ask ([`Prompt`]), and which flushes
//! are made.
//! [`Session::change`] takes the locks of the groups that a [`Request`] names, looks at the disks,
//! and calls the plan, which is a pure function of what was found. If somebody else got in between,
//! it starts again: every device that is written, whatever becomes of it, is locked and read once
//! more first (`open.rs`). Nothing is written before all questions were answered, and nothing at
//! all in test mode. What the host's devices file has to know is kept by a [`Listing`].
//!
//! Whatever makes volumes smaller or takes them away meets the same questions and refusals:
//! `losses.rs`.
//!
//! Whatever a commit makes reachable is durable before it, and what it makes unreachable is touched
//! only after it; `steps.rs` has both. The next command repairs what an interrupted one left:
//! stale and damaged areas are written with the next commit, areas of volumes that left the group
//! are cleared, and labels that lag behind are written. What consists of several commits leaves a
//! mark in the text until the last one; `unfinished.rs` ends it.
//!
//! What is known of an array that nobody has active is in `array.rs`.
//!
//! Last of all, an image may be cut off behind its physical volume: `cut.rs`.
//!
//! Does not: change volumes that the kernel has active; the kernel would go on with old tables.

mod array;
mod author;
mod backup;
mod checks;
mod cut;
mod device_list;
mod disks;
mod facts;
mod listing;
mod losses;
mod open;
mod outdated;
mod permit;
mod placed;
mod preview;
mod prompt;
mod repair;
mod reproducible;
mod request;
mod session;
mod signatures;
mod steps;
mod unfinished;
mod updates;

pub use array::{
    ArrayFacts, array_facts, array_head, images_to_reset, reshape_head, shrunk_records,
};
pub(crate) use author::random_bytes;
pub use author::{header_now, host_author};
pub use cut::{Cut, ImageLengths, foresee_cut};
pub use device_list::{DeviceList, Difference, Naming};
#[cfg(test)]
pub(crate) use disks::LOOKS;
pub use disks::{Disks, HostDisks, NamedDisks, Opened};
pub use facts::{
    area_states, find_device, find_pv, free_member, new_member, plan_device, require_equal_blocks,
    require_no_member,
};
pub use listing::{Begins, Listing};
pub use losses::{read_content, read_volume};
pub(crate) use open::replaced;
pub use outdated::clearing_outdated;
pub use permit::permit;
pub use placed::require_placed;
pub use preview::Preview;
pub use prompt::{Answer, Prompt, Quiet};
pub use repair::update_metadata;
pub use request::{
    Agreement, FileSystems, NewLabel, Outcome, Ownership, Planned, Question, Request, Signatures,
    TestMode, Tolerated,
};
pub use session::{Environment, Plan, Session, is_told_alone, stock_locks};
pub use signatures::{Signature, find_signatures};

#[cfg(test)]
mod tests;
