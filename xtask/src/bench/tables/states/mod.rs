//! Devices with a state against a linear volume on the same files, in the same run.
//!
//! ```text
//!   library    in one process, in real time: what a request costs, alone and in a stack
//!   timed      on disks in virtual time: how much of them a machine uses
//!   doors      over NBD, by our own client
//!   arrays     arrays in all three ways, and QEMU's quorum
//!   overlays   a snapshot, and what people would use instead: qcow2, nbdkit's cow
//! ```
//!
//! `library` and `timed` ask an example of `ashlar-dm`, `states`, which answers a line for each
//! line; so all devices stay up while they are asked in turn.

mod arrays;
mod doors;
mod library;
mod list;
mod measurer;
mod overlays;
mod timed;

pub(super) use list::{ARRAY_TABLE, OVERLAY_TABLE, TABLE};
