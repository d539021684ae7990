//! The density is broken on purpose once, and each thing that must not count is tried.

use super::super::source::Source;
use super::check;

/// What is found in one file of `path` with `count` lines in front of `text`.
fn found(path: &str, count: usize, text: &str) -> Vec<String> {
    let text = "let a = 1;\n".repeat(count) + text;
    let mut findings = Vec::new();
    check(&[Source::new(path, &text)], &mut findings);
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_crate_with_too_few_assertions_is_found() {
    let seven = "assert!(a);\n".repeat(7);
    let found_seven = found("crates/dm/src/a/b.rs", 993, &seven);
    assert_eq!(found_seven.len(), 1);
    assert!(found_seven[0].starts_with("crates/dm/src/lib.rs:1: 7 assertions in 1000 lines"));
    assert!(found_seven[0].ends_with("[density]"));
    let eight = "assert!(a);\n".repeat(8);
    assert!(found("crates/dm/src/a/b.rs", 992, &eight).is_empty());
    assert_eq!(found("crates/dm/src/a/b.rs", 993, &eight).len(), 1);
}

#[test]
fn every_form_counts() {
    let forms = "assert!(a);\nassert_eq!(a, b);\nassert_ne!(a, b);\ndebug_assert!(a);\n\
        debug_assert_eq!(a, b);\ndebug_assert_ne!(a, b);\nconst _: () = assert!(A);\n\
        check(|| assert!(\n    a,\n));\n";
    assert!(found("crates/lvm2/src/a.rs", 990, forms).is_empty());
}

#[test]
fn a_crate_is_counted_as_a_whole() {
    let texts = ["assert!(a);\n".repeat(8), "let a = 1;\n".repeat(992)];
    let sources = [
        Source::new("crates/block/src/a.rs", &texts[0]),
        Source::new("crates/block/src/b/c.rs", &texts[1]),
    ];
    let mut findings = Vec::new();
    check(&sources, &mut findings);
    assert!(findings.is_empty());
    check(&sources[1..], &mut findings);
    assert_eq!(findings.len(), 1);
}

#[test]
fn what_is_no_assertion_of_production_code_does_not_count() {
    let comments = "// assert!(a)\nlet b = \"assert!(a)\";\nlet assert = my_assert!(a);\n";
    assert_eq!(found("crates/export/src/a.rs", 10, comments).len(), 1);
    let module = "#[cfg(test)]\nmod tests {\n    assert!(a);\n}\n";
    assert_eq!(found("crates/export/src/a.rs", 10, module).len(), 1);
    let item = "#[cfg(test)]\npub(crate) fn f(a: [u8; 2]) {\n    { assert!(a); }\n}\n";
    assert_eq!(found("crates/export/src/a.rs", 10, item).len(), 1);
    let behind = "#[cfg(test)]\nmod tests;\nassert!(a);\n";
    assert!(found("crates/export/src/a.rs", 10, behind).is_empty());
}

#[test]
fn other_crates_and_test_doubles_are_left_out() {
    for path in [
        "crates/nbd/src/a.rs",
        "crates/dm/tests/a.rs",
        "crates/dm/src/a/tests.rs",
        "crates/dm/src/sim/a.rs",
        "crates/dm/src/fake.rs",
        "crates/ashlar/src/explore/a.rs",
        "xtask/src/a.rs",
    ] {
        assert!(found(path, 1000, "").is_empty(), "{path}");
    }
}
