//! Known points in time.

use super::{calendar, calendar_iso};

#[test]
fn known_times() {
    // Proves: dates agree with what stock wrote, over leap years and out to nonsense.
    assert_eq!(calendar(1795228529), "Sat Nov 21 02:35:29 2026");
    assert_eq!(calendar_iso(1795228484), "2026-11-21 02:34:44 +0000");
    assert_eq!(calendar(0), "Thu Jan  1 00:00:00 1970");
    assert_eq!(calendar_iso(951782400), "2000-02-29 00:00:00 +0000");
    assert_eq!(calendar_iso(4107542400), "2100-03-01 00:00:00 +0000");
    assert_eq!(calendar_iso(253_402_300_799), "9999-12-31 23:59:59 +0000");
    assert_eq!(calendar(u64::MAX), "unknown time");
}
