//! Tests of commits: what is written, what a power cut leaves, what an error leaves.

mod areas;
mod cuts;
mod disks;
