//! The only place that acts: scan, commit, activate.
//!
//! [`host`] says where devices come from, [`scan`] what is on them, and [`activate`]
//! makes devices of the logical volumes that were found.

pub mod activate;
mod error;
pub mod host;
pub mod scan;

pub use error::{Error, Kind, Result};

#[cfg(test)]
mod tests;
