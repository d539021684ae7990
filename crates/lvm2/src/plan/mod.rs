//! Plans: what each command that changes something does to a volume group, as a value.
//!
//! ```text
//!     VolumeGroup + arguments ──plan──> Change ──ashlar──> disks
//! ```
//!
//! Nothing here acts. A plan takes a group and says how it will look, what must be done before
//! the commit and after it, and what people are told; `ashlar` does it, in the one order that
//! survives a power cut. So `plan CMD` shows exactly what `CMD` would do, and every rule can be
//! tested without a disk.
//!
//! `initialise` lays out new physical volumes. `places` says where extents may be taken and
//! `allocate` takes them; `size` turns `-L` and `-l` into extents. `physical`, `group` and
//! `logical` hold the commands, one file each; all go through `draft`, which refuses groups that
//! must not be changed and checks what comes out. `undo` goes back to an older text, and
//! `unfinished` ends what was interrupted between two commits.
//!
//! Messages and refusals use stock's words where scripts may look for them.

pub mod allocate;
mod author;
mod change;
mod checksums;
mod display;
mod draft;
pub mod group;
pub mod initialise;
pub mod logical;
mod moving;
pub mod physical;
pub mod places;
mod ranges;
pub mod repair;
#[cfg(test)]
pub(crate) mod samples;
mod segments;
pub mod size;
mod undo;
pub mod unfinished;

pub use author::Author;
pub use change::{
    AreaChange, Before, Change, GroupChange, HeaderChange, HeaderEdit, Level, Message, Piece,
    VolumeChange, When,
};
pub use display::display_size;
pub use draft::require_known_segments;
pub use ranges::pieces;
pub use undo::{revive, undo};
