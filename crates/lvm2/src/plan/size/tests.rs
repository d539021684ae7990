//! Tests: what people write, and how stock rounds it.

use super::{
    Amount, Base, Exactness, Origin, ResizeTo, Shape, Sign, SizeArgument, Totals, parse_size,
    store_capacity,
};
use crate::plan::change::Message;
use crate::{Bytes, Extents, Sectors};

const TOTALS: Totals = Totals {
    extent_size: Sectors(8192),
    vg: Extents(189),
    free: Extents(121),
    pvs: Extents(43),
    used: Extents(64),
    origin: None,
};

fn new(text: &str, stripes: u64) -> (u64, Exactness, Vec<String>) {
    let argument = if text.ends_with(|letter: char| letter.is_ascii_digit()) || text.contains('%') {
        SizeArgument::from_extents(text)
    } else {
        SizeArgument::from_size(text)
    };
    let mut messages = Vec::new();
    let shape = Shape { copies: 1, stripes };
    let size = argument
        .and_then(|argument| argument.for_new_volume(&TOTALS, shape, &mut messages))
        .expect("it is a size");
    (size.extents.0, size.exactness, texts(&messages))
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| message.text.clone())
        .collect()
}

fn resized(text: &str, old: u64) -> (u64, Vec<String>) {
    let argument = if text.contains('m') {
        SizeArgument::from_size(text)
    } else {
        SizeArgument::from_extents(text)
    };
    let mut messages = Vec::new();
    let size = argument
        .expect("it is a size")
        .for_resize(Extents(old), &TOTALS, 1, ResizeTo::Either, &mut messages)
        .expect("it can be");
    (size.extents.0, texts(&messages))
}

#[test]
fn sizes_are_read() {
    // Proves: units in either case, fractions, and the default unit.
    let cases = [
        ("6", 6 << 20),
        ("6M", 6 << 20),
        ("1.5g", 3 << 29),
        ("8192s", 8192 * 512),
        ("1000b", 1024),
        ("2TiB", 2 << 40),
        (".5k", 512),
    ];
    for (text, bytes) in cases {
        assert_eq!(parse_size(text, 'm'), Ok(Bytes(bytes)), "{text}");
    }
    for text in [
        "",
        ".",
        "x",
        "1.2.3m",
        "5q",
        "5mm",
        "99999999999999999999",
        "20000000e",
    ] {
        parse_size(text, 'm').expect_err(text);
    }
    let argument = SizeArgument::from_extents("+50%FREE").expect("it is one");
    assert_eq!(argument.sign, Sign::Plus);
    assert_eq!(argument.amount, Amount::Percent(50, Base::Free));
    for text in ["", "5x", "%FREE", "5%", "5%NONE", "-"] {
        SizeArgument::from_extents(text).expect_err(text);
    }
}

#[test]
fn new_sizes_are_rounded_as_stock_does() {
    // Proves: numbers and sentences that stock printed for the same group.
    let up = "Rounding up size to full physical extent 8.00 MiB";
    assert_eq!(new("6m", 1), (2, Exactness::Exact, vec![up.to_owned()]));
    assert_eq!(new("10%VG", 1).0, 18);
    assert_eq!(new("33%FREE", 1).0, 39);
    assert_eq!(new("10%PVS", 1).0, 4);
    let stripes = "Rounding size 20.00 MiB (5 extents) up to stripe boundary size 24.00 MiB (6 \
                   extents).";
    assert_eq!(new("5", 2), (6, Exactness::Exact, vec![stripes.to_owned()]));
    let (extents, exactness, notes) = new("100%VG", 2);
    assert_eq!((extents, exactness), (120, Exactness::AtMost));
    assert_eq!(
        notes,
        [
            "Reducing 100%VG to remaining free space 484.00 MiB in VG.",
            "Rounding size (121 extents) down to stripe boundary size (120 extents)",
        ]
    );
}

#[test]
fn new_sizes_of_old_volumes_are_rounded_as_stock_does() {
    // Proves: up for more, down for less, in sizes and in shares.
    let note = "Rounding size to boundary between physical extents: 8.00 MiB.".to_owned();
    assert_eq!(resized("+5m", 2), (4, vec![note.clone()]));
    assert_eq!(resized("5m", 4), (2, vec![note]));
    assert_eq!(resized("-5m", 41).0, 40);
    assert_eq!(resized("+50%LV", 5).0, 8);
    assert_eq!(resized("-10%LV", 40).0, 36);
    assert_eq!(resized("60%LV", 64).0, 39);
    assert_eq!(resized("50%VG", 64).0, 95);
    // What is added is cut to what is free only where it is a share of that.
    assert_eq!(resized("+100%VG", 64), (253, Vec::new()));
    assert_eq!(resized("+150%FREE", 1), (122, Vec::new()));
    // Of two copies, which have metadata, what there is stays as it is.
    let argument = SizeArgument::from_extents("50%VG").expect("it is a size");
    let size = argument.for_resize(Extents(30), &TOTALS, 2, ResizeTo::Larger, &mut Vec::new());
    assert_eq!(size.expect("it can be").extents, Extents(45));
}

#[test]
fn a_store_has_room_for_its_origin() {
    // Proves: the largest store has room for every chunk of its origin, one extent less has not,
    // and one extent more is never used; by counting chunks as the kernel does. Stock's numbers for
    // origins of 10 GiB and 500 MiB are known.
    let chunk_counted = |size: Sectors, chunk: Sectors| {
        let (chunks, per_area) = (size.0 / chunk.0, chunk.0 * 32);
        let (mut next, mut kept) = (2, 0);
        while next < chunks {
            // What fills an area needs the next one.
            if (kept + 1) % per_area == 0 && next + 1 >= chunks {
                break;
            }
            kept += 1;
            next += 1;
            if next % (per_area + 1) == 1 {
                next += 1;
            }
        }
        kept
    };
    for (extents, extent_size, chunk) in [
        (2560, 8192, 8),
        (125, 8192, 8),
        (1, 2048, 8),
        (7, 2048, 1024),
        (64, 256, 8),
        (128, 256, 16),
        (999, 64, 32),
    ] {
        let (extent_size, chunk) = (Sectors(extent_size), Sectors(chunk));
        let origin = Origin::new(Extents(extents), chunk, extent_size);
        let chunks = (extents * extent_size.0).div_ceil(chunk.0);
        let room = |extents: u64| {
            let size = Sectors(extents * extent_size.0);
            let room = store_capacity(size, chunk);
            assert_eq!(
                room,
                chunk_counted(size, chunk),
                "{size} in chunks of {chunk}"
            );
            room
        };
        assert!(room(origin.store_max.0) >= chunks, "{origin:?}");
        assert!(room(origin.store_max.0 - 1) < chunks, "{origin:?}");
    }
    let most = |extents| {
        Origin::new(Extents(extents), Sectors(8), Sectors(8192))
            .store_max
            .0
    };
    assert_eq!((most(2560), most(125)), (2571, 126));
}
