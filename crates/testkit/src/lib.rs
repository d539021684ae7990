//! What tests of devices share, and nothing that people run.

pub mod conformance;
mod counting;

pub use counting::Counting;
