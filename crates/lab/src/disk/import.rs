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
