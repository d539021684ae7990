//! Devices made of devices.
//!
//! A [`table::Layout`] says how a volume is put together from devices, stripes and other layouts;
//! [`table::Table`] is the same, compiled flat, and a [`volume::Volume`] serves it as one
//! [`block::Device`]. What has state of its own is a [`machine::Machine`], which a [`home::Home`]
//! runs. Nothing here knows where a layout comes from.

mod crc32c;
pub mod delay;
mod error;
#[cfg(any(test, feature = "explore"))]
pub mod explore;
mod gate;
pub mod home;
pub mod integrity;
mod legs;
mod locks;
pub mod machine;
pub mod map;
pub mod mirror;
pub mod raid;
mod slab;
pub mod snapshot;
pub mod table;
pub mod volume;

pub use error::{Error, Kind, Result};
