//! Devices made of devices.
//!
//! A [`table::Layout`] says how a volume is put together from devices, stripes and other layouts;
//! [`table::Table`] is the same, compiled flat, which is asked where a byte
//! is. Nothing here knows where a layout comes from.

mod error;
pub mod table;

pub use error::{Error, Kind, Result};
