//! Takes the power away from an origin and its snapshots, at every moment, and looks what is left.
//!
//! [`SeededFault`] makes mistakes on purpose, between the machine and its disks.
//!
//! `shape.rs` is what all is made of, `oracle.rs` what a face may hold, `fault.rs` the mistakes.

mod fault;
mod oracle;
mod shape;

pub use fault::SeededFault;
pub use shape::Subject;
