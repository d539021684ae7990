//! Histories in which stock LVM2 on a stock kernel and Ashlar change the same group in turn.

#![allow(dead_code, reason = "the two sides come next")]

mod chooser;
mod model;
mod rows;
mod step;
