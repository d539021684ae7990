//! Commands on physical volumes; `initialise` has `pvcreate`.

mod change;
mod defrag;
mod pack;
mod pvmove;
mod remove;
mod resize;
mod shorten;

pub use change::{Allocatable, PvAttribute, already, change_pv};
pub use defrag::{Defrag, DefragScope, begin_room, plan_defrag, room_needed};
pub use pack::{movable_volumes, pack_pv};
pub use pvmove::{
    Move, MoveMode, MovePiece, MoveRequest, Relocation, abort_move, begin_move, begin_relocation,
    moves, piece_moved,
};
pub use remove::{Force, erase_label};
pub use resize::{PvSize, resize_pv};
pub use shorten::{Lengths, shorten_pv};

#[cfg(test)]
mod tests;
