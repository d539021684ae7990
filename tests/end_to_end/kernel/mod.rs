//! The stock kernel as judge of our disks, and we of its.
//!
//! Each test says how many boots it takes; a whole run has thirteen.

mod group;
mod histories;
mod lost;
mod mirrors;
mod moves;
mod raid;
mod snapshots;
mod volumes;
