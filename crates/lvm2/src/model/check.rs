//! What is wrong with a volume group: everything that stock LVM2 would refuse, and more.
//!
//! Reading a text accepts whatever can be represented. Before a group is changed or activated,
//! [`check`] looks at all of it: the group and its physical volumes (`group.rs`), each volume's
//! segments and what each type demands (`segments.rs`, `kinds.rs`, `raid.rs`), whose extents they
//! stand on (`extents.rs`), how volumes refer to each other (`references.rs`), and whether that
//! ever ends (`order.rs`).
//!
//! ```text
//!     object                        problem                              remedy
//!     logical volume vg0/a, seg. 2  it begins at extent 5, not at 4      restore an older text …
//! ```
//!
//! Promises: it ends for any group, in time n log n of the text's length and with a bounded
//! number of findings; without an `Error` among them, sizes and references are as the types say,
//! and following references ends.
//!
//! Does not look at devices or at what is inside the volumes.

mod extents;
mod group;
mod kinds;
mod order;
mod raid;
mod references;
mod segments;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::ids::LvId;
use super::relations::Relations;
use super::vg::VolumeGroup;

pub use order::dependency_order;

/// Where a text is damaged all over, nobody reads more findings than this.
pub const FINDINGS_MAX: usize = 200;

const RESTORE: &str = "restore an older text with vgcfgrestore";
const KEEP_READ_ONLY: &str = "use it read-only, or change it with the version that wrote it";

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Odd, and harmless to what is stored.
    Warning,
    /// Data may be wrong or get lost where this is used or changed.
    Error,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about: `logical volume vg0/home, segment 2`.
    pub object: String,
    /// What is wrong.
    pub problem: String,
    /// What can be done.
    pub remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.object, self.problem, self.remedy)
    }
}

/// Everything that is wrong with a group, at most [`FINDINGS_MAX`] findings.
pub fn check(vg: &VolumeGroup) -> Vec<Finding> {
    let mut checker = Checker {
        vg,
        relations: Relations::of(vg),
        findings: Vec::new(),
    };
    group::check(&mut checker);
    segments::check(&mut checker);
    extents::check(&mut checker);
    references::check(&mut checker);
    order::check(&mut checker);
    assert!(checker.findings.len() <= FINDINGS_MAX, "nobody reads more");
    checker.findings
}

/// Whether one of the findings is an error.
pub fn has_errors(findings: &[Finding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
}

/// The group under examination and what was found so far.
struct Checker<'a> {
    vg: &'a VolumeGroup,
    relations: Relations,
    findings: Vec<Finding>,
}

/// A segment, by the volume and its number there, from zero.
type Place = (LvId, usize);

impl Checker<'_> {
    fn is_full(&self) -> bool {
        self.findings.len() >= FINDINGS_MAX
    }

    fn report(
        &mut self,
        severity: Severity,
        object: impl FnOnce() -> String,
        problem: impl Into<String>,
        remedy: &'static str,
    ) {
        if !self.is_full() {
            self.findings.push(Finding {
                severity,
                object: object(),
                problem: problem.into(),
                remedy,
            });
        }
    }

    fn group_error(&mut self, problem: impl Into<String>, remedy: &'static str) {
        let vg = self.vg;
        self.report(
            Severity::Error,
            || format!("volume group {}", vg.name),
            problem,
            remedy,
        );
    }

    fn group_warning(&mut self, problem: impl Into<String>, remedy: &'static str) {
        let vg = self.vg;
        self.report(
            Severity::Warning,
            || format!("volume group {}", vg.name),
            problem,
            remedy,
        );
    }

    fn lv_error(&mut self, lv: LvId, problem: impl Into<String>) {
        let vg = self.vg;
        self.report(Severity::Error, || lv_object(vg, lv), problem, RESTORE);
    }

    fn lv_warning(&mut self, lv: LvId, problem: impl Into<String>, remedy: &'static str) {
        let vg = self.vg;
        self.report(Severity::Warning, || lv_object(vg, lv), problem, remedy);
    }

    fn segment_error(&mut self, (lv, segment): Place, problem: impl Into<String>) {
        let vg = self.vg;
        let object = || format!("{}, segment {}", lv_object(vg, lv), segment + 1);
        self.report(Severity::Error, object, problem, RESTORE);
    }

    fn segment_warning(
        &mut self,
        (lv, segment): Place,
        problem: impl Into<String>,
        remedy: &'static str,
    ) {
        let vg = self.vg;
        let object = || format!("{}, segment {}", lv_object(vg, lv), segment + 1);
        self.report(Severity::Warning, object, problem, remedy);
    }

    fn name(&self, lv: LvId) -> &str {
        self.vg.lv(lv).name()
    }
}

fn lv_object(vg: &VolumeGroup, lv: LvId) -> String {
    format!("logical volume {}/{}", vg.name, vg.lv(lv).name())
}

#[cfg(test)]
mod tests;
