//! Repeated warnings.

use ashlar::scan::{Finding, FindingKind, Scan, Severity};
use lvm2::Uuid;

use super::summed_up;

fn said(findings: Vec<Finding>) -> Vec<String> {
    let mut scan = Scan::default();
    scan.findings = findings;
    let lines = summed_up(&scan);
    assert_eq!(lines.len(), scan.findings.len());
    lines.into_iter().filter_map(|(_, line)| line).collect()
}

/// Of many warnings of one kind and group two are said and the rest is counted; three are said.
#[test]
fn repeated_warnings_are_counted() {
    let all = |count: u32| -> Vec<Finding> {
        let one = |number| {
            let message = format!("area {number} is old");
            Finding::new(FindingKind::StaleArea, Severity::Warning, message)
        };
        (0..count).map(one).collect()
    };
    assert_eq!(said(all(3)).len(), 3);
    let lines = said(all(9));
    let expected = [
        "WARNING: area 0 is old.",
        "WARNING: area 1 is old.",
        "WARNING: 7 more warnings like the last one; -v shows them.",
    ];
    assert_eq!(lines, expected);
    let error = Finding::new(FindingKind::Unreadable, Severity::Error, "x");
    assert_eq!(said(vec![error; 9]).len(), 9, "errors are never summed up");
}

/// Each missing physical volume has its line, in stock's words; what to do is said once a group.
#[test]
fn what_to_do_about_missing_disks_is_said_once() {
    let (one, two) = (Uuid::from_random(&[1; 32]), Uuid::from_random(&[2; 32]));
    let missing = |group| {
        let message = "VG vg is missing PV x";
        let finding = Finding::new(FindingKind::MissingPv, Severity::Warning, message);
        finding.about(group).remedy("name it")
    };
    let lines = said(vec![missing(one), missing(one), missing(two)]);
    let expected = [
        "WARNING: VG vg is missing PV x.",
        "WARNING: VG vg is missing PV x; name it.",
        "WARNING: VG vg is missing PV x; name it.",
    ];
    assert_eq!(lines, expected);
}
