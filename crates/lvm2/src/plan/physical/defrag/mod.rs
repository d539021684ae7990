//! Volumes become contiguous again, and are packed to the front of their physical volumes.
//!
//! ```text
//!     before    pv0  |a  |b    |a  |   |c|a  |   |      a has three runs
//!     joined    pv0  |   |b    |       |c|a        |    one pass: it went where all of it fits
//!     packed    pv0  |b    |c|a        |           |    and two more: the end is free
//! ```
//!
//! `columns` says what should lie in one piece: the areas of neighbouring segments that would be
//! one segment if their extents were next to each other. So extents stay on their physical volume,
//! and copies and stripes apart. `join` finds a column the place that costs least, `pack` closes
//! the gaps in front of columns, `elsewhere` finds one another physical volume when its own has no
//! room. `room` frees the end of a physical volume.
//!
//! All are steps from a group to the next pass: moves that can run at once, since their targets are
//! free. `plan` takes one step after the other on a model of the group, until there is no more to
//! do. Nothing is remembered from pass to pass: whoever is interrupted plans again, from what is
//! there then.
//!
//! Promises: to join one volume on its physical volumes, no more extents are moved than its columns
//! in pieces have; an extent moves twice only where that lets others stay. To pack, a column that
//! is much longer than the gap in front of it moves out of the way first, and is moved twice.
//!
//! Does not: find the cheapest way to pack. It fills a gap with what fits it exactly, and else
//! shifts what is behind it.

mod columns;
mod elsewhere;
mod join;
mod pack;
mod plan;
mod room;
mod space;

pub use plan::{Defrag, DefragScope, plan_defrag};
pub use room::{begin_room, room_needed};

#[cfg(test)]
mod tests;
