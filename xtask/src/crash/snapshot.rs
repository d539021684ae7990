//! Snapshots: what they show after cuts, while they come and go, and while they are merged.

use dm::snapshot::explore::{Campaign, SeededFault, Subject};

use super::arguments::Arguments;
use super::machines;

/// Histories in which a mistake must be found.
const PLANT_HISTORIES_MAX: u64 = 1000;

/// Explores snapshots that are taken, written and removed.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    explore("snapshot", Subject::Snapshots, arguments)
}

/// Explores snapshots that are merged.
pub(super) fn run_merges(arguments: &Arguments) -> Result<bool, String> {
    explore("merge", Subject::Merges, arguments)
}

fn explore(name: &str, subject: Subject, arguments: &Arguments) -> Result<bool, String> {
    let faults = SeededFault::ALL.iter().filter(|(.., of)| *of == subject);
    let explored = machines::Subject {
        name,
        faults: faults.map(|(known, fault, _)| (*known, *fault)).collect(),
        planted_histories: PLANT_HISTORIES_MAX,
    };
    explored.run(arguments, |extent, fault| {
        let campaign = Campaign {
            subject,
            extent,
            fault,
        };
        campaign.run()
    })
}
