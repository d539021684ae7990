//! Snapshots, as Linux keeps them: an origin, and a store of what differs from it.
//!
//! ```text
//!   store     chunk 0 | 1 area | 2 … data … | 1 + (n+1) area | … data …        n entries an area
//!                       │ 7 ─▶ 2
//!                       │ 3 ─▶ 3
//!   snapshot  origin's 0 1 2 | the store's 3 | origin's 4 5 6 | the store's 2 | origin's 8 …
//! ```
//!
//! A chunk that differs has an entry that says where the store holds it; all others are the
//! origin's. While nobody writes either, that is a layout like any other, with a piece for each
//! run: [`view()`] makes it. A snapshot that is being merged into its origin is the same the other
//! way round: what the store still lists has not been copied to the origin, or may not be.
//!
//! An [`Origin`] serves both while they are written: one state, of which the origin is face 0 and
//! each snapshot another face.
//!
//! ```text
//!   write to the origin ─▸ is the chunk in each store? ───────────────────────▸ origin ─▸ answer
//!                            ╲ no: read once ─▸ into the stores ─▸ flush ─▸ entries, durable ╱
//!                                                        ╲ full: "invalid", durable ────────╱
//!   write to a snapshot ─▸ is the chunk in its store? ────────────────────────▸ store ─▸ answer
//!                            ╲ no, a part of it: as above, then ──────────────╱
//!                            ╲ no, all of it: into the store ─▸ flush ─▸ entry, durable ─▸ answer
//!   read of a snapshot ─▸ store, or origin; who overwrites that waits for the read
//!   merge ─▸ last entries: store ─▸ origin ─▸ flush ─▸ cleared, durable ─▸ the next ones
//! ```
//!
//! Promises: a snapshot shows what the origin held when it was made, changed by what was written to
//! it, or says that it cannot, after any cut, too. An entry is durable after what it points at and
//! before the origin's chunk is overwritten; an area is zeros, durably, before it can be read; a
//! snapshot that cannot follow says so durably before its origin goes on (`invalid.rs` has the
//! exception). A merge may be cut anywhere and goes on from there. The bytes are the kernel's, both
//! ways.
//!
//! Does not: discard, repair a damaged store, give chunks back that were copied and not needed, or
//! merge two snapshots at once. Costs: a read, a write, a flush and a write for the first write to
//! a chunk, the last two shared with all that come at the same time; all entries are in memory, 24
//! to 70 bytes for each run of them.
//!
//! `config.rs` says what an origin is made of, `control.rs` what it is told and tells; `state.rs`
//! is the machine, `reload.rs` its faces and how it becomes another one; `requests.rs` serves,
//! `places.rs` says from where, `copies.rs` copies, `commit.rs` makes it durable, `mend.rs` what
//! was read at the start, `invalid.rs` ends snapshots, `merge.rs` merges them; `member.rs`,
//! `exceptions.rs`, `entries.rs`, `operation.rs` and `limits.rs` are what they know; `map.rs` says
//! what may be asked without it, from what `kept.rs` and `sparse.rs` hold.
//! `store.rs` reads the format (the kernel's `dm-snap-persistent.c`); `view.rs` makes a layout of a
//! snapshot that nobody writes, nor its origin.

mod commit;
mod config;
mod control;
mod copies;
mod entries;
mod exceptions;
#[cfg(any(test, feature = "explore"))]
pub mod explore;
mod invalid;
mod kept;
mod limits;
mod map;
mod member;
mod mend;
mod merge;
mod operation;
mod places;
mod reload;
mod requests;
mod sparse;
mod state;
mod store;
mod view;

pub use config::{OriginConfig, Overflow, SnapshotConfig};
pub use control::{Control, Notice, SnapshotState, SnapshotStatus, Status};
pub use limits::SNAPSHOTS_MAX;
pub use map::{Hold, OriginMap};
pub use state::Origin;
pub use store::{CHUNK_MAX, Changes, ENTRIES_MAX, EntryRun, Run, Stored, read_store};
pub use view::view;

pub use crate::volume::Access;

#[cfg(test)]
mod tests;
