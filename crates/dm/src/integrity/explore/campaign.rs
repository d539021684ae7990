//! Many histories.

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
}
