//! Mutants are found again by their names.

use super::{Made, exactly};

/// What has a meaning in an expression is escaped; an escaped "<" would have one.
#[test]
fn names_become_expressions() {
    let name = "a/b.rs:12:5: replace < with <= in <impl Drop for A>::f -> [u8]";
    let expression = r"^a/b\.rs:\d+:\d+: replace < with <= in <impl Drop for A>::f \-> \[u8\]$";
    assert_eq!(exactly(name), expression);
}

/// What was not asked for is left out; what was stays, also on another line.
#[test]
fn only_what_was_asked_for_is_kept() {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let mut made = Made {
        caught: names(&["a.rs:7:1: replace f with ()", "b.rs:7:1: replace f with ()"]),
        survived: names(&["a.rs:9:1: delete field x from struct X expression in f"]),
        ..Made::default()
    };
    made.keep(&names(&["a.rs:5:1: replace f with ()"]));
    assert_eq!(made.caught, ["a.rs:7:1: replace f with ()"]);
    assert_eq!(made.survived, [""; 0]);
}
