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
//! Does not: write. What is kept here is the state of one moment; who writes the origin or the
//! store meanwhile makes it wrong.
//!
//! `store.rs` reads the format (the kernel's `dm-snap-persistent.c`); `view.rs` makes the layout.

mod store;
mod view;

pub use store::{CHUNK_MAX, Changes, ENTRIES_MAX, EntryRun, Run, Stored, read_store};
pub use view::view;
