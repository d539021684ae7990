//! Steps that hang, litter, fail or run nothing do not pass.

use std::time::Duration;

use super::{Counts, Step, ended_test, failed_test, slow_test, test_result};

fn judged(code: i32, tests: (usize, usize), counts: Counts) -> Option<String> {
    let limit = Duration::from_secs(9);
    let step = Step {
        name: "a",
        command: vec![],
        environment: vec![],
        limit,
        counts,
    };
    step.judge(Some(code), tests)
}

#[test]
fn only_a_clean_end_passes() {
    assert_eq!(judged(0, (0, 0), Counts::Nothing), None);
    assert_eq!(judged(0, (3, 0), Counts::Tests), None);
    assert_eq!(
        judged(0, (0, 0), Counts::Tests).as_deref(),
        Some("ran no test")
    );
    assert_eq!(
        judged(0, (3, 1), Counts::Tests).as_deref(),
        Some("1 tests failed")
    );
    assert_eq!(
        judged(101, (3, 2), Counts::Tests).as_deref(),
        Some("2 tests failed")
    );
    assert_eq!(
        judged(1, (0, 0), Counts::Nothing).as_deref(),
        Some("exit code 1")
    );
    assert_eq!(
        judged(124, (0, 0), Counts::Nothing).as_deref(),
        Some("was not done after 9 s")
    );
    assert_eq!(
        judged(125, (0, 0), Counts::Nothing).as_deref(),
        Some("left processes running")
    );
}

#[test]
fn counts_are_read_from_the_closing_line() {
    let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 1 filtered out";
    assert_eq!(test_result(line), Some((12, 3)));
    assert_eq!(test_result("test result: ok. many"), None);
    assert_eq!(test_result("test a ... ok"), None);
}

#[test]
fn failed_tests_are_named() {
    assert_eq!(
        failed_test("test owner::ends ... FAILED"),
        Some("owner::ends")
    );
    assert_eq!(failed_test("test owner::ends ... ok"), None);
    assert_eq!(failed_test("owner::ends ... FAILED"), None);
}

#[test]
fn tests_that_never_ended_are_named() {
    let slow = "test owner::ends has been running for over 60 seconds";
    assert_eq!(slow_test(slow), Some("owner::ends"));
    assert_eq!(slow_test("test owner::ends ... ok"), None);
    assert_eq!(ended_test("test owner::ends ... ok"), Some("owner::ends"));
    assert_eq!(
        ended_test("test owner::ends ... FAILED"),
        Some("owner::ends")
    );
    assert_eq!(ended_test(slow), None);
}
