//! Locks against what they promise.

use block::Range;

use super::{Locks, Mode};

/// Who comes later waits for those that meet him, those that wait included, and no others.
#[test]
fn who_comes_first_goes_first() {
    let mut locks = Locks::new(100);
    let range = Range::new;
    assert!(locks.take(0, range(0, 10), Mode::Shared));
    assert!(locks.take(1, range(5, 10), Mode::Shared), "both only look");
    assert!(!locks.take(2, range(8, 4), Mode::Alone));
    assert!(
        !locks.take(3, range(8, 1), Mode::Shared),
        "behind the one who waits"
    );
    assert!(locks.take(4, range(20, 5), Mode::Alone), "elsewhere");
    assert!(
        locks.take(5, range(100, 100), Mode::Alone),
        "another bucket"
    );
    assert!(locks.release(0, range(0, 10)).is_empty());
    assert_eq!(locks.release(1, range(5, 10)), [2]);
    locks.check();
    assert_eq!(locks.release(2, range(8, 4)), [3]);
    assert!(locks.release(4, range(20, 5)).is_empty());
    assert!(locks.release(3, range(8, 1)).is_empty());
    assert!(locks.release(5, range(100, 100)).is_empty());
    assert!(locks.is_empty());
}

/// Several that waited for one, and do not meet, go on together.
#[test]
fn those_that_do_not_meet_go_on_together() {
    let mut locks = Locks::new(100);
    let whole = Range::new(0, 100);
    assert!(locks.take(0, whole, Mode::Alone));
    for owner in 1..4 {
        assert!(!locks.take(owner, Range::new(owner as u64 * 10, 10), Mode::Alone));
    }
    assert!(!locks.take(4, whole, Mode::Shared));
    assert_eq!(locks.release(0, whole), [1, 2, 3]);
    assert!(locks.release(1, Range::new(10, 10)).is_empty());
    assert!(locks.release(2, Range::new(20, 10)).is_empty());
    assert_eq!(locks.release(3, Range::new(30, 10)), [4]);
}
