//! What tests of devices share, and nothing that people run.

mod counting;

pub use counting::Counting;
