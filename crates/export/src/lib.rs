//! Hand a device out: as a file through FUSE, and as a loop device over that file.
//!
//! Everything here speaks to [`block::Device`] and nothing else; what the device is made of does
//! not matter.

pub mod fuse;
pub mod loop_device;
pub mod mounts;
pub mod oom;
