//! Mutants are found again by their names.

use super::exactly;

/// What has a meaning in an expression is escaped; an escaped "<" would have one.
#[test]
fn names_become_expressions() {
    let name = "a/b.rs:12:5: replace < with <= in <impl Drop for A>::f -> [u8]";
    let expression = r"^a/b\.rs:\d+:\d+: replace < with <= in <impl Drop for A>::f \-> \[u8\]$";
    assert_eq!(exactly(name), expression);
}
