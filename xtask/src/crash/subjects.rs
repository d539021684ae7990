//! What can be crashed.

use super::arguments::Arguments;
use super::{integrity, metadata, mirror, moves, races, raid, snapshot};

/// Something whose states after a cut are explored.
pub(super) struct Subject {
    pub(super) name: &'static str,
    /// What it is, for people.
    pub(super) what: &'static str,
    /// Explores it and prints what it saw; whether all promises were kept and all mistakes found.
    pub(super) run: fn(&Arguments) -> Result<bool, String>,
}

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "metadata",
        what: "every command that writes metadata, cut off at every moment",
        run: metadata::run,
    },
    Subject {
        name: "faults",
        what: "every request of every such command fails once",
        run: metadata::run_faults,
    },
    Subject {
        name: "races",
        what: "two such commands at the same time, in many orders, cut off at every moment",
        run: races::run,
    },
    Subject {
        name: "mirror",
        what: "the data of mirrors, cut off at every moment, and without a leg",
        run: mirror::run,
    },
    Subject {
        name: "move",
        what: "a volume whose extents are moved, cut off at every moment, and without a target",
        run: moves::run,
    },
    Subject {
        name: "snapshot",
        what: "snapshots that come and go while all is written, cut off at every moment",
        run: snapshot::run,
    },
    Subject {
        name: "merge",
        what: "snapshots that are merged into their origin, cut off likewise",
        run: snapshot::run_merges,
    },
    Subject {
        name: "raid",
        what: "arrays of every level, cut off at every moment, and without the legs they may lose",
        run: raid::run,
    },
    Subject {
        name: "integrity",
        what: "images with checksums of both modes, cut off at every moment",
        run: integrity::run,
    },
];
