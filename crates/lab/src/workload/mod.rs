//! Workloads: the operation streams of the programs that people measure with.
//!
//! ```text
//!   postmark   mail server of small files: create, read, append, delete
//!   fio        job files: reads and writes of a device, in sequence or by a distribution
//!   program    streams of calls to a file system: Bonnie, dd, IOzone, and any other
//!   short      names of common loads, and jobs in one word
//!   dbench     a file server's clients, from load files or with their mix
//!   source     tar and a compiler on a tree of source files
//!   mt19937    the generator that `PostMark` draws from
//!   error      input that was refused: line, field, problem
//! ```
//!
//! A workload here does no input or output. It says what the program would ask a file system or a
//! device for, in the program's order, so that the same load can be driven against a model in
//! virtual time, counted, or compared with a recording of the real program.

pub mod dbench;
mod error;
pub mod fio;
pub mod mt19937;
pub mod postmark;
pub mod program;
pub mod short;
pub mod source;

pub use error::InputError;
