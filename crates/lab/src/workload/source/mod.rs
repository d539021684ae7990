//! Programs on a tree of source files: tar, and a compiler.
//!
//! ```text
//!   seed, number of files ─► Tree ─┬─► create   read them all, write an archive
//!                                  ├─► extract  read an archive, write them all
//!                                  └─► compile  read each source and its headers, think, write
//! ```
//!
//! The tree is made up: sizes are log-normal with a median of 4 KB, which is what kernels of 2001
//! and today have, directories hold some sixteen files each. It is written before the first phase,
//! and memory is emptied, so that a phase begins as after mounting.

mod compile;
mod settings;
mod tar;
mod tree;

pub use compile::compile;
pub use settings::{Building, Work};
pub use tar::{Ending, create, extract};
pub use tree::{Source, Tree};

#[cfg(test)]
mod tests;
