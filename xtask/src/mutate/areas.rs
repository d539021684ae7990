//! The areas: which files are mutated, and which tests are asked, the cheap ones first.

/// A part of the sources that is mutated at once.
#[derive(Debug)]
pub(super) struct Area {
    pub(super) name: &'static str,
    /// The package whose unit tests are run.
    pub(super) package: &'static str,
    /// Globs of the files, from the root.
    pub(super) files: &'static [&'static str],
    /// The unit tests: those of the area, and those beside it that use it most. More would find
    /// little more, and cost as much for every mutant.
    pub(super) tests: &'static [&'static str],
    /// What is asked next, one after the other, for what unit tests let live.
    pub(super) later: &'static [Later],
}

/// Tests that are asked for what unit tests let live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Later {
    /// The unit tests of another package, which stands on this one, whose names begin so.
    Unit(&'static str, &'static str),
    /// Those of the package in its `tests` folder.
    Integration(&'static str),
    /// End-to-end tests whose names begin so.
    EndToEnd(&'static str),
}

use Later::{EndToEnd, Integration, Unit};

/// The part of the crash campaign that takes seconds only.
const CUTS: &str = "explore::tests::cuts";

/// Commands that meet; seconds as well.
const MEETINGS: &str = "explore::race";
/// What plans say of the flushes of commands; likewise.
const PROMISES: &str = "explore::tests::plans_promise";

/// What every change of metadata goes through, for those who plan and write it; what takes a
/// minute comes last.
const CHANGES: &[Later] = &[
    EndToEnd("names::"),
    EndToEnd("shrinking::"),
    EndToEnd("clones::"),
    EndToEnd("minimise::"),
    EndToEnd("devices_file::"),
    EndToEnd("changes::"),
    EndToEnd("missing::an_outdated_image"),
    EndToEnd("reproducible::"),
    EndToEnd("locks::"),
    EndToEnd("plans::"),
    EndToEnd("missing::nothing_is_lost"),
    EndToEnd("volumes::"),
    EndToEnd("mishaps::"),
];

/// What stands on targets and on servers.
const ATTACHED: &[Later] = &[
    EndToEnd("attach::"),
    EndToEnd("durability::"),
    EndToEnd("handover::"),
    EndToEnd("filesystems::"),
];

/// Those where a mistake loses data first.
pub(super) const AREAS: &[Area] = &[
    Area {
        name: "commit",
        package: "ashlar",
        files: &["crates/ashlar/src/commit/*.rs"],
        tests: &["commit::", "apply::", CUTS],
        later: CHANGES,
    },
    Area {
        name: "lock",
        package: "ashlar",
        files: &["crates/ashlar/src/lock/*.rs"],
        tests: &["lock::", "apply::"],
        later: &[EndToEnd("locks::"), EndToEnd("handover::")],
    },
    Area {
        name: "apply",
        package: "ashlar",
        files: &["crates/ashlar/src/apply/*.rs"],
        tests: &["apply::", "commit::", CUTS, MEETINGS, PROMISES],
        later: CHANGES,
    },
    Area {
        name: "mirror",
        package: "ashlar-dm",
        files: &["crates/dm/src/mirror/*.rs"],
        tests: &["mirror::"],
        later: &[
            EndToEnd("network::a_mirror"),
            EndToEnd("network::a_lost_image"),
            EndToEnd("missing::an_outdated_image"),
        ],
    },
    Area {
        name: "volume",
        package: "ashlar-dm",
        files: &["crates/dm/src/volume/*.rs"],
        tests: &["volume::"],
        later: &[
            Integration("ashlar-dm"),
            EndToEnd("nbd::"),
            EndToEnd("handover::"),
        ],
    },
    Area {
        name: "file",
        package: "ashlar-block",
        files: &["crates/block/src/file/*.rs"],
        tests: &["file::", "blocking::"],
        later: &[
            Integration("ashlar-block"),
            EndToEnd("durability::"),
            EndToEnd("attach::"),
        ],
    },
    Area {
        name: "nbd",
        package: "ashlar-nbd",
        files: &["crates/nbd/src/server/*.rs"],
        tests: &["server::"],
        later: &[
            EndToEnd("nbd::"),
            Integration("ashlar-nbd"),
            Integration("ashlar-export"),
            EndToEnd("limits::"),
            EndToEnd("network::"),
        ],
    },
    Area {
        name: "nbd-client",
        package: "ashlar-nbd",
        files: &["crates/nbd/src/client/**/*.rs"],
        tests: &["client::"],
        later: &[
            Unit("ashlar-nbd", "server::client_tests::"),
            Integration("ashlar-nbd"),
            EndToEnd("network::"),
            EndToEnd("handover::"),
        ],
    },
    Area {
        name: "fuse",
        package: "ashlar-export",
        files: &["crates/export/src/fuse/*.rs"],
        tests: &["fuse::"],
        later: ATTACHED,
    },
    Area {
        name: "loop",
        package: "ashlar-export",
        files: &["crates/export/src/loop_device.rs"],
        tests: &["fuse::", "loop"],
        later: ATTACHED,
    },
];

/// The area of this name.
pub(super) fn area(name: &str) -> Option<&'static Area> {
    AREAS.iter().find(|area| area.name == name)
}

impl std::fmt::Display for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unit(package, names) => write!(f, "the unit tests {names} of {package}"),
            Integration(package) => write!(f, "the integration tests of {package}"),
            EndToEnd(names) => write!(f, "the end-to-end tests {names}"),
        }
    }
}
