//! Measuring the real data path: what is written, kept and left behind; never how fast it is.

use std::fs;

use tests::{Scratch, Tool, ashlar, assert_root};

fn measure(scratch: &Scratch) -> Tool {
    ashlar()
        .within(scratch.path())
        .args(["lab", "measure", "--quick", "--output", "lines.jsonl"])
}

/// All subjects of all studies are measured in memory and on a disk, with a control, by a line for
/// each round; a second run has nothing to do; nothing stays behind, and the report takes it.
#[test]
fn everything_is_measured_once_and_nothing_stays() {
    assert_root();
    let scratch = Scratch::new("measure");
    let said = measure(&scratch).succeed().text();
    assert!(said.contains("nothing can be concluded"), "{said}");
    let path = scratch.path().join("lines.jsonl");
    let lines = fs::read_to_string(&path).expect("it was written");
    let rounds = |lines: &str| lines.matches("\"kind\":\"measured\"").count();
    assert_eq!(rounds(&lines), 36, "{said}");
    for subject in [
        "native",
        "control",
        "linear",
        "striped",
        "nbd-linear",
        "attach-linear",
        "loop1",
        "loop2",
        "loop3",
        "unix",
        "tcp",
    ] {
        let found = format!("\"{subject}\":{{\"answers\":");
        assert!(lines.contains(&found), "{subject}: {said}");
    }
    for place in ["\"medium\":\"memory\"", "\"medium\":\"file\""] {
        assert_eq!(lines.matches(place).count(), 18);
    }
    measure(&scratch).succeed();
    assert_eq!(rounds(&fs::read_to_string(&path).expect("it is there")), 36);
    let left: Vec<_> = fs::read_dir(scratch.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["lines.jsonl"]);

    // Cut within its last line, it goes on with that round.
    fs::write(&path, &lines[..lines.len() - 100]).expect("it can be written");
    measure(&scratch).succeed();
    let again = fs::read_to_string(&path).expect("it is there");
    assert_eq!(rounds(&again), 36);

    let report = ["lab", "report", "lines.jsonl", "--output", "page.html"];
    let report = ashlar().within(scratch.path()).args(report);
    report.succeed();
    let page = fs::read_to_string(scratch.path().join("page.html")).expect("a page");
    for study in ["measured-path", "measured-loops", "measured-nbd"] {
        assert!(page.contains(&format!("id=\"x-{study}\"")), "{study}");
    }
    assert!(
        page.contains("36 rounds in"),
        "what was measured is counted"
    );
}

/// What cannot be measured in a place that is not there is said, and the command fails.
#[test]
fn a_place_that_is_not_there_is_named() {
    let scratch = Scratch::new("measure-nowhere");
    let failed = measure(&scratch)
        .args(["loops", "--folder", "nowhere"])
        .exit(5);
    let said = failed.complaints();
    assert!(
        said.contains("measured-loops in file cannot be measured"),
        "{said}"
    );
    let lines = fs::read_to_string(scratch.path().join("lines.jsonl")).expect("it was written");
    assert!(lines.contains("\"medium\":\"memory\""));
    let unknown = ashlar().args(["lab", "measure", "tapes"]).exit(5);
    assert!(unknown.complaints().contains("measured-loops"));
}
