//! What is done with a tree.

use super::compile::compile;
use super::tar::{Ending, create, extract};
use super::tree::Tree;
use crate::workload::InputError;
use crate::workload::program::Stream;

/// Files of a tree at most.
const FILES_MAX: u32 = 1_000_000;

/// What is done with a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// An archive is made of it.
    Create(Ending),
    /// It is taken out of an archive.
    Extract(Ending),
    /// It is compiled.
    Compile {
        /// Nanoseconds of computing for each source.
        source_ns: u64,
    },
}

/// A program on a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Building {
    /// Files of the tree.
    pub files: u32,
    /// What is done.
    pub work: Work,
}

impl Building {
    /// The calls of a run; the seed draws the tree.
    pub fn stream(&self, seed: u64) -> Result<Stream, InputError> {
        if self.files == 0 || self.files > FILES_MAX {
            let what = format!("1 to {FILES_MAX} is expected");
            return Err(InputError::new(0, "files", what));
        }
        let tree = Tree::new(self.files, seed);
        Ok(match self.work {
            Work::Create(ending) => create(tree, ending),
            Work::Extract(ending) => extract(&tree, ending),
            Work::Compile { source_ns } => compile(tree, source_ns, seed),
        })
    }
}
