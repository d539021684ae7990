//! Each habit is broken on purpose once.

use super::super::source::Source;
use super::{check, check_marks, check_paths};

/// The rules that a text breaks, given an essay in front of it.
fn rules(path: &str, text: &str) -> Vec<&'static str> {
    let mut findings = Vec::new();
    check(
        &Source::new(path, &format!("//! Essay.\n{text}")),
        &mut findings,
    );
    findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_file_begins_with_an_essay() {
    let mut findings = Vec::new();
    check(&Source::new("a.rs", "use a;\n//! late"), &mut findings);
    assert_eq!(findings[0].rule, "essay");
    assert!(rules("a.rs", "").is_empty());
}

#[test]
fn facades_hold_no_code() {
    let good = "#![no_std]\nextern crate alloc;\n/// Doc.\npub mod a;\nmod b;\n\
        #[cfg(test)]\nmod tests;\npub use b::{C,\n  D};\npub(crate) use a::E;\n";
    assert!(rules("x/lib.rs", good).is_empty());
    assert_eq!(rules("x/mod.rs", "mod a;\nfn f() {}\n"), ["facade"]);
    assert_eq!(
        rules("x/lib.rs", "pub const A: u8 = 1;\nmod b;"),
        ["facade"]
    );
    assert_eq!(rules("x/lib.rs", "mod b { }\n"), ["facade"]);
    assert_eq!(rules("x/lib.rs", "extern fn f() {}\n"), ["facade"]);
    assert!(rules("x/other.rs", "fn f() {}\n").is_empty());
}

#[test]
fn globs_are_found() {
    assert_eq!(rules("a.rs", "use super::*;"), ["glob"]);
    assert_eq!(rules("a.rs", "use a::{b,\n c::*};"), ["glob"]);
    assert!(rules("a.rs", "use a::b;\nlet c = *d;").is_empty());
}

#[test]
fn leftovers_are_found() {
    assert_eq!(rules("a.rs", "fn f() { todo!() }"), ["leftover"]);
    assert_eq!(rules("a.rs", "let a = dbg!(b);"), ["leftover"]);
    assert_eq!(rules("a.rs", "// FIXME later"), ["leftover"]);
    assert!(rules("a.rs", "let a = \"todo!()\";").is_empty());
}

#[test]
fn lints_are_switched_off_with_a_reason() {
    assert_eq!(rules("a.rs", "#[allow(dead_code)]\nfn f() {}"), ["reason"]);
    assert_eq!(rules("a.rs", "#![allow(dead_code)]"), ["reason"]);
    assert_eq!(rules("a.rs", "#[expect(\n  a,\n)]\nfn f() {}"), ["reason"]);
    assert!(
        rules(
            "a.rs",
            "#[expect(a, reason = \"b\")]\nfn f() { x.expect(\"y\") }"
        )
        .is_empty()
    );
}

#[test]
fn tests_stand_beside() {
    assert_eq!(rules("a.rs", "#[cfg(test)]\nmod tests {\n}"), ["test-file"]);
    assert!(rules("a.rs", "#[cfg(test)]\nmod tests;").is_empty());
}

#[test]
fn names_say_something() {
    assert_eq!(rules("a.rs", "mod utils;"), ["name"]);
    let mut findings = Vec::new();
    let paths = [
        "crates/a/src/common/b.rs".to_owned(),
        "a/uncommon.rs".to_owned(),
    ];
    check_paths(&paths, &mut findings);
    assert_eq!(findings.len(), 1);
}

#[test]
fn marks_of_merges_are_found() {
    let found = |text: &str| {
        let mut findings = Vec::new();
        check_marks("a.md", text, &mut findings);
        findings.len()
    };
    let (ours, theirs) = ("<".repeat(7), ">".repeat(7));
    assert_eq!(
        found(&format!("a\n{ours} HEAD\nb\n=======\nc\n{theirs} 12\n")),
        2
    );
    assert_eq!(found(&format!("a title\n=======\n{ours}{ours}\n")), 0);
}
