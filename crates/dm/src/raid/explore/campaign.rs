//! Many histories of arrays.

use super::fault::SeededFault;
use super::history;
use crate::explore;

/// What is to be explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Campaign {
    /// How much of it.
    pub extent: explore::Campaign,
    /// A mistake to be found.
    pub fault: Option<SeededFault>,
}

impl Campaign {
    /// Runs until enough is seen or a promise is broken.
    pub fn run(&self) -> explore::Report {
        let Self { extent, fault } = *self;
        extent.run(|seed, seen| history::run(seed, fault, seen))
    }

    /// The same, of arrays of md's.
    pub fn run_md(&self) -> explore::Report {
        let Self { extent, fault } = *self;
        extent.run(|seed, seen| history::run_md(seed, fault, seen))
    }
}
