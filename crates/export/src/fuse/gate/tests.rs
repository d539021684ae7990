//! Which writes wait for which.

use std::time::Duration;

use block::{Driver, Range};

use super::{Claim, Gate};

/// A partial write shares its blocks with nobody; whole blocks may be written at once, and nobody
/// waits for a neighbour.
#[test]
fn partial_writes_are_alone() {
    use Claim::{Partial, Whole};
    let driver = Driver::new().expect("a driver");
    let first = Range::new(4096, 8192);
    for (held, range, claim, enters) in [
        (Whole, first, Whole, true),
        (Whole, first, Partial, false),
        (Partial, first, Whole, false),
        (Partial, first, Partial, false),
        (Partial, Range::new(8192, 512), Partial, false),
        (Partial, Range::new(0, 4096), Partial, true),
        (Partial, Range::new(12288, 512), Partial, true),
    ] {
        let gate = Gate::default();
        assert!(gate.enter(first, held, &driver.waker()));
        let entered = gate.enter(range, claim, &driver.waker());
        assert_eq!(entered, enters, "{held:?} {range:?} {claim:?}");
        gate.leave(first, held);
        assert!(entered || gate.enter(range, claim, &driver.waker()));
        gate.leave(range, claim);
        assert!(gate.state.lock().expect("nobody panicked").held.is_empty());
    }
}

/// Of two claims on one range the one that is given up goes, and who was sent away is woken.
#[test]
fn who_waits_is_woken() {
    let driver = Driver::new().expect("a driver");
    let gate = Gate::default();
    let (one, other) = (Range::new(0, 4096), Range::new(8192, 4096));
    for range in [one, other] {
        assert!(gate.enter(range, Claim::Partial, &driver.waker()));
    }
    assert!(!gate.enter(one, Claim::Partial, &driver.waker()));
    gate.leave(other, Claim::Partial);
    driver
        .wait(&mut [], Some(Duration::from_mins(1)))
        .expect("it is woken");
    assert!(
        !gate.enter(one, Claim::Whole, &driver.waker()),
        "still held"
    );
    gate.leave(one, Claim::Partial);
    assert!(gate.enter(one, Claim::Whole, &driver.waker()));
}
