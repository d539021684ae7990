//! Moves of extents: the data of a volume while its pieces are copied to other places.

use dm::mirror::explore::moves::{Campaign, SeededFault};

use super::arguments::Arguments;
use super::machines::Subject;

/// Histories in which a mistake must be found.
const PLANT_HISTORIES_MAX: u64 = 1000;

/// Explores moves.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    let subject = Subject {
        name: "move",
        faults: SeededFault::ALL.to_vec(),
        planted_histories: PLANT_HISTORIES_MAX,
    };
    subject.run(arguments, |extent, fault| Campaign { extent, fault }.run())
}
