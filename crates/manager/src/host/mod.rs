//! This host: which devices it has, what they are, and what its configuration says about them.

mod location;

pub use location::{DeviceNumber, Location, Window};
