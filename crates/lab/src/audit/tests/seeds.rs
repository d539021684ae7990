//! The impossible numbers in the seeds, from their own tables; and nothing else in them.

use crate::audit::{Audit, Rule, Weight, audit, spindle_bound};

fn of(text: &str) -> Audit {
    let audit = audit(text).expect("an audit");
    for finding in &audit.findings {
        println!("{finding}");
    }
    audit
}

/// Claims that the audit refutes, in order.
fn claims(audit: &Audit) -> Vec<&str> {
    let mut claims: Vec<&str> = audit
        .findings
        .iter()
        .filter_map(|f| f.claim.as_deref())
        .collect();
    claims.dedup();
    claims
}

/// Whether there is an impossible number of `field` by `rule`, for which `fits` is consistent.
fn has(audit: &Audit, rule: Rule, field: &str, fits: &str) -> bool {
    audit.impossible().any(|finding| {
        finding.rule == rule && finding.field.contains(field) && finding.consistent.contains(fits)
    })
}

/// Seed 000: A.D5 (a rate converted wrongly), A.D4 (the unit of Table 6), A.T3c (a factor), A.X2
/// (two of three tests), A.H2 and A.X1 (mapping), A.C30 (sizes); the other claims stand.
#[test]
fn postmark_study_has_its_wrong_rows() {
    let audit = of(include_str!("../fixtures/seed000.txt"));
    assert_eq!(claims(&audit), ["A.T3c", "A.X2", "A.H2", "A.X1", "A.C30"]);
    // A.D5: read 0.91 by written 1.03 is no ratio of this workload, and no time gives both.
    assert!(has(&audit, Rule::Ratio, "Test 3 LVM-2", "0.8871"));
    assert!(has(
        &audit,
        Rule::Elapsed,
        "Test 3 LVM-2",
        "the read rate was kilobytes"
    ));
    assert!(has(&audit, Rule::Elapsed, "Test 3 unit", "MB/s"));
    assert!(has(
        &audit,
        Rule::Percentage,
        "claim",
        "2.64 by the rates read, 2.71"
    ));
    assert!(has(&audit, Rule::Percentage, "claim", "3 by the tables"));
    let mapping: Vec<&str> = audit
        .impossible()
        .filter(|finding| finding.rule == Rule::Mapping)
        .map(|finding| &*finding.problem)
        .collect();
    // A.D7: 382, 6691 and 106 us for a 4 KiB block.
    assert!(mapping[0].contains("6691"), "{mapping:?}");
    let tables = audit.impossible().filter(|finding| finding.claim.is_none());
    assert_eq!(
        tables.count(),
        3,
        "one ratio, one time, one unit; the rest is possible"
    );
    assert!(
        audit
            .findings
            .iter()
            .any(|finding| finding.rule == Rule::Stated)
    );
}

/// Seed 001: nothing impossible; characters measure the processor (B.7), and some rows of table 2
/// were run with something else (B.6).
#[test]
fn bonnie_tables_are_possible_but_weak() {
    let audit = of(include_str!("../fixtures/seed001.txt"));
    assert!(audit.is_possible());
    let weak = |rule: Rule, field: &str| {
        let found = |f: &&crate::audit::Finding| f.rule == rule && f.field.contains(field);
        audit.findings.iter().filter(found).count()
    };
    assert_eq!(weak(Rule::Processor, "putc %CPU"), 2);
    assert_eq!(weak(Rule::Processor, "block out"), 4);
    assert_eq!(weak(Rule::Stated, "rows"), 2);
    assert!(
        audit
            .findings
            .iter()
            .all(|finding| finding.weight == Weight::Weak)
    );
}

/// Seed 003: D.4 (bandwidth and iops), D.5 (Little), D.3 (3,500 requests), D.6 (extents), D.7
/// (names, counts, stripes), D.8 (spindles, weak).
#[test]
fn fio_guide_has_its_wrong_rows() {
    let audit = of(include_str!("../fixtures/seed003.txt"));
    assert_eq!(claims(&audit), ["D.3"]);
    assert!(has(&audit, Rule::Requests, "claim", "3082"));
    for kind in ["read", "write"] {
        assert!(
            has(&audit, Rule::Bandwidth, &format!("{kind} bandwidth"), ""),
            "{kind}"
        );
        assert!(
            has(&audit, Rule::Requests, &format!("{kind} iops"), ""),
            "{kind}"
        );
    }
    assert!(has(&audit, Rule::Little, "iops x lat", "at most 640"));
    let little = audit
        .findings
        .iter()
        .find(|finding| finding.rule == Rule::Little);
    let little = little.expect("Little");
    assert!(little.problem.starts_with("738"), "{little}");
    assert!(little.consistent.contains("639."), "{little}");
    let size = audit
        .findings
        .iter()
        .find(|finding| finding.field == "VG Size");
    assert!(size.expect("VG Size").problem.contains("11.692 TiB"));
    for field in ["VG Size", "LV Size", "Free PE / Size", "Rounding size"] {
        assert!(has(&audit, Rule::Extents, field, "extents"), "{field}");
    }
    for field in [
        "Cur PV",
        "Metadata Areas",
        "Logical extents",
        "VG Name",
        "PV",
        "-I",
    ] {
        assert!(has(&audit, Rule::Extents, field, ""), "{field}");
    }
    let spindles = audit
        .findings
        .iter()
        .filter(|finding| finding.rule == Rule::Spindle);
    assert_eq!(
        spindles.count(),
        1,
        "a full stroke is too long, a short one is not"
    );
}

/// Factors of any table are recomputed to their last digit (B.5: 1.55 for block output, by the
/// mean of the disks; here by the first).
#[test]
fn tables_are_recomputed() {
    let table = "study tables\ntable T\ncolumns out seeks\nrow HD1 20073 251.2\n\
                 row LVM 32048 385.6\n";
    let refuted = |claim: &str| {
        let audit = audit(&format!("{table}claim X: T: {claim}\n")).expect("an audit");
        audit
            .impossible()
            .any(|finding| finding.rule == Rule::Percentage)
    };
    assert!(!refuted("LVM by HD1 in out is 1.60"));
    assert!(!refuted("LVM by HD1 in seeks is 1.5"));
    assert!(refuted("LVM by HD1 in out is 1.55"));
    assert!(refuted("HD1 by LVM in out is 1.60"));
    assert!(refuted("HD9 by LVM in out is 1.60"));
    let error = audit("study x\ntable T\ncolumns a b\nrow one 1").expect_err("a short row");
    assert_eq!((error.line(), error.field()), (4, "row"));
}

/// The table of spindles at its points, and between them.
#[test]
fn spindles_are_interpolated() {
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert!(near(spindle_bound(7200.0, 1900.0, 1.0), 78.0));
    assert!(near(spindle_bound(7200.0, 0.85, 107.0), 942.0));
    assert!(near(spindle_bound(10800.0, 5.0, 4.0), 373.0 * 1.5));
    let between = spindle_bound(7200.0, 20.0, 10.0);
    assert!((235.0..669.0).contains(&between), "{between}");
    assert!(near(spindle_bound(7200.0, 0.0, 0.0), 197.0));
}
