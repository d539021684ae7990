//! Locks exclude other openers, and only those.

use super::{LockMode, LockOutcome, is_byte_locked, lock_byte, unlock_byte};
use crate::file::tests::Named;

/// Another opener is kept from a locked byte without an error, sees that it is locked, and gets
/// it when it is given back; other bytes are free all the time, and readers share.
#[test]
fn bytes_are_locked_against_other_openers() {
    let named = Named::new("locked", 16);
    let (one, other) = (named.open(), named.open());
    // Behind the end of the file as well.
    for at in [3, 1 << 40] {
        let (shared, alone) = (LockMode::Shared, LockMode::Exclusive);
        let lock = |file, mode| lock_byte(file, at, mode).expect("it is asked");
        assert!(!is_byte_locked(&other, at).expect("it is asked"));
        assert_eq!(lock(&one, alone), LockOutcome::Held);
        assert_eq!(lock(&other, alone), LockOutcome::Busy);
        assert_eq!(lock(&other, shared), LockOutcome::Busy);
        assert!(is_byte_locked(&other, at).expect("it is asked"));
        assert!(!is_byte_locked(&one, at).expect("it is asked"), "its own");
        assert!(!is_byte_locked(&other, at + 1).expect("it is asked"));
        unlock_byte(&one, at).expect("it is held");
        assert_eq!(lock(&one, shared), LockOutcome::Held);
        assert_eq!(lock(&other, shared), LockOutcome::Held);
        assert!(is_byte_locked(&other, at).expect("it is asked"));
        assert_eq!(lock(&other, alone), LockOutcome::Busy);
    }
    lock_byte(&one, u64::MAX, LockMode::Shared).expect_err("no file is as long");
    drop(one);
    assert!(
        !is_byte_locked(&other, 3).expect("it is asked"),
        "gone with it"
    );
}
