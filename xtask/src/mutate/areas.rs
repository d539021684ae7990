//! The areas: which files are mutated, and which tests are asked.

/// A part of the sources that is mutated at once.
#[derive(Debug)]
pub(super) struct Area {
    pub(super) name: &'static str,
    /// The package whose unit tests are run.
    pub(super) package: &'static str,
    /// Globs of the files, from the root.
    pub(super) files: &'static [&'static str],
    /// The tests: those of the area, and those beside it that use it most. More would find little
    /// more, and cost as much for every mutant.
    pub(super) tests: &'static [&'static str],
}

/// The part of the crash campaign that takes seconds only.
const CUTS: &str = "explore::tests::cuts";

/// Those where a mistake loses data first.
pub(super) const AREAS: &[Area] = &[
    Area {
        name: "commit",
        package: "manager",
        files: &["crates/manager/src/commit/*.rs"],
        tests: &["commit::", "apply::", CUTS],
    },
    Area {
        name: "lock",
        package: "manager",
        files: &["crates/manager/src/lock/*.rs"],
        tests: &["lock::", "apply::"],
    },
    Area {
        name: "apply",
        package: "manager",
        files: &["crates/manager/src/apply/*.rs"],
        tests: &["apply::", "commit::", CUTS],
    },
    Area {
        name: "mirror",
        package: "target",
        files: &["crates/target/src/mirror/*.rs"],
        tests: &["mirror::"],
    },
    Area {
        name: "volume",
        package: "target",
        files: &["crates/target/src/volume/*.rs"],
        tests: &["volume::"],
    },
    Area {
        name: "file",
        package: "block",
        files: &["crates/block/src/file/*.rs"],
        tests: &["file::", "blocking::"],
    },
    Area {
        name: "nbd",
        package: "export",
        files: &["crates/export/src/nbd/*.rs"],
        tests: &["nbd::"],
    },
    Area {
        name: "fuse",
        package: "export",
        files: &["crates/export/src/fuse/*.rs"],
        tests: &["fuse::"],
    },
    Area {
        name: "loop",
        package: "export",
        files: &["crates/export/src/loop_device.rs"],
        tests: &["fuse::", "loop"],
    },
];

/// The area of this name.
pub(super) fn area(name: &str) -> Option<&'static Area> {
    AREAS.iter().find(|area| area.name == name)
}
