//! Expressions on texts, bad expressions, and hard ones.

use super::Regex;

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).expect("compiles").is_match(text)
}

#[test]
fn expressions_match_what_they_say() {
    let table = [
        ("", "", true),
        ("", "x", true),
        ("loop", "/dev/loop3", true),
        ("^/dev/loop", "/dev/loop3", true),
        ("^loop", "/dev/loop3", false),
        ("sda$", "/dev/sda", true),
        ("sda$", "/dev/sda1", false),
        ("^/dev/sd[a-c][0-9]*$", "/dev/sdb12", true),
        ("^/dev/sd[a-c][0-9]*$", "/dev/sdd1", false),
        ("^/dev/sd[^a-c]$", "/dev/sdd", true),
        ("^/dev/(sd|vd)a$", "/dev/vda", true),
        ("^/dev/(sd|vd)a$", "/dev/xvda", false),
        ("^(a|b|c)+$", "abccba", true),
        ("^(a|b|c)+$", "", false),
        ("^ab?c$", "ac", true),
        ("a.c", "xabcx", true),
        (r"a\.c", "abc", false),
        (r"^\^$", "^", true),
        ("[]x]", "]", true),
        ("[a-]", "-", true),
        ("^()*$", "", true),
        ("^(a*)*b$", "aaab", true),
        (".*", "", true),
    ];
    for (pattern, text, expected) in table {
        assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
    }
}

#[test]
fn bad_expressions_are_refused() {
    for pattern in ["(", ")", "a)", "[a", "*", "a|*", "\\", "((((", "[a-"] {
        assert!(Regex::new(pattern).is_err(), "{pattern}");
    }
    assert!(Regex::new(&"(".repeat(5000)).is_err());
}

#[test]
fn a_pattern_that_backtracking_cannot_bear_is_fast() {
    let pattern = format!("^{}{}$", "a?".repeat(60), "a".repeat(60));
    assert!(matches(&pattern, &"a".repeat(60)));
    assert!(!matches("^(a+)+b$", &"a".repeat(5000)));
}
