//! Emulated disks: pure models that a clock drives.
//!
//! ```text
//!   profile ◄── import (parameter files of measured drives), catalog (known drives), file
//!      │
//!      ▼
//!   drive ──► geometry   which sector holds a block, at which angle
//!         ──► seek       how long the arm takes
//!         ──► rotation   where the platter is: a phase of the clock
//!   capped               a volume with limits instead of a head
//!   flash                units that work at the same time
//!   stretch              a drive of the catalogue, larger
//!   server               one queue with drawn times, as the closed forms have it
//!   model                the seam: commands in, answers out, at given times
//!   link                 a model at the other end of a network
//!   device               a drive with bytes, as the data path sees it
//!   replay               measured requests against the model: the demerit figure
//! ```
//!
//! Times are integer nanoseconds. No result depends on the platform's mathematics library, on hash
//! order or on the machine: the same profile, phase and commands give the same answers everywhere.

pub mod capped;
pub mod catalog;
pub mod device;
pub mod drive;
pub mod file;
pub mod flash;
pub mod geometry;
pub mod import;
pub mod link;
pub mod model;
pub mod profile;
pub mod replay;
pub mod rotation;
pub mod seek;
pub mod server;
mod stretch;
