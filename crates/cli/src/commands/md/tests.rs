//! Words of people's, and tables for them.

use ashlar::md::{ArrayReport, Health, MemberReport, Standing};

use super::create::{parse_layout, parse_level};
use super::list::table;

/// Levels and layouts have md's numbers, and what is none is refused.
#[test]
fn words_have_numbers() {
    let level = |text: &str| parse_level(text).ok();
    assert_eq!(level("linear"), Some(-1));
    assert_eq!((level("raid5"), level("5")), (Some(5), Some(5)));
    assert_eq!((level("7"), level("raid"), level("")), (None, None, None));
    let layout = |level: i32, text| parse_layout(level, Some(text)).ok().flatten();
    assert_eq!(layout(5, "ls"), Some(2));
    assert_eq!(layout(6, "right-asymmetric"), Some(1));
    assert_eq!(layout(10, "n2"), Some(0x102));
    assert_eq!(layout(10, "f2"), Some(0x201));
    assert_eq!(layout(10, "o3"), Some(0x10301));
    for (level, text) in [
        (5, "n2"),
        (10, "n1"),
        (10, "n"),
        (10, "ö2"),
        (1, "ls"),
        (0, "n2"),
    ] {
        assert!(parse_layout(level, Some(text)).is_err(), "{level} {text}");
    }
    assert_eq!(parse_layout(10, None).ok().flatten(), Some(0x102));
}

/// An array and each of its legs have a line, and what is wrong is said.
#[test]
fn tables_say_what_is_wrong() {
    let member = |leg, device: Option<&str>, standing| MemberReport {
        device: device.map(str::to_owned),
        leg,
        events: device.map(|_| 7),
        standing,
    };
    let array = ArrayReport {
        name: "md:host:data".into(),
        uuid: "00000000:00000000:00000000:00000001".into(),
        level: "raid1".into(),
        layout: None,
        metadata: "1.2",
        chunk: 0,
        size: Some(1 << 20),
        legs: 2,
        events: 7,
        consistency: "bitmap",
        health: Health {
            is_whole: Some(false),
            is_clean: true,
            is_reshaped: false,
        },
        problem: Some("something".into()),
        members: vec![
            member(Some(0), Some("a.img"), Standing::InSync),
            member(Some(1), None, Standing::Missing),
            member(Some(1), Some("b.img"), Standing::Away),
        ],
    };
    let lines = table(&[array]);
    assert_eq!(
        lines,
        [
            "Array        Level Meta Chunk Size  Log    State",
            "md:host:data raid1 1.2  -     1.00m bitmap clean, degraded",
            "  UUID 00000000:00000000:00000000:00000001",
            "  WARNING: something",
            "  Leg Device Events State",
            "  0   a.img  7      in sync",
            "  1   -      -      missing",
            "  1   b.img  7      not believed: it was away when the others went on",
        ]
    );
}
