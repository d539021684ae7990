//! Images with checksums: data that was promised to be there, and no block that is an error.

use dm::integrity::explore::{Campaign, SeededFault};

use super::arguments::Arguments;
use super::machines::Subject;

/// Histories in which a mistake must be found.
const PLANT_HISTORIES_MAX: u64 = 2000;

/// Explores devices with checksums.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    let subject = Subject {
        name: "integrity",
        faults: SeededFault::ALL.to_vec(),
        planted_histories: PLANT_HISTORIES_MAX,
    };
    subject.run(arguments, |extent, fault| Campaign { extent, fault }.run())
}
