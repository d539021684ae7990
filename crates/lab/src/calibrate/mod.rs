//! Times a disk from outside and fits a profile to it.
//!
//! ```text
//!   probe ──▸ cache ──▸ rotation ──▸ tracks ──▸ zones ──▸ seeks ──▸ profile
//! ```
//!
//! All that is known of the disk are the times of its answers. Reads of one block that come from
//! the medium end when the block has passed under the head, so their ends tell its angle; the cache
//! has to be kept out of the way, so it is learnt first. From angles follow the revolution, the
//! length of tracks, where they end, and how much the next one is turned. A seek takes what is left
//! of the shortest response over all sectors of the track that it goes to (time pairs, of which the
//! smallest over all rotational offsets counts).
//!
//! Only reads, unless the caller permits writes. Works over any [`block::Device`] with a clock:
//! an emulated disk in virtual time, or a real one.
//!
//! Cannot tell: what a miss costs in the controller more than a hit (it counts for the seek), a
//! head switch that is shorter than settling, spare sectors, the queue's order.

mod cache;
mod fit;
mod probe;
mod rotation;
mod run;
mod seeks;
mod tracks;
mod zones;

pub use fit::{CurveFit, fit_eq7};
pub use run::{Calibration, Options, Progress, SeekPoint, Writes, calibrate};
pub use zones::ZoneFit;

#[cfg(test)]
mod tests;
