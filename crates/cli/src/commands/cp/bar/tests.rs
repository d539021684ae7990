//! Rates in a time that is told.

use std::time::Duration;

use super::{Pace, Rate};

const MIB: u64 = 1 << 20;

#[test]
fn a_rate_is_of_the_last_seconds() {
    // Proves: after a burst the rate and the time left are those of the last seconds, not of all;
    // a copy that stands still has a rate of nothing and no time left.
    let mut rate = Rate::default();
    assert_eq!(rate.pace(MIB), None);
    rate.note(Duration::ZERO, 0);
    let mut done = 1000 * MIB;
    rate.note(Duration::from_secs(1), done);
    assert_eq!(rate.pace(MIB).map(|pace| pace.per_second), Some(done));
    for second in 2..60 {
        done += 8 * MIB;
        rate.note(Duration::from_secs(second), done);
    }
    let wanted = Pace {
        per_second: 8 * MIB,
        left: Some(Duration::from_secs(100)),
    };
    assert_eq!(rate.pace(800 * MIB), Some(wanted));
    assert_eq!(rate.pace(0).and_then(|pace| pace.left), None);
    assert!(rate.notes.len() < 8);
    for second in 60..70 {
        rate.note(Duration::from_secs(second), done);
    }
    let wanted = Pace {
        per_second: 0,
        left: None,
    };
    assert_eq!(rate.pace(800 * MIB), Some(wanted));
}
