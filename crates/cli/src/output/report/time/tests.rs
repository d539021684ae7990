//! Tests of dates and time zones.

use super::{Civil, Instant, Rules, Zone};
use proptest::prelude::{prop_assert_eq, proptest};

#[test]
fn dates_of_known_instants() {
    let utc = Zone::default();
    assert_eq!(utc.show(Instant(1795228525)), "2026-11-21 02:35:25 +0000");
    assert_eq!(utc.show(Instant(0)), "1970-01-01 00:00:00 +0000");
    assert_eq!(utc.show(Instant(951782400)), "2000-02-29 00:00:00 +0000");
    assert_eq!(utc.show(Instant(-1)), "1969-12-31 23:59:59 +0000");
}

#[test]
fn offsets_in_the_style_of_posix() {
    let zone = Zone::with(Rules::named("CET-1"));
    assert_eq!(zone.show(Instant(0)), "1970-01-01 01:00:00 +0100");
    assert_eq!(
        Zone::with(Rules::named("EST5:30")).show(Instant(0)),
        "1969-12-31 18:30:00 -0530"
    );
}

/// A zone file made here: UTC+1, from second 1000 on UTC+2.
fn file(version: u8) -> Vec<u8> {
    let block = |size: usize| {
        let mut out = b"TZif".to_vec();
        out.push(version);
        out.extend([0; 15]);
        for count in [0_u32, 0, 0, 1, 2, 4] {
            out.extend(count.to_be_bytes());
        }
        match size {
            8 => out.extend(1000_i64.to_be_bytes()),
            _ => out.extend(1000_i32.to_be_bytes()),
        }
        out.push(1);
        for offset in [3600_i32, 7200] {
            out.extend(offset.to_be_bytes());
            out.extend([0, 0]);
        }
        out.extend(b"CET\0");
        out
    };
    let mut out = block(4);
    if version >= b'2' {
        out.extend(block(8));
    }
    out
}

#[test]
fn zone_files_of_both_versions() {
    for version in [0, b'2'] {
        let zone = Zone::with(Rules::from_tzif(&file(version)).expect("a zone"));
        assert_eq!(zone.offset(Instant(999)), 3600);
        assert_eq!(zone.offset(Instant(1000)), 7200);
        assert_eq!(zone.instant(Civil::from_seconds(8200)), Instant(1000));
    }
}

#[test]
fn broken_zone_files_are_no_zone() {
    let whole = file(b'2');
    for length in 0..whole.len() {
        let _ = Rules::from_tzif(&whole[..length]);
    }
    assert_eq!(Rules::from_tzif(&whole[..60]), None);
    assert_eq!(Rules::from_tzif(b"TZif"), None);
}

proptest! {
    /// Dates and seconds are inverse to each other.
    #[test]
    fn civil_round_trip(seconds in -62_135_596_800_i64..253_402_300_799) {
        prop_assert_eq!(Civil::from_seconds(seconds).seconds(), seconds);
    }
}
