//! Reading a device of which parts cannot be read.
//!
//! In the order of GNU ddrescue, so that a disk that is dying gives what it has before it is asked
//! for what it has not:
//!
//! ```text
//!   copying   large reads; behind one that failed some bytes are skipped, more each time.
//!             Pass 1 in one direction, pass 2 in the other, pass 3 over all that is left
//!   trimming  what failed in smaller pieces, and of those that fail block by block from both
//!             ends, until a block fails
//!   scraping  the blocks between, one by one
//!   retrying  the blocks that failed, one by one, as often as wanted, to and fro
//! ```
//!
//! A [`Map`] knows what has become of each byte. A salvage starts from one and leaves it behind,
//! also when it is ended in the middle, so the next one goes on where this one was. What a layout
//! knows to be lost (a disk that is not there) is never tried and keeps its status, so it is read
//! when the disk is back.
//!
//! [`salvage`] stores pieces wherever they belong. [`salvage_in_order`] is for what takes one byte
//! after the other: there a large read that failed is trimmed and scraped at once.
//!
//! Promises: what the map calls finished was stored; a block that can be read alone is read; a
//! device that is gone ends it with an error instead of counting as unreadable. Does not: write,
//! know files, or wait between attempts. Costs: while reads fail there is one in flight.

mod blocks;
mod map;
mod options;
mod ordered;
mod passes;
mod text;
mod walk;

pub use map::{Map, Status};
pub use options::{Direction, OnError, Options, Rescuer};
pub use ordered::salvage_in_order;
pub use passes::salvage;
pub use text::RUNS_MAX;

#[cfg(test)]
mod tests;
