//! Devices made of devices.
//!
//! A [`table::Layout`] says how a volume is put together from devices, stripes and other layouts;
//! [`table::Table`] is the same, compiled flat, and a [`volume::Volume`] serves it as one
//! [`block::Device`]. Nothing here knows where a layout comes from.

pub mod conformance;
mod error;
pub mod table;
pub mod volume;

pub use error::{Error, Kind, Result};
