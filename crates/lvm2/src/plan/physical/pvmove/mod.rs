//! `pvmove`: extents get another place while their volumes are in use.
//!
//! ```text
//!     before     a  |pv0:0 9        |pv1:0 2 |       b  |pv0:10 4   |
//!
//!     under way  a  |pvmove0:0 9    |pv1:0 2 |       b  |pvmove0:10 4|      both LOCKED
//!                pvmove0  |mirror of pv0:0 and pv2:0 |mirror of pv0:10 and pv2:10|
//!                          moved: on pv2              running or to come: on pv0
//!
//!     after      a  |pv2:0 9        |pv1:0 2 |       b  |pv2:10 4   |
//! ```
//!
//! A move is in the text until it ends: a hidden volume, `pvmove0`, has what is moved, in pieces,
//! each a mirror of its source and its target, and the volumes stand on that. Of a piece with
//! `extents_moved = 0` the source is right, whatever the target holds; of one with all of its
//! extents moved the target is. So a piece that is cut off begins again, and what was noted stays.
//!
//! `begin` makes that shape: `choose` says which extents go, `apart` where they must not, `pieces`
//! cuts and places them, `layer` cuts what stands on them and takes the layer away again. `given`
//! makes it of places that somebody else chose. `advance` notes that pieces have arrived, and ends
//! or aborts. `list` reads what is under way, whoever began it.
//!
//! Promises: stock goes on with a move of ours, and we with one of its. Copies of the same data,
//! and stripes, never meet on one physical volume that they did not share before, unless the policy
//! is *anywhere*. A move that cannot be made whole is not begun.
//!
//! Costs: while the store of a snapshot is moved, stock cannot activate that snapshot unless it is
//! active already, whoever began the move: it reads the store before the layer is there.
//!
//! Does not: copy anything, or look at what is active.

mod advance;
mod apart;
mod begin;
mod choose;
mod given;
mod layer;
mod list;
mod pieces;

pub use advance::{abort_move, piece_moved};
pub use begin::{MoveRequest, begin_move};
pub use given::{Relocation, begin_relocation};
pub use list::{Move, MoveMode, MovePiece, moves};

pub(super) use apart::Siblings;
pub(super) use choose::{is_part_of, obstacle};
pub(super) use given::relocated;
pub(super) use pieces::stripe_unit;

#[cfg(test)]
mod tests;
