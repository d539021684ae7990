//! What can be crashed.

use super::arguments::Arguments;
use super::{metadata, mirror};

/// Something whose states after a cut are explored.
pub(super) struct Subject {
    pub(super) name: &'static str,
    /// Explores it and prints what it saw; whether all promises were kept and all mistakes found.
    pub(super) run: fn(&Arguments) -> Result<bool, String>,
}

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "metadata",
        run: metadata::run,
    },
    Subject {
        name: "faults",
        run: metadata::run_faults,
    },
    Subject {
        name: "mirror",
        run: mirror::run,
    },
];
