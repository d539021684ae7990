//! fio's job files, the common subset, and the requests that they ask for.
//!
//! ```text
//!   [global]                     options of all jobs behind it
//!   bs=16k  iodepth=64
//!   [mixed]                      a job: rw, sizes, rates, distribution
//!   rw=randrw  size=512M  random_distribution=zipf:1.1
//! ```
//!
//! `options.rs` reads values, `parse.rs` the file, `requests.rs` makes the requests of one process
//! of a job, `distribution.rs` says where random ones go.
//!
//! Promises: the requests of a seed are the same on every machine; every option that changes what
//! is asked for is honoured or refused by name and line.
//!
//! Does not: draw fio's own numbers. The distributions are fio's, the single offsets are not.

mod distribution;
mod job;
mod options;
mod parse;
mod requests;

pub use distribution::{Distribution, Zone};
pub use job::{Arrival, Direction, Job, Mix, Pattern};
pub use parse::{parse, parse_on};
pub use requests::{Request, Requests};

#[cfg(test)]
mod tests;
