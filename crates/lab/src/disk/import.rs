//! Profiles from the parameter files of `DiskSim` 4.
//!
//! Many real drives were measured into such files. A drive is spread over four:
//!
//! ```text
//!   NAME.parv       the whole simulation; only its buses and controller matter here
//!   NAME.diskspecs  disksim_disk: cache, overheads, queue; names the model
//!   NAME.model      dm_disk: zones, skews, spares, slips, mechanics; names the seek curve
//!   NAME.seek       measured seek times
//! ```
//!
//! `params` parses the format they share; `disksim` and `model` say what each parameter means.
//! In four places the model reads more out of a file than `DiskSim` does, by rules that hold for
//! all drives and were found in the residuals of five measured ones (1992 to 1999):
//!
//! - To begin a transfer costs settling, two thirds of the shortest seek, even where the head is on
//!   the track (see `settle_of` in `seek`). `DiskSim` charges nothing there.
//! - "Read-ahead over requested" makes the drive forget what it delivered: a repeated read misses.
//! - "Buffer continuous read = 4" reads whole tracks ahead as long as they fit the segment.
//! - "Read any free blocks" keeps a whole track once it has passed, not only what lay before the
//!   request.
//!
//! Parameters that this model has no use for (statistics, other components) are passed over;
//! values that it cannot honour are errors, never approximated in silence.

mod disksim;
mod model;
mod params;

pub use disksim::{Files, profile};

/// A decimal number of a unit that has `digits` more digits in nanoseconds; not negative.
pub(crate) fn decimal_time(text: &str, digits: usize) -> Option<u64> {
    u64::try_from(params::decimal(text, digits)?).ok()
}

/// Milliseconds as nanoseconds.
pub(crate) fn milliseconds(text: &str) -> Option<i64> {
    params::decimal(text, 6)
}
