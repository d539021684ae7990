//! Histories of a change, one after the other.

use super::{ChangeFault, course, kinds};
use crate::explore::{Campaign, Report};

/// Histories for each kill, at most: a stage may be over before its moment comes.
const HISTORIES_PER_KILL: u64 = 8;

/// All changes, by their names.
pub fn changes() -> Vec<String> {
    kinds::names()
}

impl super::super::Campaign {
    /// The same, of the change of this name, until its process was killed so many times.
    pub fn run_change(name: &str, kills: u64, seed: u64) -> Report {
        let extent = Campaign {
            seed,
            states: kills,
            histories: kills * HISTORIES_PER_KILL,
        };
        extent.run_until(
            |seen| seen.counted("kills") >= kills,
            |seed, seen| course::run(name, (seed, None), seen),
        )
    }

    /// The same with a mistake, which has to be found.
    pub fn run_faulty_change(name: &str, extent: Campaign, fault: ChangeFault) -> Report {
        extent.run(|seed, seen| course::run(name, (seed, Some(fault)), seen))
    }
}
