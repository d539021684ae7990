//! Tests: sizes keep their unit, and nothing wraps.

use super::{Bytes, Extents, Sectors};

#[test]
fn conversions_are_exact_or_refused() {
    // Proves: no conversion rounds or wraps silently.
    assert_eq!(Bytes(1024).to_sectors(), Some(Sectors(2)));
    assert_eq!(Bytes(1025).to_sectors(), None);
    assert_eq!(Bytes(1025).whole_sectors(), Sectors(2));
    assert_eq!(Sectors(u64::MAX).to_bytes(), None);
    assert_eq!(Extents(3).to_sectors(Sectors(8192)), Some(Sectors(24576)));
    assert_eq!(Extents(u64::MAX).to_sectors(Sectors(2)), None);
    assert_eq!(Sectors(20).whole_extents(Sectors(8)), Some(Extents(2)));
    assert_eq!(Sectors(20).whole_extents(Sectors(0)), None);
}

#[test]
fn rounding_goes_to_the_unit() {
    // Proves: rounding up is refused where it does not fit, and rounding down never moves up.
    assert_eq!(Bytes(513).round_up(Bytes(512)), Some(Bytes(1024)));
    assert_eq!(Bytes(512).round_up(Bytes(512)), Some(Bytes(512)));
    assert_eq!(Bytes(u64::MAX).round_up(Bytes(512)), None);
    assert_eq!(Bytes(1023).round_down(Bytes(512)), Bytes(512));
}

#[test]
fn units_are_named_when_printed() {
    // Proves: one is singular.
    assert_eq!(Sectors(1).to_string(), "1 sector");
    assert_eq!(Extents(0).to_string(), "0 extents");
}
