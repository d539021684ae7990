//! The journal: what a row gets is durable beside the legs before any of them gets it.
//!
//! Data and parity of a row are written to several disks, and power may be cut between them. As
//! long as all legs are there parity is computed again; but where one is lost as well, what it held
//! would be made up from parity that belongs to other data: the write hole. So all that a stroke is
//! going to write, data and parity, goes into the journals of the row's parity legs first:
//!
//! ```text
//!   strokes ─▸ wait ─▸ entries of all that wait, one write with FUA for each leg ─▸ data, parity
//!                │
//!                ╰ no room, or a leg joins ─▸ strokes end ─▸ legs flushed ─▸ heads: generation + 1
//!   start    marks agree ─▸ entries read ─▸ what they say is written once more ─▸ flushed
//!   stop     legs flushed ─▸ heads: ended
//! ```
//!
//! Who lacks a row's parity needs no journal to read its data; so one on the legs with the parity
//! is enough, and each by itself, as an entry says what all legs get. Entries are kept until legs
//! have been flushed: what was written since may be older on some of them. Written once more, in
//! order, they leave each row as the last stroke did; that is right however often it is done, and
//! as no stroke goes past the journal, nothing newer is undone.
//!
//! A journal counts only as long as nobody else has used the array. Each time an array begins to be
//! written it gets another *mark*, in a field of its bitmaps that kernels set to zero whenever they
//! activate it; entries and heads carry the same mark. Nothing else of an array is changed by it.
//!
//! Not journaled: what is written where parity was never in sync, or to rows without parity legs.
//! An array whose metadata have no room for a whole row has no journal, and says so.
//!
//! Arrays of md's that have logs of partial parity (`md/partial`) have those for a journal: one
//! batch of entries fills it, and `partial.rs` says what an entry is there. Who opens the array
//! recovers them before it starts.
//!
//! Costs: each write of a row is written twice, and waits for a durable write of its parity leg's
//! metadata; those that wait together wait once. `format.rs` is what stands there, `state.rs` what
//! is known of it, `write.rs` writes it, `replay.rs` reads it.

mod format;
mod partial;
mod replay;
mod state;
mod write;

pub use format::{Bounds, Entry, Head, Session, State};
pub(super) use replay::{MARK_AT, Replay};
pub(super) use state::Journal;
pub(super) use write::Batch;
