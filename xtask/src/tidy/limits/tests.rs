//! The limits catch what is over them and leave what is at them.

use super::super::ratchet::Ratchet;
use super::super::source::Source;
use super::{check_lengths, check_width, functions};

fn lengths(path: &str, text: &str, ratchet: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let ratchet = Ratchet::parse(ratchet, &[]).expect("a list");
    check_lengths(&[Source::new(path, text)], &ratchet, &mut findings);
    findings
        .into_iter()
        .map(|finding| finding.message)
        .collect()
}

fn function_of(lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    a();\n".repeat(lines - 2))
}

#[test]
fn a_file_stops_at_its_limit() {
    assert!(lengths("a.rs", &"\n".repeat(700), "").is_empty());
    assert_eq!(lengths("a.rs", &"\n".repeat(701), "").len(), 1);
    assert!(lengths("a/tests.rs", &"\n".repeat(701), "").is_empty());
    assert!(lengths("a.rs", &"\n".repeat(701), "701 a.rs\n").is_empty());
}

#[test]
fn a_function_stops_at_its_limit() {
    assert!(lengths("a.rs", &function_of(70), "").is_empty());
    assert_eq!(lengths("a.rs", &function_of(71), "").len(), 1);
    assert!(lengths("a.rs", &function_of(71), "71 a.rs::long\n").is_empty());
}

#[test]
fn an_exception_only_shrinks() {
    assert!(lengths("a.rs", &function_of(80), "75 a.rs::long\n")[0].contains("grew"));
    assert!(lengths("a.rs", &function_of(72), "75 a.rs::long\n")[0].contains("lower 75 to 72"));
    assert!(lengths("a.rs", &function_of(9), "75 a.rs::long\n")[0].contains("delete"));
}

#[test]
fn functions_are_measured_to_their_own_brace() {
    let text = "trait T { fn declared(&self, a: [u8; 3]); }\n\
        fn f(a: &str)\nwhere\n  A: B,\n{\n  let s = \"}\";\n  fn inner() {\n  }\n}\nfn g() {}\n";
    let found = functions(&Source::new("a.rs", text));
    let expected = [
        ("f".to_owned(), 2, 8),
        ("inner".to_owned(), 7, 2),
        ("g".to_owned(), 10, 1),
    ];
    assert_eq!(found, expected);
}

#[test]
fn wide_lines_are_found() {
    let width = |text: &str| {
        let mut findings = Vec::new();
        check_width(&Source::new("a.rs", text), &mut findings);
        findings.len()
    };
    assert_eq!(width(&"é".repeat(100)), 0);
    assert_eq!(width(&"é".repeat(101)), 1);
    assert_eq!(width(&format!("// https://{}", "a".repeat(101))), 0);
}
