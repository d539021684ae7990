//! How a volume is put together, and how a byte of it is found.
//!
//! ```text
//!   layout (a tree)                            table (flat, for the data path)
//!
//!   home                                       ends      segments
//!    ├ linear  of disk a, from 1 MiB           4 MiB     disk a + 1 MiB
//!    ├ striped 64 KiB over b, c                12 MiB    stripe #0, from its byte 0
//!    └ linear  of layout `cache`               13 MiB    disk d + 7 MiB
//!        └ linear of disk d                    16 MiB    zeros
//! ```
//!
//! `layout.rs` describes and checks each node when it is made: a layout can only hold layouts that
//! exist already, so there are no loops. `compile.rs` turns the tree into one table: nested layouts
//! disappear, pieces that continue each other merge. `place.rs` knows where a byte of a segment is
//! and `lookup.rs` which segment a byte is in. A device with state of its own (a mirror, say) is a
//! device like any other here.

mod compile;
mod layout;
mod lookup;
mod place;
mod prune;

pub use compile::PIECES_MAX;
pub use layout::{Area, DEPTH_MAX, Layout, Piece, PieceKind, STRIPES_MAX};
pub use lookup::{Hint, Leaf, Mapped, Run, Table};

#[cfg(test)]
pub(crate) mod tests;
