//! The only place that acts: scan, commit, activate.
//!
//! [`host`] says where devices come from, [`scan`] what is on them.

mod error;
pub mod host;
pub mod scan;

pub use error::{Error, Kind, Result};

#[cfg(test)]
mod tests;
