//! `pvmove`: extents get another place while their volumes are in use.
//!
//! ```text
//!   pvmove  ─▸ handler   begins or aborts: a change like any other, made by the owner of the group
//!           ─▸ follow    if nobody owns the group: owns it, which moves; shows how far it is
//! ```
//!
//! Who moves is the owner of the group, whoever that is; this command only waits. Ended at any
//! moment, it leaves a move that goes on when the group is served next, or by the next `pvmove`.

mod begin;
mod command;
mod follow;
mod progress;

pub(super) use begin::{handler, piece_max};
pub(super) use command::COMMAND;
pub(super) use follow::{Next, follow_group};
