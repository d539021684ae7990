//! The lab as people type it: experiments are run, cut off, gone on with, and reported.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tests::{Scratch, Tool, ashlar};

/// Six replicates of four layouts: enough for verdicts, and done in a second.
fn run(results: &Path) -> Tool {
    ashlar()
        .args(["lab", "run", "network", "--seed", "7", "--replicates", "6"])
        .arg("--output")
        .arg(results)
}

/// The lines of runs, in any order.
fn runs(results: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(results).expect("the results");
    let lines = text
        .lines()
        .filter(|line| line.contains("\"kind\":\"run\""));
    lines.map(str::to_owned).collect()
}

/// What is cut off is run again, to the same bytes, and what is there is not; the verdicts are one
/// object a line.
#[test]
fn interrupted_runs_go_on() {
    let scratch = Scratch::new("lab-run");
    let results = scratch.join("results.jsonl");
    let told = run(&results).succeed().text();
    assert!(told.contains("24 runs"), "{told}");
    let whole = runs(&results);
    assert_eq!(whole.len(), 24);
    let text = fs::read_to_string(&results).expect("the results");
    fs::write(&results, &text[..text.len() - 20]).expect("they can be cut off");
    let again = run(&results).succeed();
    assert!(
        again.complaints().contains("was cut off"),
        "{}",
        again.complaints()
    );
    assert!(again.text().contains("1 runs"), "{}", again.text());
    assert_eq!(runs(&results), whole);
    let nothing = run(&results).succeed().text();
    assert!(
        nothing.contains("has all of these runs already"),
        "{nothing}"
    );
    let verdicts = ashlar()
        .args(["lab", "report", "--json"])
        .arg(&results)
        .succeed()
        .text();
    assert_eq!(verdicts.lines().count(), 78);
    let about = |line: &&str| line.starts_with("{\"claim\":\"C.15\"");
    let network = verdicts.lines().find(about).expect("it has a line");
    assert!(network.contains("\"verdict\":\"confirmed\""), "{network}");
}

/// The page has a row for each claim, closes what it opens, links to what is there, and needs
/// nothing from elsewhere.
#[test]
fn the_page_stands_alone() {
    let scratch = Scratch::new("lab-report");
    let (results, page) = (scratch.join("results.jsonl"), scratch.join("page.html"));
    run(&results).succeed();
    let told = ashlar()
        .args(["lab", "report"])
        .arg(&results)
        .arg("--output")
        .arg(&page)
        .succeed()
        .text();
    assert!(told.contains("78 claims"), "{told}");
    let page = fs::read_to_string(&page).expect("the page");
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"));
    assert_eq!(page.matches("<tr id=\"").count(), 78);
    for foreign in [
        "<script", "<link", "http:", "https:", "url(", "@import", " src=",
    ] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let values = |start: &str| -> Vec<&str> {
        let found = page.split(start).skip(1);
        found.filter_map(|rest| rest.split('"').next()).collect()
    };
    let names = values(" id=\"");
    let known: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(known.len(), names.len(), "each name once");
    for link in values(" href=\"") {
        let name = link.strip_prefix('#').expect("links stay on the page");
        assert!(known.contains(name), "{link} leads nowhere");
    }
    closes_what_it_opens(&page);
    for words in [
        "ashlar lab run network --seed 7 --replicates 6",
        "Document 000: Table 4",
        "Document 003:",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

/// Every tag is closed in its turn.
fn closes_what_it_opens(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let end = tag.find('>').expect("a tag ends");
        let tag = &tag[..end];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "after {open:?}");
        } else if !tag.starts_with('!') && !tag.ends_with('/') {
            let name = tag.split([' ', '\n']).next().unwrap_or(tag);
            if !["meta", "br"].contains(&name) {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
