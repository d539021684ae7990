//! File-level formulas: the terms of Eq. 1 of a program on a file system, without running either.
//!
//! ```text
//!   pool     what the program does: files, pages, lists, each operation counted    (exact)
//!   cache    what is in memory: Che's approximation                                (numeric root)
//!   journal  what a commit of jbd writes: distinct blocks, descriptors, record     (closed form)
//!   cycle    how much is dirtied between two commits, and in how many pieces it lies
//!   terms    blocks times the time of a request: T_DO, T_MO, T_FL, T_DFA, T_J      (fixed point)
//!   emulated the same by the model of a file system, to compare
//! ```
//!
//! The first study writes Eq. 11 and 12 with an f that it never gives. Here it is: for each class
//! of blocks the number of requests that reach the device, by the program's counts, the chance that
//! memory answers and the chance that a change is overtaken by the next one or by a deletion; times
//! what such a request takes on the volume, by the formulas for requests.
//!
//! Holds for `PostMark` in one directory of a new ext3 with ordered data and no barriers, on one
//! kind of segments, as long as one transaction more dirties little against the memory that may be
//! dirty. Does not hold near the edge where a run just fits into it: there whole commits appear or
//! vanish by chance. Everything is a mean.

mod cache;
mod cycle;
mod emulated;
mod journal;
mod pool;
mod terms;

pub use cache::{Crowd, characteristic_time, hit};
pub use emulated::emulate;
pub use journal::{distinct, log_blocks};
pub use pool::Pool;
pub use terms::{FilePrediction, Files};

#[cfg(test)]
mod tests;
