//! `ashlar demo`: what Ashlar can do, on bundled disks that stock LVM2 wrote and on its own.
//!
//! ```text
//!   run        the order of the steps
//!   disks      the bundled disks, and what their volumes are known to hold
//!   archive    unpacks them
//!   picture    draws which extents of which disk hold which volume
//!   volumes    opens volumes and compares their content
//!   network    serves one, and reads it back through the socket
//!   files      attaches one, mounts it, and compares its files
//!   tour       a group of its own, from empty files to the verdict of stock LVM2
//!   story      says what is done, in numbered steps, with colours on a terminal
//!   process    runs a command within a time limit
//!   interrupt  notices that somebody wants the demo to end
//! ```
//!
//! Everything happens in a folder of its own, below the folder for temporary files. Whatever is
//! made is a value that unmakes it when dropped, so that also a failure or an interrupt leaves
//! nothing behind. Steps that the machine does not allow are left out, and say why; a step that
//! fails ends the demo.

mod archive;
mod disks;
mod files;
mod interrupt;
mod network;
mod picture;
mod process;
mod run;
mod story;
mod tour;
mod volumes;

pub(crate) use run::run;
pub(crate) use tour::Pace;
