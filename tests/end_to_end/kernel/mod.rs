//! The stock kernel as judge of our disks, and we of its.
//!
//! Each test says how many boots it takes; a whole run has eighteen.

mod activation;
mod checksums;
mod group;
mod histories;
mod levels;
mod lost;
mod md;
mod md_partial;
mod mirrors;
mod moves;
mod raid;
mod reshape;
mod snapshots;
mod volumes;
